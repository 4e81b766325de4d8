"""The command compare: two trained models on the same texts, and what chance could make of their difference."""

from __future__ import annotations

import json
from typing import Any

from dense_lstm_zoo.cli.arguments import FORMAT, corpus, output
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, import_tensorflow
from dense_lstm_zoo.comparing.compare import Plan, prepare
from dense_lstm_zoo.comparing.differences import DRAWS
from dense_lstm_zoo.data.cells import escape_json
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage.json_files import finite

_RUN = "the folder that train wrote, or a preset's name; or the folder of several runs (--seeds, --folds)"


@command(
    "compare",
    "Compare two trained models on the same texts.",
    argument("run_a", metavar="RUN_A", help=_RUN),
    argument("run_b", metavar="RUN_B", help="another one of the same task"),
    argument("--split", choices=("test", "dev", "train"), default="test", help="the part that is read (default: test)"),
    *output("csv: write the texts on which they differ, with both answers (language models: every line)"),
    FORMAT,
    argument("--draws", type=int, default=DRAWS, metavar="N", help=f"draws of the bootstrap (default: {DRAWS:,})"),
    argument("--seed", type=int, default=1, metavar="N", help="seed of the bootstrap (default: 1)"),
    corpus(trains=False),
    example="compare runs/a runs/b --output differ.csv",
    description="Compare two trained models on the same texts: the difference of their scores with a 95 % interval "
    "(paired bootstrap), McNemar's exact test, F1 by class. Two folders of several runs are compared seed by seed or "
    "fold by fold (Student's t, corrected for folds).",
)
def compare(run_a: Source, run_b: Source, form: str, **options: Any) -> None:
    """Compare two trained models and print the result."""
    comparison = prepare(run_a, run_b, **options)
    if isinstance(comparison, Plan):
        import_tensorflow()
        comparison = comparison.run()
    if form == "json":
        print(escape_json(json.dumps(finite(comparison.to_dict()), ensure_ascii=False)))
    else:
        notes.show(comparison)
