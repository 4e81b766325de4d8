"""Options of ``train``, each declared once: those of every task, and groups that some tasks share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from dense_lstm_zoo import checks

DIRECTIONS = ("forward", "backward")  # in which a language model reads


def json_or_text(text: str) -> Any:
    """Return the value of a text that is JSON, such as 13, 0.5, true or null, and any other text itself.

    Example:
        >>> [json_or_text(text) for text in ("0.5", "null", "adam")]
        [0.5, None, 'adam']
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True)
class Option:
    """An option of ``train``, declared once. The signature, the command line and the search space are derived from it.

    Args:
        name: Its name in Python. On the command line it has hyphens.
        kind: ``int``, ``float`` (above 0), ``str``, ``bool``, or ``dict`` (names with numbers above 0).
        help: What it does, in a few words.
        default: Its value when none is given. None also for a value that follows from other settings.
        otherwise: The default in words, where the value alone does not explain it.
        minimum: The smallest integer accepted.
        searched: Whether a sweep may search it.
        metavar: The name of the value in the command line's help.
        choices: The strings accepted. None means any. A ``dict`` accepts them too.
        is_share: Whether a ``float`` is a share, from 0 to 1.
    """

    name: str
    kind: type
    help: str
    default: Any = None
    otherwise: str = ""
    minimum: int = 1
    searched: bool = False
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    is_share: bool = False

    @property
    def annotation(self) -> str:
        """The type of its values in the signature of ``train``."""
        return "str | dict[str, float] | None" if self.kind is dict else f"{self.kind.__name__} | None"

    @property
    def default_text(self) -> str:
        """The default as ``--help`` shows it."""
        return self.otherwise or (f"{self.default:,}" if isinstance(self.default, int) else str(self.default))

    def check(self, value: object) -> None:
        """Raise ``ValueError`` for a value that is out of range or not a number. None means the default."""
        if value is None:
            return
        if self.kind is int:
            checks.integer(self.name, value, self.minimum)
        elif self.kind is float and self.is_share:
            checks.share(self.name, value)
        elif self.kind is float:
            checks.positive(self.name, value)
        elif self.kind is bool and not isinstance(value, bool):
            raise ValueError(f"{self.name} must be True or False; received {value!r}.")
        elif self.kind is dict and isinstance(value, Mapping):
            for name, number in value.items():
                checks.positive(f"{self.name}[{name!r}]", number)
        elif self.choices:
            checks.one_of(self.name, value, self.choices)

    def parse(self, text: str) -> Any:
        """Return the value that a text on the command line stands for. A dictionary is written as JSON."""
        if self.kind is not dict:
            return self.kind(text)
        value = json_or_text(text)
        return value if isinstance(value, dict) else text


# Options of every task. A recipe's field of the same name, or else the task's defaults, gives the default.
COMMON = (
    Option("epochs", int, "maximum number of epochs", otherwise="the recipe's, else 30; more for under 500 texts"),
    Option(
        "patience",
        int,
        "epochs without a better dev score before training stops",
        otherwise="the recipe's, else 5; more for few texts",
    ),
    Option(
        "batch_size",
        int,
        "texts per step, or parallel streams of a language model",
        otherwise="the recipe's, else 16 to 200 by the number of texts; tagger 32, language model 20",
        searched=True,
    ),
    Option(
        "learning_rate_decay",
        float,
        "factor on the learning rate after each epoch",
        otherwise="the recipe's, else 1; language model 0.85",
        searched=True,
        metavar="FACTOR",
    ),
    Option(
        "decay_after",
        int,
        "the last epoch with the full learning rate",
        otherwise="the recipe's, else 1; language model 6",
        searched=True,
        metavar="EPOCH",
    ),
)
# For the run itself: they are in no config, as a run that is interrupted may go on with others.
MINUTES = Option(
    "minutes",
    float,
    "minutes that the run may take, after which the best epoch so far is scored and saved",
    otherwise="no limit",
    metavar="MINUTES",
)
RUNNING = (
    MINUTES,
    Option(
        "checkpoint_minutes",
        float,
        "minutes between two saves inside an epoch, for a run that is killed",
        10,
        metavar="MINUTES",
    ),
    Option(
        "baseline",
        bool,
        "fit TF-IDF with a logistic regression beside a classifier, and show its scores",
        True,
        "yes",
    ),
)
# For training that goes on from a trained model. See ``training/transfer.py``.
TRANSFER = (
    Option(
        "init_from",
        str,
        "a trained model of the same kind to fine-tune; for lm_classifier also a language model",
        None,
        "none",
    ),
    Option(
        "freeze",
        str,
        "with init_from: what is not trained, encoder (all but the last layer) or embedding (the words)",
        otherwise="nothing",
        choices=("encoder", "embedding"),
    ),
    Option("unfreeze_after", int, "with freeze: train everything after N epochs", otherwise="never", metavar="N"),
    Option(
        "unfreeze",
        str,
        "with init_from: gradual trains the last layer in epoch 1 and, from the top down, one more in each later epoch",
        otherwise="all at once",
        choices=("gradual",),
    ),
    Option(
        "layer_decay",
        float,
        "with init_from: the learning rate of each layer is that of the one above it divided by this, such as 2.6",
        otherwise="1",
        metavar="FACTOR",
    ),
    Option(
        "force_overlap", bool, "with init_from: accept test texts that the trained model was trained on", None, "no"
    ),
)
# For models whose word embeddings may start from a file of vectors.
VECTORS = Option(
    "vectors",
    str,
    "word vectors: a table's name, a file (GloVe's or word2vec's text format, plain, .gz or .zip) or none",
    otherwise="zoo_600d if dense-lstm-zoo-presets is installed; language model: the recipe's, else none",
)
RANDOM_WORDS = "Without vectors=... the frozen word vectors are random."  # a warning
# For tasks whose word embeddings start from a file of vectors unless told otherwise.
WORD_VECTORS = (
    VECTORS,
    Option("vector_words", int, "how many of the file's first words to add to the vocabulary", 50_000, minimum=0),
)
# For tasks whose models may read a text encoder's states beside the words. See ``context.py``.
CONTEXT = Option(
    "context",
    str,
    "a text encoder (a folder, a preset, or a trained language model) whose frozen states stand beside the words",
    otherwise="none",
    metavar="ENCODER",
)
# For tasks whose batches are texts of similar length.
BATCHES = (
    Option(
        "max_batch_tokens",
        int,
        "padded tokens per training batch, at most: a batch of long texts has fewer texts",
        otherwise="65,536",
        metavar="N",
    ),
)


# For tasks whose loss is a sum over labels.
CLASS_WEIGHTS = Option(
    "class_weights",
    dict,
    '"balanced", or a weight per label or tag in the training loss, such as {"rare": 3}; others have 1',
    otherwise="all count the same",
    choices=("balanced",),
    metavar="WEIGHTS",
)

# For tasks that learn from a teacher's probabilities. See ``training/taught.py``.
SOFT_LABELS = (
    Option(
        "temperature",
        float,
        "for texts with soft labels: divides the logits of teacher and student in the loss, such as 2",
        otherwise="1",
        metavar="T",
    ),
    Option(
        "hard_weight",
        float,
        "for texts with soft labels: the weight of a text's own label in the loss, from 0 to 1",
        otherwise="0",
        metavar="WEIGHT",
        is_share=True,
    ),
)


class Options(SimpleNamespace):
    """The options of one training run, each with its value, as attributes."""
