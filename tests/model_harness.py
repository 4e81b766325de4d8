"""One harness for every registered model of every task: its size, what it is fed, and the list of cases."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.models import registry
from tests.slow_cases import slow_but

VOCABULARY, CLASSES, TAGS, CHARS, FROZEN = 20, 3, 4, 9, 4
TIME = 6
LENGTHS = (6, 4, 3, 1, 0)
# Small values for whatever a model's factory takes; a new model's new arguments find their place here.
TINY = {
    "vocab_size": VOCABULARY,
    "num_classes": CLASSES,
    "num_tags": TAGS,
    "num_chars": CHARS,
    "num_frozen_words": FROZEN,
    "embedding_dim": 7,  # of no layer's width
    "units": 4,
    "num_layers": 3,
    "num_dense_layers": 2,
    "dense_units": 3,
    "top_units": 4,
    "attention_units": 5,
    "filters": 5,
    "char_dim": 2,
    "case_dim": 2,
}
# Other sizes of a task's models, or of one model.
SIZES = {
    "language_model": {"units": 6},
    "residual_lstm_lm": {"embedding_dim": 6},  # it adds words to what its layers say
    "gated_skip_tagger": {"num_layers": 4},  # the first two have nothing to skip to
}
# What changes a model's weights or its graph; of each model, the values of an argument that are tried one by one.
VALUES = {
    "pooling": ("attention",),
    "mode": ("position", "vector", "projected_vector"),
    "weights": ("constant",),
    "couple_directions": (False,),
    "num_heads": (2,),
    "char_filters": (4,),
    "pool_size": (None,),
    "cell": ("gru", "simple_rnn"),
    "interleave": (True,),
    "couple_gates": (True,),
    "depth": (2,),
    "case": ("four_way",),
    "crf": (True,),
}
# A text encoder beside the words.
CONTEXT = {"context_units": 3, "context_layers": 2, "context_wiring": "dense", "context_dim": 5}
# Several arguments at once.
TOGETHER = [
    ("bilstm", {"char_filters": 4, "pooling": "attention"}),
    ("rhn_tagger", {"couple_gates": True, "depth": 2}),
    ("residual_bilstm", {"embedding_dim": 8}),  # as wide as its layers: no projection
    ("lm_classifier", {"wiring": "stacked", "directions": 1, "pooling": "attention"}),
    ("lm_classifier", {"wiring": "residual", "embedding_dim": 4, "cell": "gru"}),
    ("bilstm", {"pooled_words": True, "char_filters": 4}),
    ("bilstm", CONTEXT),
    ("bilstm_tagger", {**CONTEXT, "context_directions": 1, "context_dim": 0, "context_cell": "gru"}),
    ("dense_lstm_lm", {"softmax": "tied", "optimizer": "adam", "learning_rate": 0.01, "average": 0.9}),
    ("gated_skip_tagger", {"skip": "outputs", "window": 1, "case": None}),
    ("gated_skip_tagger", {"gate_inputs": "skip", "interleave": True, "char_dim": 0}),
    ("gated_skip_tagger", {"project_input": True, "skip_distance": 1, "gate_inputs": "skip"}),
    ("gated_skip_tagger", {"project_input": True, "crf": True, "case": "four_way"}),
]


def tiny_arguments(name: str) -> dict[str, Any]:
    """The small values of the arguments that the model takes."""
    entry = registry.entry(name)
    sizes = {**TINY, **SIZES.get(entry.task, {}), **SIZES.get(name, {})}
    return {argument: value for argument, value in sizes.items() if argument in entry.arguments}


def tiny(name: str, **arguments: Any) -> keras.Model:
    """The model at its smallest."""
    return zoo.build(name, **{**tiny_arguments(name), **arguments})


@dataclass(frozen=True)
class Case:
    """A registered model with some of its arguments, as pairs."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{argument}={value}" for argument, value in self.options)])

    @property
    def task(self) -> str:
        return registry.entry(self.name).task

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that it is built with, of those that the case names or that are small."""
        return {**tiny_arguments(self.name), **dict(self.options)}

    @property
    def rates(self) -> list[str]:
        """Its rates of dropout."""
        arguments = registry.entry(self.name).arguments.items()
        return [argument for argument, value in arguments if argument.endswith("dropout") and isinstance(value, float)]

    def build(self, **arguments: Any) -> keras.Model:
        """The model, which drops nothing unless told to."""
        return zoo.build(self.name, **{**self.arguments, **dict.fromkeys(self.rates, 0.0), **arguments})

    def accepted(self, **arguments: Any) -> dict[str, Any]:
        """Those of the arguments that the model takes."""
        signature = registry.entry(self.name).arguments
        return {argument: value for argument, value in arguments.items() if argument in signature}


CASES = [Case(name) for name in zoo.list_models()]
# Those that are run, and those that are only counted.
VARIANTS = [*CASES, *(Case(name, tuple(arguments.items())) for name, arguments in TOGETHER)]
CHOICES = [
    *VARIANTS,
    *(
        Case(case.name, ((argument, value),))
        for case in CASES
        for argument, values in VALUES.items()
        if argument in registry.entry(case.name).arguments
        for value in values
    ),
]
# One of each task, for what other tests look at as well: all are tested so by make test-slow.
REPRESENTATIVES = {"dc_bilstm", "dense_lstm_lm", "gated_skip_tagger"}


def slow_but_one_of_each_task(tested: Sequence[Case]) -> pytest.MarkDecorator:
    """Parametrise a test by cases of which ``make test`` runs the representatives."""
    return pytest.mark.parametrize("case", slow_but(set(map(Case, REPRESENTATIVES)), tested), ids=str)


cases = pytest.mark.parametrize("case", CASES, ids=str)
variants = pytest.mark.parametrize("case", VARIANTS, ids=str)
# Of the choices, each value of an argument with the first model of a task that takes it.
_FIRST = {(case.task, case.options): case for case in reversed(CHOICES)}


def slow_but_one_of_each_choice(tested: Sequence[Case]) -> pytest.MarkDecorator:
    """Parametrise a test by cases of which ``make test`` runs the variants, and each choice with one model."""
    return pytest.mark.parametrize("case", slow_but({*VARIANTS, *_FIRST.values()}, tested), ids=str)


choices = slow_but_one_of_each_choice(CHOICES)


@functools.cache
def shared(case: Case) -> keras.Model:
    """The case's model, built once, whose weights are large enough for anything to show. No test changes them."""
    model = case.build()
    rng = np.random.default_rng(7)
    model.set_weights([rng.normal(scale=0.4, size=w.shape) for w in model.get_weights()])
    return model


