"""Commands around pretraining: tokenize, word-vectors, join-lm."""

from __future__ import annotations

import contextlib
import shlex
import sys

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.bundles.weights_file import DTYPES
from dense_lstm_zoo.cli.arguments import BUNDLE, OVERWRITE, OVERWRITE_FOLDER, output, text_format
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, import_tensorflow, load_bundle
from dense_lstm_zoo.corpora.own_files import input_format
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.data.delimited import check_delimiter
from dense_lstm_zoo.data.progress import Progress
from dense_lstm_zoo.data.tokens import token_stream
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.packed_files import new_output
from dense_lstm_zoo_runtime.streams import for_reading


@command(
    "tokenize",
    "Write raw texts in a classifier's words, one text per line, for a language model to be trained on.",
    argument("file", nargs="?", help="the texts (default: standard input)"),
    *text_format("the texts"),
    *output("the file to write (default: standard output)"),
    example="tokenize reviews.csv --text-column review --output reviews.txt",
)
def tokenize(
    file: str | None,
    output: str | None,
    input_form: str | None,
    text_column: str | None,
    encoding: str | None,
    delimiter: str | None,
    overwrite: bool,
) -> None:
    """Write each text's tokens on a line. Texts without tokens are left out, and line ends within texts are spaces."""
    form = input_form or "text"
    if file is not None:
        files.existing_file(file)
        form = input_format(file, records.FORMATS, "--input-format", input_form, otherwise="text")
    records.check_options(form, text_column, encoding, delimiter)
    target_file = None if output is None else check_output(output, overwrite)
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(pipes.stream(files.existing_file(file))) if file is not None else sys.stdin.buffer
        options = records.Options(form, text_column, encoding=encoding, delimiter=check_delimiter(delimiter))
        source = records.read_records(stream, file or "standard input", options)
        import_tensorflow()
        target = stack.enter_context(new_output(target_file)) if target_file else for_reading(sys.stdout)
        progress = Progress(file or "standard input", enabled=output is not None, unit="texts")
        progress.start(0, None)
        texts, lines, count = 0, 0, 0
        for tokens in token_stream(str(record.text) for record in source.records):
            texts += 1
            if tokens:
                target.write(" ".join(tokens) + "\n")
                lines, count = lines + 1, count + len(tokens)
            progress.update(texts)
        progress.finish(texts)
    if target_file:
        left_out = f"; {texts - lines:,} texts without tokens are left out" if lines < texts else ""
        print(escape_controls(f"{output}: {lines:,} lines, {count:,} tokens{left_out}"), file=sys.stderr)


@command(
    "word-vectors",
    "Write a trained model's word vectors in GloVe's text format, for train --vectors.",
    BUNDLE,
    argument("--output", required=True, metavar="FILE", help="the file to write"),
    OVERWRITE,
    example="word-vectors runs/forward --output words.txt",
)
def word_vectors(bundle: Source, output: str, overwrite: bool) -> None:
    """Write the word vectors of a trained model, one word per line."""
    target = check_output(output, overwrite)
    model = load_bundle(bundle)
    model.save_word_vectors(target, overwrite=overwrite)
    count = len(model.vocabulary.words)
    notes.show(
        escape_controls(f"{output}: vectors of {count:,} words; train --vectors {shlex.quote(output)} starts from them")
    )


@command(
    "join-lm",
    "Join language models into a text encoder, for train --context and --init-from.",
    argument("runs", nargs="+", metavar="run", help="a language model and, if there is one, its --direction backward"),
    argument("--output", required=True, metavar="FOLDER", help="the folder to write"),
    argument("--dtype", choices=DTYPES, default="float16", help="how numbers are stored (default: float16)"),
    OVERWRITE_FOLDER,
    example="join-lm runs/forward runs/backward --output runs/encoder",
)
def join_lm(runs: list[str], output: str, dtype: str, overwrite: bool) -> None:
    """Join a forward and, if there is one, a backward language model, and print a summary."""
    if len(runs) > 2:
        raise ValueError(f"join-lm takes a forward language model and at most one backward; received {len(runs)}.")
    target = files.check_new_folder(output, "bundle" if overwrite else None)
    folders = [presets.open_folder(run) for run in runs]
    for folder in folders:
        if target.real == folder.path.resolve():
            raise ValueError(
                f"--output {output} is one of the language models that it is made of; name another folder."
            )
    import_tensorflow()
    encoder = zoo.join_language_models(*folders)
    encoder.save(target, dtype=dtype, overwrite=overwrite)
    notes.show(
        escape_controls(
            f"{target}: {' and '.join(encoder.directions)}, {encoder.num_layers} layers of {encoder.units}, "
            f"{len(encoder.words):,} words; train --context {shlex.quote(str(target))} reads with it"
        )
    )
