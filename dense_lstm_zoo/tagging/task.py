"""Tagging, as the rest of the package sees it."""

from dense_lstm_zoo.tagging.answers import ANSWERS
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.options import BATCHES, CLASS_WEIGHTS, CONTEXT, SOFT_LABELS, WORD_VECTORS, Option
from dense_lstm_zoo.tasks.ranges import Range
from dense_lstm_zoo.tasks.recipe import Recipe

TASK = Task(
    name="tagging",
    title="taggers",
    measure="accuracy",
    higher_is_better=True,
    digits=4,
    percent=True,
    options=(
        *WORD_VECTORS,
        CONTEXT,
        *BATCHES,
        Option("min_tag_count", int, "number of occurrences in training that a tag needs; rarer ones become RARE", 1),
        CLASS_WEIGHTS,
        *SOFT_LABELS,
    ),
    defaults=Recipe(name="", source="", models={}, batch_size=32, epochs=30, patience=5),
    space={
        "num_layers": Range(1, 9, step=2),
        "units": Range(64, 512, log=True),
        "dropout": Range(0.2, 0.6, step=0.1),
        "learning_rate": Range(0.005, 0.1, log=True),
    },
    own_files=("columns", "auto", "pos", "mrg"),
    commands=("predict", "gates"),
    answers=ANSWERS,
    package="dense_lstm_zoo.tagging",
    job="TaggingJob",
    bundle="TaggingBundle",
    keras_task="TokenClassifier",
    takes_tokens=True,
    reads_characters=True,
)
