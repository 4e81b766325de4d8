"""Two trained models compared: the difference of their scores, and what chance could make of it."""
