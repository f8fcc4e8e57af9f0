"""A paper's figures: which runs they consist of, which lines they have, and whether what the paper says holds here."""
