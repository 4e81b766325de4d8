"""The parser of the command line: every command that is declared, in the order of the help."""

from __future__ import annotations

import argparse

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import (  # noqa: F401 - each declares its commands
    compare,
    drawing,
    evaluate,
    export,
    generate,
    label,
    listing,
    measure,
    predict,
    predict_batch,
    presets,
    pretraining,
    self_train,
    serve,
    suggest,
    train,
    tune,
    vectors,
)
from dense_lstm_zoo.cli.command import COMMANDS, CommandParser, Program

ORDER = (
    *("list", "presets", "describe", "fetch", "label"),
    *("train", "self-train", "tune", "evaluate", "compare"),
    *("predict", "predict-batch", "embed", "nearest", "score", "generate", "next-words", "gates", "explain", "suggest"),
    *("tokenize", "word-vectors", "join-lm"),
    *("curves", "export", "serve", "push", "measure"),
)


def parser() -> argparse.ArgumentParser:
    """Return the parser. The value ``run`` in its result is the function to call with the other values."""
    program = Program(
        prog="dense-lstm-zoo",
        description="Densely connected and gated-skip LSTMs: train on a laptop, serve raw strings.",
        epilog="Start with: dense-lstm-zoo train dc_bilstm --dataset demo --run-dir runs/demo. "
        "DENSE_LSTM_ZOO_DEBUG=1 in the environment shows the traceback of an error.",
    )
    program.add_argument("--version", action="version", version=f"dense-lstm-zoo {zoo.__version__}")
    subparsers = program.add_subparsers(required=True, metavar="command", parser_class=CommandParser)
    for command in sorted(COMMANDS.values(), key=lambda command: ORDER.index(command.name)):
        subparser: CommandParser = subparsers.add_parser(
            command.name,
            help=command.help,
            description=command.description or command.help,
            epilog=f"Example: dense-lstm-zoo {command.example}",
        )
        subparser.declare(command)
    return program
