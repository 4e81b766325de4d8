"""The command that trains on few labelled texts and many others: self-train."""

from __future__ import annotations

from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli.command import Group, argument, command
from dense_lstm_zoo.cli.loading import import_tensorflow
from dense_lstm_zoo.cli.train import prepare
from dense_lstm_zoo.cli.training_arguments import MODEL, QUIET, from_option, settings
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tasks.options import RUNNING
from dense_lstm_zoo.teaching import rounds
from dense_lstm_zoo.teaching.raw_texts import read_texts

_ROUNDS = Group(
    "self-training",
    (
        argument(
            "--file", required=True, metavar="FILE", help="texts without labels, one per line, or a table; required"
        ),
        argument(
            "--run-dir",
            required=True,
            metavar="FOLDER",
            help="the folder of all rounds, required; repeating the command resumes them",
        ),
        argument("--rounds", type=int, metavar="N", help=f"the most rounds after the first (default: {rounds.ROUNDS})"),
        argument(
            "--models",
            type=int,
            metavar="N",
            help="models of a round, with seeds SEED, SEED + 1, ..., whose mean labels the texts "
            f"(default: {rounds.MODELS})",
        ),
        argument(
            "--threshold",
            type=float,
            metavar="P",
            help=f"probability of a label from which a text is learnt (default: {rounds.THRESHOLD})",
        ),
        argument("--augment", type=int, metavar="N", help="also learn N changed copies of each text (default: 0)"),
    ),
)


@command(
    "self-train",
    "Train on few labelled texts and many others, which models of a round label for the next; the command resumes.",
    argument("model", help=MODEL),
    _ROUNDS,
    *settings(*map(from_option, RUNNING), QUIET, seed="seed of the first model of a round"),
    example="self-train bilstm --dataset few.csv --file raw.txt --run-dir runs/self --rounds 2",
    by_model=True,
)
def self_train(model: str, file: str, **options: Any) -> None:
    """Train in rounds, after checking everything that can be."""
    own = {name: options.pop(name) for name in ("rounds", "models", "threshold", "augment")}
    own = {name: value for name, value in own.items() if value is not None}
    rounds.check_request(model, **own)
    files.existing_file(file)
    _, corpus, training = prepare(model, None, {**options, "seeds": own.get("models", rounds.MODELS)})
    del training["seeds"]
    texts = read_texts(file).texts
    import_tensorflow()
    zoo.self_train(model, corpus, texts, **own, **training)
