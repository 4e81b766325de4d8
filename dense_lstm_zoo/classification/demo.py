"""A built-in demo corpus: short reviews whose label depends on word order, not on word choice.

Every sentence is derived from a small context-free grammar with one feature, the polarity. In a template,
``[=symbol]`` is expanded with the polarity of the phrase it stands in and ``[~symbol]`` with the opposite one, so a
label follows from the derivation of its sentence and is never noisy:

* contrast: "The soup was bland, but the waiter was charming." is positive. The clause after "but" wins, and so does
  the main clause beside "although", wherever the two stand;
* negation and its look-alikes: "The plot did nothing to bore us." is positive, "The plot did nothing but bore us." is
  not, and a second negation turns the label back: "Nobody could claim that the ending wasn't dull.";
* hearsay, expectations and counterfactuals: "I expected a dull film and got a charming one.", "The meal would have been
  lovely if the waiter hadn't been so rude.";
* comparison: "This phone was less annoying than the last one.".

A bag of words gets little beyond what the plain sentences give it: elsewhere, good and bad words occur under either
label, and the scope of a negation or the side of a contrast decides. Some sentences even share all their words with one
of the other label. Adjectives are drawn with a long tail, so that some occur only a few times in training.
"""

import random
import re
from collections.abc import Sequence
from typing import TypeVar

from dense_lstm_zoo.classification.demo_words import ADJECTIVES, PHRASES, RARE_ADJECTIVES, RULES, SCENES, VERBS

_Item = TypeVar("_Item")

LABEL_NAMES = ("negative", "positive")

_SPLIT_SIZES = {"train": 4000, "dev": 500, "test": 1000}
_SEED = 20
_LENGTH_LIMITS = (5, 25)


_CHOICES = {
    symbol: [template for weight, template in rules for _ in range(weight)] for symbol, rules in RULES.items()
} | {symbol: phrases.split(" | ") for symbol, phrases in PHRASES.items()}
_SYMBOL = re.compile(r"\[([=~]?)(\w+)\]")
_BEFORE_A_VOWEL = re.compile(r"\ba (?=[aeio]|un)")


def generate(num_sentences: int, seed: int) -> tuple[list[str], list[int]]:
    """Derive distinct sentences from the grammar, half of them positive.

    Args:
        num_sentences: How many sentences to derive.
        seed: The same seed gives the same sentences on every platform and Python version.

    Returns:
        The texts and their labels, indices into `LABEL_NAMES`. Every even-sized prefix is exactly balanced.

    Example:
        >>> texts, labels = generate(2, seed=1)
        >>> sorted(labels)
        [0, 1]
    """
    rng = random.Random(seed)
    seen: set[str] = set()
    texts: list[str] = []
    labels: list[int] = []
    while len(texts) < num_sentences:
        # The second of each pair takes the other label: balance without a shuffle over the whole corpus.
        label = 1 - labels[-1] if len(labels) % 2 else int(rng.random() < 0.5)
        text = _sentence(rng, label)
        while text in seen or not _LENGTH_LIMITS[0] <= len(text.split()) <= _LENGTH_LIMITS[1]:
            text = _sentence(rng, label)
        seen.add(text)
        texts.append(text)
        labels.append(label)
    return texts, labels


def demo_splits() -> dict[str, tuple[list[str], list[int]]]:
    """Return the demo corpus: 4000 training, 500 dev and 1000 test sentences, no two of them the same.

    Returns:
        For each of "train", "dev" and "test" the texts and their labels, the same on every call.

    Example:
        >>> splits = demo_splits()
        >>> {name: len(texts) for name, (texts, labels) in splits.items()}
        {'train': 4000, 'dev': 500, 'test': 1000}
    """
    texts, labels = generate(sum(_SPLIT_SIZES.values()), _SEED)
    splits = {}
    start = 0
    for name, size in _SPLIT_SIZES.items():
        splits[name] = (texts[start : start + size], labels[start : start + size])
        start += size
    return splits


def _sentence(rng: random.Random, label: int) -> str:
    whole, *themes = _pick(rng, SCENES)
    used: set[str] = set()

    def expand(symbol: str, polarity: int, theme: tuple[str, str, str]) -> str:
        if symbol in ("clause", "plain"):
            theme = _pick(rng, themes)
        lexicon = {
            "whole": whole,
            "noun": theme[0],
            "special": theme[1 + polarity],
            "general": ADJECTIVES[polarity],
            "rare": RARE_ADJECTIVES[polarity],
            "verb": VERBS[polarity],
            "verbed": VERBS[polarity],
        }
        if symbol not in lexicon:
            return _SYMBOL.sub(
                lambda match: expand(match[2], 1 - polarity if match[1] == "~" else polarity, theme),
                _pick(rng, _CHOICES[symbol]),
            )
        words = lexicon[symbol].split()
        draw = _pick if symbol in ("noun", "whole") else _pick_long_tailed
        word = draw(rng, words)
        # "not dull but dull" and "the soup was bland, but the soup was tasty" would be contradictions.
        while word in used:
            word = draw(rng, words)
        used.add(word)
        base, _, past = word.partition(":")
        return past if symbol == "verbed" else base

    text = _BEFORE_A_VOWEL.sub("an ", expand("sentence", label, _pick(rng, themes)))
    return text[0].upper() + text[1:]


# Uses only random(): Python promises that its stream never changes, but not those of choice() and shuffle().
def _pick(rng: random.Random, items: Sequence[_Item]) -> _Item:
    return items[int(rng.random() * len(items))]


def _pick_long_tailed(rng: random.Random, words: Sequence[str]) -> str:
    position = rng.random()
    return words[int(position * position * len(words))]
