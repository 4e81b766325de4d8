"""The command line: answers for texts, one per line."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import json
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence

from dense_lstm_zoo_runtime import checks
from dense_lstm_zoo_runtime.answers import Answer, Prediction, Score, fields, joined
from dense_lstm_zoo_runtime.faults import foreign_library, is_failure_of_machine, is_lack_of_memory, memory_limit
from dense_lstm_zoo_runtime.screen import escape_controls, escape_json, finite
from dense_lstm_zoo_runtime.streams import drop_output, flush_output, open_streams

# Errors in a request: reported on one line, without a traceback. Others, such as KeyError, are bugs and show one.
_PLAIN_ERRORS = (ValueError, TypeError, OSError, ArithmeticError)
_FAILURES = (RuntimeError, MemoryError, ImportError)
_GZIP = b"\x1f\x8b"
_DEBUG = "DENSE_LSTM_ZOO_DEBUG"
_WORD = "\0"  # before each word after --, which argparse would otherwise take for an option in its second pass
_ABOUT = """\
Answer texts with a model that was exported to ONNX, without TensorFlow.

A classifier prints label, probability and text; where texts may have several labels, vertical bars are between them. A
tagger prints TOKEN/TAG; a language model log probability, perplexity and text. Control characters are escaped.
"""
_EXAMPLES = """\
examples:
  python -m dense_lstm_zoo_runtime exports/trec-onnx "Who was Galileo?" "How far is it?"
  python -m dense_lstm_zoo_runtime dc_bilstm_sst2 < reviews.txt          one text per line
  python -m dense_lstm_zoo_runtime --json exports/trec-onnx "Who was Galileo?"

dense-lstm-zoo export RUN PATH --format onnx writes an export.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    options = argparse.ArgumentParser(
        prog="python -m dense_lstm_zoo_runtime",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument(
        "export",
        metavar="EXPORT",
        help="the folder of an ONNX export, a bundle's folder that holds one in 'onnx', or an installed preset's name",
    )
    options.add_argument("texts", metavar="TEXT", nargs="*", help="texts; without any, lines of standard input")
    options.add_argument(
        "--json", action="store_true", help="print a JSON object per text, with all that is known of it"
    )
    options.add_argument("--threads", type=int, metavar="N", help="how many threads may work on a text or batch")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 for a failure, 2 for bad input, 130 after Ctrl-C.

    An error is reported on one line. With DENSE_LSTM_ZOO_DEBUG=1 in the environment, its traceback is printed first.
    """
    open_streams()
    arguments = _parsed(sys.argv[1:] if argv is None else argv)
    try:
        _run(arguments)
        flush_output()
    except BrokenPipeError:  # the reader of our output has seen enough
        drop_output(sys.stdout.fileno())
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except _PLAIN_ERRORS as error:
        with contextlib.suppress(OSError):
            flush_output()
        library = None if isinstance(error, OSError) else foreign_library(error)
        if library is None:
            return _tell(str(error), 1 if is_failure_of_machine(error) else 2)
        return _tell(f"{type(error).__name__} in {library}, perhaps not the input's fault: {error}", 1)
    except _FAILURES as error:
        first = str(error).strip().split("\n")[0]
        if is_lack_of_memory(error):
            return _tell(
                f"out of memory; shorter texts or fewer --threads need less.{memory_limit()} {first}".rstrip(), 1
            )
        if isinstance(error, ImportError):
            raise
        return _tell(f"{type(error).__name__}: {first}".rstrip(": "), 1)
    return 0


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """Return the arguments. Of the words after ``--`` none is an option."""
    start = words.index("--") + 1 if "--" in words else len(words)
    marked = [*words[:start], *(f"{_WORD}{word}" for word in words[start:])]
    arguments = parser().parse_intermixed_args(marked)
    arguments.export = arguments.export.removeprefix(_WORD)
    arguments.texts = [text.removeprefix(_WORD) for text in arguments.texts]
    return arguments


def _run(arguments: argparse.Namespace) -> None:
    if arguments.threads is not None:
        checks.threads("--threads", arguments.threads)
    from dense_lstm_zoo_runtime.predictor import Predictor  # --help does not load ONNX Runtime

    predictor = Predictor(arguments.export, threads=arguments.threads)
    show = _json if arguments.json else _line
    for answer in predictor.predict_stream(arguments.texts or _lines(sys.stdin.buffer)):
        print(show(answer))


def _lines(stream: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of standard input, without their ends.

    Raises:
        ValueError: They begin with the byte order mark of UTF-16, are compressed with gzip, or are lines that carriage
            returns alone end.
    """
    for number, line in enumerate(stream):
        if number == 0:
            if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise ValueError("Standard input begins with the byte order mark of UTF-16; convert it to UTF-8.")
            if line.startswith(_GZIP):
                raise ValueError("Standard input is compressed with gzip; unpack it before: gunzip -c FILE | ...")
            if b"\r" in line.rstrip(b"\r\n") and not line.endswith(b"\n"):
                raise ValueError(
                    "Standard input has carriage returns alone at the ends of its lines, as old Macs wrote them: "
                    "tr '\\r' '\\n' makes them line feeds."
                )
            line = line.removeprefix(codecs.BOM_UTF8)
        yield line.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


def _line(answer: Answer) -> str:
    if isinstance(answer, Prediction):
        label = answer.label if answer.labels is None else joined(answer.labels)
        cells = [label, f"{answer.probability:.4f}", answer.text]
    elif isinstance(answer, Score):
        cells = [f"{answer.log_probability:.4f}", f"{answer.perplexity:.2f}", answer.text]
    else:
        cells = [" ".join(f"{token}/{tag}" for token, tag in zip(answer.tokens, answer.tags, strict=True))]
    return "\t".join(map(escape_controls, cells))


def _json(answer: Answer) -> str:
    return escape_json(json.dumps(finite({"text": answer.text, **fields(answer)}), ensure_ascii=False))


def _tell(message: str, status: int) -> int:
    """Print an error on one line, whatever characters it holds, and return the exit status."""
    if os.environ.get(_DEBUG, "0") not in ("", "0"):
        traceback.print_exc()
    lines = [escape_controls(line.strip(), keep="\t") for line in message.split("\n")]
    print(f"error: {' '.join(filter(None, lines))}", file=sys.stderr)
    return status
