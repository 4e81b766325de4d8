"""The corpus of any task: a name, and texts in up to three parts."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from dense_lstm_zoo.corpora.dataset import Dataset

Part = TypeVar("Part")


class AnyCorpus(abc.ABC):
    """A corpus of any task. ``dev`` and ``test`` are None if it has none. Each task has its own kind of parts."""

    origin: Dataset | None = None  # what it was loaded from
    name: str
    train: Any
    dev: Any
    test: Any

    def fold(self, fold: int, folds: int = 10) -> Self:
        """Return the corpus with one fold of its training examples as ``test`` and the others as ``train``.

        Raises:
            ValueError: A corpus whose texts have no label each, by which they could be divided.
        """
        raise ValueError(f"folds={folds} needs a corpus of labelled texts; {self.name} is not one.")

    def first_texts(self, numbers: Mapping[str, int]) -> Self:
        """Return the corpus with only the first texts of some of its parts, by name. It stays itself without any."""
        parts = {part: self.first(getattr(self, part), number) for part, number in numbers.items()}
        corpus: Any = self
        return dataclasses.replace(corpus, **parts) if parts else self

    def with_train(self, corpus: Self) -> Self:
        """Return the corpus with the training texts of another one.

        Raises:
            ValueError: A corpus whose texts have no label each, or labels that this one does not have.
        """
        raise ValueError(f"train_file takes the place of labelled texts; those of {self.name} have no label each.")

    def json_lines(self) -> dict[str, str]:
        """Return the parts by name, each as JSON lines that ``load_corpus`` reads.

        Raises:
            ValueError: A corpus whose texts have no label each.
        """
        raise ValueError(f"{self.name} cannot be written as JSON lines; give its texts as files of your own.")

    @classmethod
    def first(cls, part: Part, number: int) -> Part:
        """Return the first texts of a part, None for a part that is None."""
        return part if part is None else cls._first(part, number)

    @staticmethod
    @abc.abstractmethod
    def _first(part: Any, number: int) -> Any: ...
