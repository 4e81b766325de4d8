"""The part that the Keras tasks with labels share: their names, and a new last layer for others."""

from __future__ import annotations

import dataclasses
import numbers
import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import keras

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.bundles.presets import from_preset
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.interfaces.keras_task import TextTask
from dense_lstm_zoo.interfaces.origins import Origin, damaged, origin_of, trained_further
from dense_lstm_zoo.interfaces.preprocessors import Preprocessor
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary
from dense_lstm_zoo_runtime import claims


class LabelledTask(TextTask):
    """A Keras task that chooses among labels."""

    _preprocessor: ClassVar[type[Preprocessor]]  # the class of its preprocessor
    _number: ClassVar[str]  # the argument of its models that is the number of labels
    _of_head: ClassVar[tuple[str, ...]] = ()  # other arguments of its models that the last layer alone follows

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels, in the order of the answers."""
        return tuple(self._untracked.origin.labels)

    @classmethod
    def _names(cls, label_names: Iterable[Any] | None, num_classes: int | None) -> tuple[str, ...]:
        return names_of(cls.__name__, label_names, num_classes)

    @classmethod
    def from_preset(
        cls,
        source: str | os.PathLike[str],
        *,
        num_classes: int | None = None,
        label_names: Iterable[Any] | None = None,
        compile: bool = True,
        **options: Any,
    ) -> Self:
        """Return a trained model, with its labels or with a new last layer for others.

        Args:
            source: A preset's name, a bundle's folder or an address, as for ``zoo.from_preset``.
            num_classes: The number of other labels, which are integers from 0.
            label_names: The names of other labels. With those of the preset, its last layer stays. In another order,
                it gives them in that order.
            compile: Whether to compile the model as ``zoo.build`` does.
            **options: ``labels`` of a ``TextClassifier``, for a new last layer, and more arguments of
                ``zoo.from_preset``, such as ``sha256``.

        Raises:
            ValueError: An unknown preset (with near matches), one for another task, fewer than two labels, or another
                number of names than ``num_classes``.

        Example:
            ``TextClassifier.from_preset("dc_bilstm_sst2", num_classes=3).fit(frame["review"], frame["stars"])``
        """
        names = None
        if label_names is not None or num_classes is not None:
            names = cls._names(label_names, num_classes)
        head = {name: options.pop(name) for name in cls._of_head if name in options}
        bundle = from_preset(source, task=cls._task, **options)
        return cls.from_bundle(bundle, names, compile=compile, **head)

    @classmethod
    def from_bundle(
        cls, bundle: Bundle, label_names: Sequence[str] | None = None, *, compile: bool = True, **head: Any
    ) -> Self:
        """Return a bundle's model as a Keras model, which shares the weights. ``as_keras`` calls it.

        Args:
            bundle: A bundle of the same task.
            label_names: The names of other labels, for a new last layer, or the bundle's in another order, which its
                last layer then has, as a copy. None keeps the bundle's.
            compile: Whether to compile the model as the bundle's is.
            **head: ``labels`` of a ``TextClassifier``, for a new last layer.

        Raises:
            ValueError: A bundle that was loaded with ``compile=False``, unless ``compile`` is False too.
        """
        network, origin = bundle.model, origin_of(bundle)
        names = origin.labels if label_names is None else list(label_names)
        arguments = cls._with_head(origin.arguments, **head)
        if arguments == origin.arguments and len(names) == len(origin.labels) and set(names) == set(origin.labels):
            if names != origin.labels:
                network = cls._with_reordered_head(network, [origin.labels.index(name) for name in names])
                origin = dataclasses.replace(origin, labels=names)
        else:
            network = cls._with_new_head(network, len(names))
            arguments[cls._number] = len(names)
            origin = Origin(origin.model, arguments, names, trained_further(origin, head="new"))
        return cls._from_bundle(bundle, network, origin, compile=compile)

    @classmethod
    def _with_head(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a model with those of another last layer."""
        return dict(arguments)

    @classmethod
    def _label_settings(cls, origin: Origin) -> dict[str, Any]:
        """Return the arguments of a preprocessor that say which labels there are."""
        return {"label_names": origin.labels}

    @classmethod
    def _preprocessor_of(cls, vocabulary: Vocabulary | TaggingVocabulary, origin: Origin) -> Preprocessor:
        return cls._preprocessor.of(vocabulary, **cls._label_settings(origin))

    @classmethod
    def _with_new_head(cls, network: keras.Model, number: int) -> keras.Model:
        """Return a network with the same encoder and a new last layer for this number of labels."""
        logits = network.get_layer("logits")
        config = {**logits.get_config(), "units": number}
        return keras.Model(network.input, type(logits).from_config(config)(logits.input))

    @classmethod
    def _with_reordered_head(cls, network: keras.Model, order: Sequence[int]) -> keras.Model:
        """Return a network with the same encoder, whose last layer has its labels in another order.

        Args:
            network: A trained network.
            order: The former place of each label.
        """
        reordered = cls._with_new_head(network, len(order))
        weights = network.get_layer("logits").get_weights()
        reordered.get_layer("logits").set_weights([weight[..., order] for weight in weights])
        return reordered

    @classmethod
    def _read_preprocessor(cls, origin: Origin, settings: dict[str, Any]) -> Preprocessor:
        with damaged(cls):
            arguments = origin.arguments
            sizes = {"vocab_size": len(settings["words"]) + 2, cls._number: len(origin.labels)}
            if tasks.find(cls._task).reads_characters or arguments.get("char_filters"):
                sizes["num_chars"] = len(settings["chars"]) + 2
            sizes["num_frozen_words"] = settings["num_frozen_words"]
            for name, size in sizes.items():
                if arguments.get(name) != size:
                    value = claims.short(arguments.get(name))
                    raise ValueError(f"{name} is {value}; its words, characters and labels say {size}")
            return cls._preprocessor(**cls._label_settings(origin), **settings)


