"""Language modelling, as the rest of the package sees it."""

from dense_lstm_zoo.language.answers import ANSWERS
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.options import DIRECTIONS, VECTORS, Option
from dense_lstm_zoo.tasks.ranges import Range
from dense_lstm_zoo.tasks.recipe import Recipe

TASK = Task(
    name="language_model",
    title="language models",
    measure="perplexity",
    higher_is_better=False,
    digits=2,
    percent=False,
    options=(
        VECTORS,
        Option(
            "direction",
            str,
            "forward, or backward: read every text from its end",
            "forward",
            choices=DIRECTIONS,
        ),
        Option("num_steps", int, "steps per window", otherwise="the recipe's, else 35", searched=True),
        Option(
            "max_words",
            int,
            "size of the vocabulary, <eos> and <unk> included",
            otherwise="the recipe's, else all",
            minimum=2,
        ),
        Option("min_count", int, "number of occurrences in training that a word needs to be known", 1),
    ),
    # Godin et al. 2017 with the short schedule of its recipes that end in _30_epochs.
    defaults=Recipe(
        name="",
        source="",
        models={},
        batch_size=20,
        num_steps=35,
        learning_rate_decay=0.85,
        decay_after=6,
        epochs=30,
        patience=5,
    ),
    space={
        "num_layers": Range(1, 4),
        "units": Range(100, 650, log=True),
        "dropout": Range(0.2, 0.7, step=0.1),
        "learning_rate": Range(0.5, 2.0, log=True),
    },
    own_files=("text",),
    commands=("score", "generate", "next-words"),
    answers=ANSWERS,
    package="dense_lstm_zoo.language",
    job="LanguageModelJob",
    bundle="LanguageModelBundle",
    keras_task="LanguageModel",
    text_encoder="TextEncoder",
    predicts_words=True,
)
