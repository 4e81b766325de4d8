"""The command line. TensorFlow is imported only by commands that run a model."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence

from dense_lstm_zoo.cli import completion
from dense_lstm_zoo.cli.parser import parser
from dense_lstm_zoo.cli.presets import with_folders
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo_runtime.faults import foreign_library, is_failure_of_machine, is_lack_of_memory, memory_limit
from dense_lstm_zoo_runtime.streams import drop_output, flush_output, open_streams

# Errors in a request or its result: reported on one line, without a traceback.
PLAIN_ERRORS = (ValueError, TypeError, OSError, ArithmeticError)
# Failures of this machine. Other errors, such as KeyError, are bugs and show a traceback.
FAILURES = (RuntimeError, MemoryError)
DEBUG = "DENSE_LSTM_ZOO_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 for a failure, 2 for bad input, 130 after Ctrl-C.

    An error is reported on one line. With DENSE_LSTM_ZOO_DEBUG=1 in the environment, its traceback is printed first.
    """
    # TensorFlow's C++ start-up messages (no GPU found, CPU features) would bury the progress bars.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    open_streams()
    commands = parser()
    if completion.is_asked():
        completion.complete(commands)
    arguments = vars(commands.parse_args(argv))
    run = arguments.pop("run")
    try:
        status = run(**with_folders(arguments)) or 0
        flush_output()
    except BrokenPipeError:  # the reader of our output has seen enough
        drop_output(sys.stdout.fileno())
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except Exception as error:
        with contextlib.suppress(OSError):
            flush_output()
        if isinstance(error, Warning):
            cause = "a warning, which PYTHONWARNINGS or -W makes an error: unset it"
            return _tell(f"{_reason(error)} ({cause}; {DEBUG}=1 shows the traceback)", 1)
        library = None if isinstance(error, OSError) else foreign_library(error)
        if isinstance(error, PLAIN_ERRORS) and library is None:
            return _tell(str(error), 1 if is_failure_of_machine(error) else 2)
        if isinstance(error, PLAIN_ERRORS):
            origin = f"raised in {library}, perhaps not the input's fault; {DEBUG}=1 shows the traceback"
            return _tell(f"{_reason(error)} ({origin})", 1)
        if isinstance(error, (*FAILURES, *_tensorflow_errors())) or is_lack_of_memory(error):
            return _tell(f"{_reason(error)} ({DEBUG}=1 shows the traceback)", 1)
        raise
    else:
        return status
    return 0


def _tell(message: str, status: int) -> int:
    """Print an error on one line, whatever characters it holds, and return the exit status."""
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exc()
    lines = [escape_controls(line.strip(), keep="\t") for line in message.split("\n")]
    print(f"error: {' '.join(filter(None, lines))}", file=sys.stderr)
    return status


def _reason(error: Exception) -> str:
    """Return one line that names the failure. TensorFlow's messages fill a page."""
    first = next((line.strip() for line in str(error).split("\n") if line.strip()), "")
    if is_lack_of_memory(error):
        return f"out of memory; a smaller --batch-size or model needs less.{memory_limit()} {first}".rstrip()
    return f"{type(error).__name__}: {first}".rstrip(": ")


def _tensorflow_errors() -> tuple[type[Exception], ...]:
    """Return TensorFlow's error classes, if it has been imported."""
    tensorflow = sys.modules.get("tensorflow")
    return () if tensorflow is None else (tensorflow.errors.OpError,)
