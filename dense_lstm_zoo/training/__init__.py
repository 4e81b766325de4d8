"""Training: recipes of published results, the loop around ``fit``, what a run reports."""
