"""Training: the loop around ``fit``, checkpoints, protocols, what a run reports."""
