"""Commands that write vectors: of texts, and of the words nearest to a word."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli import writing
from dense_lstm_zoo.cli.arguments import texts
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, check_command, load_bundle
from dense_lstm_zoo.cli.predict import Request, formats, open_source
from dense_lstm_zoo.corpora.own_files import format_of
from dense_lstm_zoo.data import records, word_table
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.packed_files import new_output

if TYPE_CHECKING:
    import numpy as np


FORMATS = ("npy", "csv")


@command(
    "embed",
    "Write a vector per text: what a classifier's softmax layer reads.",
    *texts(records.FORMATS, FORMATS, "which must then end in .npy or .csv", "the file to write; required"),
    example="embed runs/trec --file questions.txt --output questions.npy",
)
def embed(bundle: Source, output: str | None, form: str | None, **options: Any) -> None:
    """Write a vector per text: an array, or a table with a column per number."""
    if output is None:
        raise ValueError("embed writes a file; name it with --output, such as --output vectors.npy or vectors.csv.")
    form = format_of(output, FORMATS, "--format", form)
    if form == "npy" and (options["prefix"] is not None or options["raw"]):
        raise ValueError("--prefix and --raw are for csv; the output is npy.")
    folder = BundleFolder.open(bundle)
    request = Request(folder, output=output, form="csv", **options)
    config = folder.read_config()
    input_form, _ = formats(request, check_command(folder, config, "embed"))
    output_file = check_output(output, request.overwrite)
    with contextlib.ExitStack() as stack:
        source = open_source(request, config, input_form, stack)
        model = load_bundle(folder)
        width = model.embedding_width
        if form == "csv":
            target = stack.enter_context(new_output(output_file))
            columns = [f"e{i}" for i in range(width)]
            shapes = writing.Shapes(columns, _cells, _cells, lambda vector: dict(zip(columns, vector, strict=True)))
            settings = writing.Options("csv", request.prefix, request.raw)
            writing.write(target, settings, source, model.embed_stream, shapes)
        else:
            vectors = list(model.embed_stream(record.text for record in source.records))
            _write_array(stack.enter_context(new_output(output_file, "wb")), vectors, width)


def _cells(vector: np.ndarray) -> list[str]:
    return [f"{value:.9g}" for value in vector]  # nine digits name every float32


def _write_array(target: IO[bytes], rows: Sequence[np.ndarray], width: int) -> None:
    """Write rows as a .npy file. ``np.save`` would need them joined, and a file that can be sought."""
    import numpy as np

    header = {"descr": "<f4", "fortran_order": False, "shape": (len(rows), width)}
    np.lib.format.write_array_header_1_0(target, header)
    for row in rows:
        target.write(row.astype("<f4").tobytes())


@command(
    "nearest",
    "Show the words with the nearest vectors.",
    argument("word", help="a word, in lower case"),
    argument(
        "--vectors",
        default=word_table.DEFAULT,
        metavar="NAME",
        help=f"an installed word table (default: {word_table.DEFAULT})",
    ),
    argument("-k", type=int, default=10, help="how many (default: 10)"),
    example=f"nearest movie --vectors {word_table.DEFAULT} -k 5",
)
def nearest(word: str, vectors: str, k: int) -> None:
    """Print the words with the highest cosine similarity to a word."""
    checks.integer("k", k)
    for neighbour, cosine in word_table.load_vectors(vectors).nearest(word, k):
        print(f"{cosine:.4f}\t{escape_controls(neighbour)}")
