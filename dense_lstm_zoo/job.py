"""What a task brings to ``train``: its data, its words, its bundle, how an epoch is judged and the best one scored."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dense_lstm_zoo.recipe import Recipe

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from dense_lstm_zoo.bundle import Bundle


@dataclass
class FitData:
    """What ``fit`` reads: the training and the dev set, and callbacks that belong to them."""

    training: tf.data.Dataset
    dev: tf.data.Dataset
    callbacks: list[keras.callbacks.Callback] = field(default_factory=list)


class Job(abc.ABC):
    """One training run of one task, from a corpus to a scored bundle; ``train`` calls its parts in their order.

    Making one reads the corpus and builds the vocabulary.

    Args:
        corpus: What ``load_corpus`` returned, or the same made by hand.
        options: The options of ``OPTIONS``, each with its value.
        settings: Seed, batch size, epochs and the like, resolved.
        recipe: The recipe, or the task's defaults.
    """

    DEFAULTS: ClassVar[Recipe]
    OPTIONS: ClassVar[Mapping[str, Any]]  # options of ``train`` that only this task has, with their defaults
    CORPUS: ClassVar[type]  # which has ``dev`` and ``test``
    NEEDS: ClassVar[str]  # how the error begins for anything else

    corpus: Any

    @abc.abstractmethod
    def __init__(self, corpus: Any, options: dict[str, Any], settings: dict[str, Any], recipe: Recipe) -> None: ...

    @abc.abstractmethod
    def found(self) -> str:
        """Return what the words came to, for the person who watches; empty for nothing."""

    @abc.abstractmethod
    def model_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model's arguments that follow from the data; ``given`` is what the user asked for."""

    @abc.abstractmethod
    def config(self) -> dict[str, Any]:
        """Return the bundle's ``text`` (arguments of its vocabulary) and what to add to its ``training``."""

    @abc.abstractmethod
    def bundle(self, model: keras.Model, config: dict[str, Any]) -> Bundle:
        """Return the bundle, which has no scores yet."""

    @abc.abstractmethod
    def fit_data(self, bundle: Bundle, folder: Path) -> FitData:
        """Return the data for ``fit``; ``folder`` takes files that the run needs while it lasts."""

    @classmethod
    def check_corpus(cls, corpus: Any) -> None:
        """Raise ``ValueError`` for what is no corpus of this task."""
        if not isinstance(corpus, cls.CORPUS):
            raise ValueError(f"{cls.NEEDS}; received {type(corpus).__name__}.")

    @staticmethod
    @abc.abstractmethod
    def fingerprint(corpus: Any) -> str:
        """Return one checksum of all data of a corpus: what is resumed must have the same."""

    def score(self, bundle: Bundle) -> dict[str, Any]:
        """Score dev and test, the only time that the test texts are; return the metrics, which the bundle keeps."""
        return bundle.rescore(dev=self.corpus.dev, test=self.corpus.test)

    def weights(self) -> dict[str, Any]:
        """Return arguments of the model that only fill its weights and so belong into no config."""
        return {}


def check_options(job: type[Job], task: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a job, its defaults where none is given.

    Raises:
        ValueError: An option of another task.
    """
    for name, value in given.items():
        if value is not None and name not in job.OPTIONS:
            accepted = ", ".join(job.OPTIONS)
            raise ValueError(f"{name} is no option for {task}; received {value!r}. Accepted: {accepted}.")
    return {name: default if given[name] is None else given[name] for name, default in job.OPTIONS.items()}
