"""Commands that write vectors: of texts, and of the words nearest to a word."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli import texts, writing
from dense_lstm_zoo.cli.commands import check_command, load
from dense_lstm_zoo.corpora.own_files import format_of
from dense_lstm_zoo.data import word_table
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.packed_files import new_output

if TYPE_CHECKING:
    import numpy as np

FORMATS = ("npy", "csv")


def embed(output: str | None, form: str | None, **asked: Any) -> None:
    """Write a vector per text: an array, or a table with a column per number."""
    if output is None:
        raise ValueError("embed writes a file; name it with --output, such as --output vectors.npy or vectors.csv.")
    form = format_of(output, FORMATS, "--format", form)
    if form == "npy" and (asked["prefix"] is not None or asked["raw"]):
        raise ValueError("--prefix and --raw are for csv; the output is npy.")
    folder = BundleFolder.open(asked.pop("bundle"))
    options = texts.Asked(folder, output=output, form="csv", **asked)
    config = folder.read_config()
    input_form, _ = texts.formats(options, check_command(folder, config, "embed"))
    output_file = check_output(output, options.overwrite)
    with contextlib.ExitStack() as stack:
        source = texts.source(options, config, input_form, stack)
        loaded = load(folder)
        width = loaded.embedding_width
        if form == "csv":
            target = stack.enter_context(new_output(output_file))
            columns = [f"e{i}" for i in range(width)]
            shapes = writing.Shapes(columns, _cells, _cells, lambda found: dict(zip(columns, found, strict=True)))
            writing.write(
                target, writing.Options("csv", options.prefix, options.raw), source, loaded.embed_stream, shapes
            )
        else:
            vectors = list(loaded.embed_stream(record.text for record in source.records))
            _write_array(stack.enter_context(new_output(output_file, "wb")), vectors, width)


def _cells(vector: np.ndarray) -> list[str]:
    return [f"{value:.9g}" for value in vector]  # nine digits name every float32


def _write_array(target: IO[bytes], rows: Sequence[np.ndarray], width: int) -> None:
    """Write rows as a .npy file; ``np.save`` would need them joined, and a file that can be sought."""
    import numpy as np

    header = {"descr": "<f4", "fortran_order": False, "shape": (len(rows), width)}
    np.lib.format.write_array_header_1_0(target, header)
    for row in rows:
        target.write(row.astype("<f4").tobytes())


def nearest(word: str, vectors: str, k: int) -> None:
    """Print the words with the highest cosine similarity to a word."""
    checks.integer("k", k)
    for found, cosine in word_table.load_vectors(vectors).nearest(word, k):
        print(f"{cosine:.4f}\t{escape_controls(found)}")
