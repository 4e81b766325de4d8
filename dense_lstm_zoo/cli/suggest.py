"""The command that says which texts to label next: suggest."""

from __future__ import annotations

import contextlib
import sys
from typing import IO, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli.arguments import BUNDLE, text_format
from dense_lstm_zoo.cli.arguments import output as output_arguments
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, check_command, load_bundle
from dense_lstm_zoo.cli.predict import Request, formats, open_source
from dense_lstm_zoo.cli.writing import table_row
from dense_lstm_zoo.storage.outputs import check_not_read, check_output
from dense_lstm_zoo.storage.packed_files import new_output

_COLUMNS = ("predicted", "probability")  # beside the text's and the label's


@command(
    "suggest",
    "Choose the texts to label next: unsure ones, unlike each other. Writes csv with an empty column for the labels.",
    BUNDLE,
    argument("--file", required=True, metavar="FILE", help="texts without labels: a text per line, or a table"),
    *text_format("the file", column="as in training, else text"),
    argument("-n", "--number", type=int, default=50, metavar="N", help="how many (default: 50)"),
    argument("--seed", type=int, default=1, metavar="N", help="of the choice (default: 1)"),
    *output_arguments("write here instead of to standard output"),
    example="suggest runs/few --file raw.txt -n 50 --output label_these.csv",
)
def suggest(bundle: Source, number: int, seed: int, output: str | None, overwrite: bool, **options: Any) -> None:
    """Write the texts to label next, the one that the model is least sure of first."""
    checks.integer("-n", number)
    checks.seed(seed)
    folder = BundleFolder.open(bundle)
    plain: dict[str, Any] = {"texts": [], "prefix": None, "raw": False}
    request = Request(folder, output=output, form="csv", overwrite=overwrite, **plain, **options)
    config = folder.read_config()
    input_form, _ = formats(request, check_command(folder, config, "suggest"))
    output_file = None if output is None else check_output(output, overwrite)
    check_not_read(output_file, [request.file], "--output")
    with contextlib.ExitStack() as stack:
        source = open_source(request, config, input_form, stack)
        texts = [str(record.text) for record in source.records]
        suggestions = load_bundle(folder).suggest(texts, number, seed)
        target: IO[str] = stack.enter_context(new_output(output_file)) if output_file else sys.stdout
        columns = config["training"].get("columns", {})
        own = columns.get("label_columns") or [columns.get("label_column", "label")]
        names = [columns.get("text_column", "text"), *own]
        target.write(table_row([*names, *(f"suggested_{x}" if x in names else x for x in _COLUMNS)]))
        for each in suggestions:
            target.write(table_row([each.text, *[""] * len(own), each.label, f"{each.probability:.6f}"]))
    if len(suggestions) < number:
        print(
            f"{number:,} texts were asked for, and {len(suggestions):,} can be suggested: the others are empty, were "
            "trained on, or read alike to the model, such as those without a word that it knows.",
            file=sys.stderr,
        )
