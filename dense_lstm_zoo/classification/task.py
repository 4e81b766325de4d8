"""Sentence classification, as the rest of the package sees it."""

from typing import Any

from dense_lstm_zoo.classification.answers import ANSWERS
from dense_lstm_zoo.classification.schedule import schedule
from dense_lstm_zoo.tasks import Effort, Task
from dense_lstm_zoo.tasks.options import BATCHES, CLASS_WEIGHTS, CONTEXT, SOFT_LABELS, WORD_VECTORS, Option
from dense_lstm_zoo.tasks.ranges import Range
from dense_lstm_zoo.tasks.recipe import Recipe

# The loss says more than the accuracy of few dev texts.
_BY_LOSS = {"pooled_words": True, "monitor": "calibrated_loss", "calibrate": True, "l2": 0.0}
_FROM_TRAINED = {**_BY_LOSS, "head": "convex", "learning_rate": 0.001}
_FOR_FEW: dict[str, Any] = {"few_texts": 250, "recipe_for_few": "few_labels"}

TASK = Task(
    name="classification",
    title="classifiers",
    measure="accuracy",
    set_measure="micro_f1",
    higher_is_better=True,
    digits=4,
    percent=True,
    options=(
        *WORD_VECTORS,
        CONTEXT,
        *BATCHES,
        Option("oov", str, 'words outside the vocabulary: "drop" or "unk"', otherwise="drop with vectors, else unk"),
        Option(
            "dev_every",
            int,
            "also score dev every N batches, for a learning curve by batch",
            otherwise="never",
            metavar="N",
        ),
        CLASS_WEIGHTS,
        Option(
            "monitor",
            str,
            "the dev score that chooses the best epoch; calibrated_loss is the loss at the best temperature",
            otherwise="accuracy; for texts with several labels calibrated_loss",
            choices=("accuracy", "macro_f1", "micro_f1", "loss", "calibrated_loss"),
        ),
        Option(
            "thresholds",
            str,
            "the probability from which a label is given: tuned on dev for each label's best F1, or half",
            otherwise="tuned for texts with several labels; else the likeliest label is given",
            choices=("tuned", "half"),
        ),
        Option(
            "head",
            str,
            "convex: the first epoch fits the last layer alone, as a logistic regression over the encoder's states",
            otherwise="trained with the rest",
            choices=("convex",),
        ),
        Option(
            "effort",
            str,
            "quick, good or best: settings for 3, 10 or 30 minutes, from the trained model that serves the texts best",
            otherwise="no limit of time",
            choices=("quick", "good", "best"),
        ),
        Option("max_tokens", int, "read only the first N tokens of a text", otherwise="all", metavar="N"),
        Option("calibrate", bool, "fit the temperature of the probabilities on dev", otherwise="no"),
        *SOFT_LABELS,
    ),
    defaults=Recipe(name="", source="", models={}),
    space={
        "num_layers": Range(1, 4),
        "num_dense_layers": Range(5, 20, step=5),
        "dense_units": Range(8, 32),
        "units": Range(50, 300, log=True),
        "dropout": Range(0.2, 0.6, step=0.1),
        "embedding_dropout": Range(0.2, 0.6, step=0.1),
        "learning_rate": Range(5e-4, 5e-3, log=True),
    },
    efforts={
        "quick": Effort(
            model="bilstm",
            settings={**_BY_LOSS, "minutes": 2.5},
            from_trained={**_FROM_TRAINED, "batch_size": 50, "epochs": 100, "patience": 10},
            from_scratch={"units": 100, "learning_rate": 0.002},
            **_FOR_FEW,
        ),
        "good": Effort(
            model="dc_bilstm",
            settings={"pooled_words": True, "calibrate": True, "minutes": 10.0},
            from_trained=_FROM_TRAINED,
            from_scratch={},
            **_FOR_FEW,
        ),
        "best": Effort(
            model="dc_bilstm",
            settings={"pooled_words": True, "calibrate": True, "minutes": 30.0},
            from_trained=_FROM_TRAINED,
            from_scratch={},
            context="dense_lm_reviews",
            **_FOR_FEW,
        ),
    },
    own_files=("csv", "tsv", "jsonl", "parquet", "xlsx"),
    commands=("predict", "embed", "explain", "suggest"),
    answers=ANSWERS,
    package="dense_lstm_zoo.classification",
    job="ClassificationJob",
    bundle="ClassificationBundle",
    keras_task="TextClassifier",
    factories=("models", "interaction", "convolution", "language_classifier"),
    labels_texts=True,
    schedule=schedule,
)
