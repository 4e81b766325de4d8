"""The command that joins language models into a text encoder."""

from __future__ import annotations

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.cli.commands import import_tensorflow
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import files


def join_lm(runs: list[str], output: str, dtype: str, overwrite: bool) -> None:
    """Join a forward and, if there is one, a backward language model, and say what came out."""
    if len(runs) > 2:
        raise ValueError(f"join-lm takes a forward language model and at most one backward; received {len(runs)}.")
    target = files.check_new_folder(output, "bundle" if overwrite else None)
    folders = [presets.open_folder(run) for run in runs]
    import_tensorflow()
    encoder = zoo.join_language_models(*folders)
    encoder.save(target, dtype=dtype, overwrite=overwrite)
    name = escape_controls(str(target))
    notes.show(
        f"{name}: {' and '.join(encoder.directions)}, {encoder.num_layers} layers of {encoder.units}, "
        f"{len(encoder.words):,} words; train --context {name} reads with it"
    )
