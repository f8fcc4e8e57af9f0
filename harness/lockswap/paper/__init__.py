"""What a paper needs of a campaign: the command `export`."""
