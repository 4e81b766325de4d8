"""Training: the loop around ``fit``, checkpoints, protocols and reports."""
