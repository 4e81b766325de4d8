"""What a training run says of itself: a summary, a model card, pictures, an error report."""
