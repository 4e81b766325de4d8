"""The origin of a Keras task: the model that it was made from, as a ``.keras`` file and a bundle know it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo_runtime import claims

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle

NEW_TEXTS = "texts"  # what a task was trained on, which is the user's
_LARGEST_LIST = 1000  # of an argument of a model


@dataclass
class Origin:
    """The model of a task: its name, its arguments, what its network was trained on before.

    Args:
        model: A registered model.
        arguments: Its arguments, complete, as JSON has them.
        labels: The names of the classes, in the order of the logits, or none.
        training: The ``training`` of a bundle's config.
        temperature: Divides the logits of probabilities, if the model is calibrated.
        sha256: The checksum of the bundle that it comes from, if any.
        thresholds: The thresholds of a classifier's labels, as a bundle's config has them.
    """

    model: str
    arguments: dict[str, Any]
    labels: list[str]
    training: dict[str, Any] = field(default_factory=lambda: {"dataset": NEW_TEXTS})
    temperature: float | None = None
    sha256: str = ""
    thresholds: dict[str, float] = field(default_factory=dict)


def origin_of(bundle: Bundle) -> Origin:
    """Return the origin of a task that has the network and the labels of a bundle."""
    config = bundle.config
    return Origin(
        config["model"],
        plain(config["arguments"]),
        list(bundle.labels),
        dict(config["training"]),
        temperature=getattr(bundle, "temperature", None),
        sha256=bundle.saved_as or "",
        thresholds=dict(config.get("thresholds", {})),
    )


def checked_origin(cls: Any, config: dict[str, Any]) -> Origin:
    """Return the origin of a saved task of this class, or raise ``ValueError``: the file may come from a stranger."""
    with damaged(cls):
        origin = Origin(**config)
        kinds = {"model": str, "arguments": dict, "labels": list, "training": dict}
        for name, kind in kinds.items():
            if not isinstance(getattr(origin, name), kind):
                raise ValueError(f"{name!r} must be a {kind.__name__}")
        if registry.entry(origin.model).task != cls._task:
            raise ValueError(f"{origin.model} is for {registry.entry(origin.model).task}")
        if "embedding_matrix" in origin.arguments:
            raise ValueError("word vectors are weights, and not an argument")
        for name, value in origin.arguments.items():
            values = value if isinstance(value, list) else [value]
            if len(values) > _LARGEST_LIST or not all(isinstance(item, str | int | float | None) for item in values):
                raise ValueError(f"argument {name!r:.80} must be a plain value; it is {claims.short(value)}")
        origin.labels = claims.labels(origin.labels)
        if not isinstance(origin.training.get("dataset"), str):
            raise ValueError("'training' must name its 'dataset'")
        if origin.temperature is not None:
            checks.positive("temperature", origin.temperature)
        claims.thresholds(origin.thresholds, origin.labels, origin.arguments.get("labels", "one"))
        if not isinstance(origin.sha256, str):
            raise ValueError("'sha256' must be a str")
    return origin


@contextlib.contextmanager
def damaged(cls: type) -> Iterator[None]:
    """Turn an error about a config into one that says whose it is."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"The config of this {cls.__name__} is damaged: {error}") from error


def trained_further(origin: Origin, head: str) -> dict[str, Any]:
    """Return the ``training`` of a model that starts from another: what that one was, for cards and terms.

    Args:
        origin: The other model.
        head: ``"kept"`` or ``"new"``: the last layer.
    """
    training = origin.training
    source = {"name": "a bundle", "model": origin.model, "dataset": training["dataset"], "sha256": origin.sha256}
    source |= {"freeze": None, "unfreeze_after": None, "head": head, "new_words": 0}
    source |= {name: training[name] for name in ("init_from", "vectors") if training.get(name)}
    return {
        "dataset": NEW_TEXTS,
        "init_from": source,
        **{x: training[x] for x in ("vectors", "context", "num_steps") if x in training},
    }


def plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a model as JSON has them, without word vectors, which are weights."""
    values = {name: value for name, value in arguments.items() if name != "embedding_matrix"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
