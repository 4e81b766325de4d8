"""Variables of the environment that keras-tuner and gRPC read, and that are not meant for a sweep."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

# Workers elsewhere reach their chief directly: a proxy for web pages knows neither this machine nor plain-text gRPC.
WITHOUT_PROXY = [("grpc.enable_http_proxy", 0)]
_PREFIX = "KERASTUNER_"


@contextlib.contextmanager
def without_tuner_variables(say: Callable[[str], Any]) -> Iterator[None]:
    """Hide keras-tuner's own variables in this block, and from the processes that it starts.

    They would make every tuner a worker of a chief of keras-tuner's, or wait for one. A sweep's chief is named by
    ``oracle`` and ``--role worker``.
    """
    variables = {name: os.environ.pop(name) for name in sorted(os.environ) if name.startswith(_PREFIX)}
    if variables:
        say(f"{', '.join(variables)} ignored: a sweep's chief and workers are named with --oracle and --role")
    try:
        yield
    finally:
        os.environ.update(variables)
