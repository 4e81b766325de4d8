"""Training on soft labels, for jobs of every task: checks, the line in the log, the caution and the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dense_lstm_zoo.tasks.options import SOFT_LABELS, Options

if TYPE_CHECKING:
    import numpy as np

    from dense_lstm_zoo.corpora.corpus import AnyCorpus

CAUTION = (
    "no text has a label of its own, so that scores of texts held out only say how often the model agrees with its "
    "teacher. A dev file with right labels says more."
)


class TaughtPart(Protocol):
    """The training part of a corpus of any task whose texts may have soft labels."""

    @property
    def is_soft(self) -> bool:
        """True if the texts have probabilities."""

    @property
    def labelled(self) -> np.ndarray:
        """The texts that have a label of their own: bool (texts,)."""

    @property
    def teachers(self) -> Sequence[str]:
        """Those who gave the probabilities."""

    def __len__(self) -> int: ...


def check(corpus: AnyCorpus, options: Options, columns: str) -> None:
    """Raise ``ValueError`` for soft labels where scores need right ones, and for options of them without any.

    Args:
        corpus: The corpus.
        options: The options of the run.
        columns: Where soft labels are, for the message.
    """
    for part in ("dev", "test"):
        split = getattr(corpus, part)
        if split is not None and split.is_soft and not split.labelled.all():
            raise ValueError(f"{corpus.name}'s {part} texts have soft labels; scores need a label for each.")
    for option in SOFT_LABELS:
        value = getattr(options, option.name)
        if value is not None and not corpus.train.is_soft:
            raise ValueError(
                f"{option.name}={value!r} is for training texts with soft labels ({columns}); those of {corpus.name} "
                "have labels alone. Leave it out."
            )


def check_temperature(options: Options) -> None:
    """Raise ``ValueError`` for a temperature of a run that fits the last layer alone, as a regression."""
    temperature, head = getattr(options, "temperature", None), getattr(options, "head", None)
    if temperature is not None and head and options.epochs == 1:
        raise ValueError(
            f"temperature={temperature!r} is not for a run that fits the last layer alone, as a regression. "
            "Leave it out, or train for more than one epoch."
        )


def summary(train: TaughtPart, labels: Sequence[str], options: Options) -> str:
    """Return a line about the teacher, for the log."""
    teachers = f"taught by {', '.join(train.teachers)}: " if train.teachers else ""
    return (
        f"{teachers}probabilities of {len(labels):,} labels for {len(train):,} training texts, "
        f"{int(train.labelled.sum()):,} of which have a label; temperature {options.temperature or 1:g}, weight of "
        f"the label {options.hard_weight or 0:g}"
    )


def record(train: TaughtPart, options: Options) -> dict[str, Any]:
    """Return the options of soft labels that are set, and who gave them, for the config. Empty without any."""
    set_options = {option.name: getattr(options, option.name) for option in SOFT_LABELS}
    record = {name: value for name, value in set_options.items() if value is not None}
    if train.is_soft:
        counts = {"texts": len(train), "labelled": int(train.labelled.sum())}
        record["taught_by"] = {"teachers": list(train.teachers), **counts}
    return record
