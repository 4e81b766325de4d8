"""More texts from those that are there: copies with masked words, and short spans (Tang et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator

MASK = "<unk>"  # one token, which no model knows better than any other unknown word
_MASKED = 0.1  # the probability of a word to be masked, with that of another of its kind to stand there: 0.1 each
_SPAN, _LONGEST_SPAN = 0.25, 5  # the probability of a copy to be a span, and its words at most


def copies(text: str, number: int, seed: int, key: int) -> Iterator[str]:
    """Yield copies of a text, each changed in its own way.

    Each word is masked with probability 0.1. Then, with probability 0.25, a span of one to five words takes the place
    of the copy. A copy that is equal to the text, or holds nothing but masks, is left out.

    Tang et al. 2019, "Distilling Task-Specific Knowledge from BERT into Simple Neural Networks", section 3.3. Words are
    not replaced by others of their part of speech here, which needs a tagger of the language.

    Args:
        text: The text.
        number: How many copies are made, some of which may be left out.
        seed: The same seed gives the same copies of a text.
        key: A number for the text.

    Example:
        >>> [copy for copy in copies("a smart and sweet comedy", 4, seed=1, key=3)]
        ['<unk> smart and sweet comedy']
    """
    import numpy as np

    generator, words = np.random.default_rng([seed, key]), text.split()
    for _ in range(number):
        is_masked = generator.random(len(words)) < _MASKED
        copy = [MASK if masked else word for word, masked in zip(words, is_masked, strict=True)]
        if generator.random() < _SPAN:
            length = int(generator.integers(1, min(_LONGEST_SPAN, len(copy)) + 1))
            start = int(generator.integers(0, len(copy) - length + 1))
            copy = copy[start : start + length]
        if copy != words and any(word != MASK for word in copy):
            yield " ".join(copy)