def column_of(values: Any) -> Any:
    """Return labels or weights, given as one column of a table too, in one dimension."""
    if hasattr(values, "numpy"):
        values = values.numpy()
    if getattr(values, "ndim", 1) != 2 or values.shape[1] != 1:
        return values
    return values.iloc[:, 0] if hasattr(values, "iloc") else values[:, 0]


def names_of(owner: str, label_names: Iterable[Any] | None, num_classes: int | None) -> tuple[str, ...]:
    """Return the names of the labels, by default the digits of their integers."""
    if num_classes is not None:
        checks.integer("num_classes", num_classes, 2)
    if label_names is None and num_classes is None:
        raise ValueError(
            f"{owner} needs label_names=[...], the labels in the order of the probabilities, or num_classes, if "
            "they are integers from 0."
        )
    if isinstance(label_names, str):
        raise ValueError(f"label_names must be a list of names; received one string, {label_names!r:.80}.")
    items = list(range(num_classes or 0) if label_names is None else label_names)
    for place, name in enumerate(items):
        # Integers are the places of names, so that a name 1 in the first place would be ambiguous.
        is_place = isinstance(name, numbers.Integral) and not isinstance(name, bool) and name == place
        if not isinstance(name, str) and not is_place:
            raise ValueError(
                f"label_names must be strings; item {place}, counted from 0, is {name!r:.80} ({type(name).__name__}). "
                "Labels that are integers are places among the names, from 0: give names as strings, and labels too."
            )
    try:
        names = claims.labels([str(name) for name in items])
    except ValueError as error:
        raise ValueError(f"label_names must be different strings: {error}.") from None
    if num_classes is not None and len(names) != num_classes:
        raise ValueError(f"label_names holds {len(names)} names, and num_classes is {num_classes}.")
    if len(names) < 2:
        raise ValueError(f"{owner} needs at least two labels; label_names holds {len(names)}.")
    return tuple(names)
