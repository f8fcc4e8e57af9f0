"""What a campaign leaves on disk: its folder, its rows, and how a run may end."""
