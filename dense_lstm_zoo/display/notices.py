"""The notices of TensorFlow's C++ code as it starts: what processor there is, and that there is no GPU.

No setting of TensorFlow 2.21 silences them: its logging library writes all that is logged before it is initialised.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator

# What says nothing of use: information, that logging begins, and that there is no driver where there is no GPU.
_NOTICE = re.compile(
    rb"I\d{4} |WARNING: All log messages before absl|E\d{4} .*failed call to cuInit|To enable the following instruct"
)


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """Hold back what is written to the standard error meanwhile, and write it afterwards without the notices."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile())
            standard_error = os.dup(2)
        except OSError:  # there is no folder for temporary files, or the standard error is closed
            yield
            return
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(standard_error, 2)
            os.close(standard_error)
            file.seek(0)
            for line in file:
                if not _NOTICE.match(line):
                    os.write(2, line)
