"""Taggers of the paper's width, by its optimiser, in batches: does depth help there, and does it need skips?"""

from benchmarks.tagging import KEY, columns
from tuning.command import main
from tuning.table import Row, Table

# The batch's gradient is that of its sentences together (spec W12), so that the paper's learning rate holds.
BATCHES = {"batch_size": 32, "epochs": 12, "trainable_embeddings": False, "dtype": "mixed_bfloat16"}


def _row(num_layers: int, skip: str) -> Row:
    return Row("gated_skip_tagger", "wu2016_7_layers", {"num_layers": num_layers, "skip": skip, **BATCHES})


TABLE = Table(
    name="tagging_units",
    title="Does depth help at 512 units, and does it need skip connections?",
    dataset="ewt_upos",
    minutes={"plain_1": 10, "plain_7": 55, "gated_outputs_7": 60},
    texts=12_544,
    rows={"plain_1": _row(1, "none"), "plain_7": _row(7, "none"), "gated_outputs_7": _row(7, "gated_outputs")},
    seeds=1,
    columns=columns,
    key=KEY,
    results="tagging",
)

if __name__ == "__main__":
    main(TABLE)
