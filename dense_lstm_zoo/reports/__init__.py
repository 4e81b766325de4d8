"""Reports on a training run: a summary, a model card, pictures, an error report."""
