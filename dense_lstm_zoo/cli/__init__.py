"""The command line; TensorFlow is imported only by commands that run a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from dense_lstm_zoo.cli.parser import parser

# What is wrong with what a user asked for, or with what came of it: one line tells, without a traceback.
PLAIN_ERRORS = (ValueError, TypeError, OSError, ArithmeticError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 2 for bad input, 130 after Ctrl-C."""
    # TensorFlow's C++ start-up messages (no GPU found, CPU features) would bury the progress bars.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    arguments = vars(parser().parse_args(argv))
    run = arguments.pop("run")
    try:
        run(**arguments)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except PLAIN_ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    return 0