@contextlib.contextmanager
def running(model: keras.Model, kernel: str) -> Iterator[None]:
    """Let every recurrent layer run this kernel."""
    recurrent = [layer for layer in registry.network(model).layers if isinstance(layer, KernelLayer)]
    before = [layer.kernel for layer in recurrent]
    for layer in recurrent:
        layer.kernel = kernel
    try:
        yield
    finally:
        for layer, own in zip(recurrent, before, strict=True):
            layer.kernel = own


def ids(batch: int = 5, time: int = TIME, seed: int = 0) -> np.ndarray:
    """Right-padded ids. The first row is full, the last is padding alone."""
    return given_lengths(np.linspace(time, 0, batch).astype(int), time, seed)


def given_lengths(lengths: Sequence[int], time: int = TIME, seed: int = 0) -> np.ndarray:
    """Right-padded ids of rows of these lengths."""
    token_ids = np.random.default_rng(seed).integers(1, VOCABULARY, (len(lengths), time))
    return np.where(np.arange(time) < np.asarray(lengths)[:, None], token_ids, 0).astype(np.int32)


def labels(batch: int = 5) -> np.ndarray:
    """A label a row."""
    return np.arange(batch, dtype=np.int32) % CLASSES


def sentences(lengths: Sequence[int] = LENGTHS, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Inputs of a tagger, and tags."""
    token_ids = given_lengths(lengths, seed=seed)
    return features(token_ids, ["token_ids", "case_ids", "affix_ids"], seed), targets("tagging", token_ids)


def features(token_ids: np.ndarray, names: Sequence[str], seed: int = 0) -> dict[str, np.ndarray]:
    """The ids of words with other inputs: capitals, and characters of their ends or of whole words."""
    rng = np.random.default_rng(seed + 1)
    real = token_ids > 0
    characters = real[..., None]
    arrays = {
        "token_ids": token_ids,
        "case_ids": rng.integers(1, 3, real.shape) * real,
        "affix_ids": rng.integers(1, CHARS, (*real.shape, 10)) * characters,
        "char_ids": rng.integers(1, CHARS, (*real.shape, 24)) * characters,
    }
    return {name: arrays[name].astype(np.int32) for name in names}


def inputs(model: keras.Model, token_ids: np.ndarray) -> Any:
    """The model's inputs: the ids alone, or with its other inputs."""
    network_input = registry.network(model).input
    return features(token_ids, list(network_input)) if isinstance(network_input, dict) else token_ids


def targets(task: str, token_ids: np.ndarray) -> np.ndarray:
    """Targets for rows of words in the model's task, all of which can be learned from the words."""
    return {
        "classification": labels(len(token_ids)),
        "tagging": np.where(token_ids > 0, token_ids % TAGS, -1).astype(np.int32),
        "language_model": token_ids % TAGS,
    }[task]


def lengths_of(task: str, token_ids: np.ndarray) -> np.ndarray:
    """The number of real steps of each row. A language model has no padding."""
    real = np.ones_like(token_ids) if task == "language_model" else token_ids > 0
    return real.sum(axis=1)


def real_part(outputs: Any, lengths: Sequence[int]) -> np.ndarray:
    """Outputs without those of steps that are padding, which mean nothing."""
    values = np.asarray(outputs, np.float32)
    if values.ndim < 3:
        return values
    return np.concatenate([row[:n] for row, n in zip(values, lengths, strict=True)])
