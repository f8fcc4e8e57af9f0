"""Several campaigns set side by side: what differs between them, and which ratios changed."""
