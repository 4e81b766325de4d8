"""The base of all peers, which are fitted, saved, loaded and asked for labels."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# A part of a corpus: its texts, or token lists, with a label, or a list of tags, for each.
Part = tuple[list[Any], list[Any]]


def accuracy(answers: Sequence[Any], right: Sequence[Any]) -> float:
    """Return the share of labels, or of all words' tags, that are right, in percent.

    Example:
        >>> accuracy(["a", "b"], ["a", "c"]), accuracy([["A", "B"], ["C"]], [["A", "B"], ["D"]])
        (50.0, 66.67)
    """
    if right and isinstance(right[0], list):
        answers, right = ([tag for tags in each for tag in tags] for each in (answers, right))
    return round(100 * sum(answer == other for answer, other in zip(answers, right, strict=True)) / len(right), 2)


class Peer:
    """A model that is fitted, saved to a folder, loaded and asked for labels."""

    packages: tuple[str, ...] = ("scikit-learn",)
    settings = ""

    def fit(self, train: Part, dev: Part) -> None:
        """Train on texts and labels. Whatever is open is chosen on dev."""
        raise NotImplementedError

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return a label, or a list of tags, for each text."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write all that ``load`` needs."""
        with (folder / "model.pickle").open("wb") as file:
            pickle.dump(self.__dict__, file)

    def load(self, folder: Path) -> None:
        """Read what ``save`` wrote. Only our own files are read, as pickles run code."""
        with (folder / "model.pickle").open("rb") as file:
            self.__dict__.update(pickle.load(file))

    def keep_the_best(self, name: str, values: Sequence[Any], make: Any, dev: Part) -> Any:
        """Return the model, of those that ``make`` makes of ``values``, with the best score on dev."""
        models = [make(value) for value in values]
        scores = [accuracy([str(label) for label in each.predict(dev[0])], dev[1]) for each in models]
        best = scores.index(max(scores))
        self.settings = f"{name}={values[best]}"
        return models[best]
