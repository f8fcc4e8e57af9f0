"""What the figures of a campaign say: statistics, verdicts, sentences and advice."""
