"""Sizes of the parts of a token that models read, which building a model needs without TensorFlow."""

CASES = {"binary": 2, "four_way": 4}
AFFIX = 5  # characters at each end of a word
MAX_CHARS = 24  # characters of a word that a character CNN reads. Few words have more
