"""The server as what a process does until its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import NoReturn

import uvicorn

from dense_lstm_zoo_runtime.serve.app import create_app
from dense_lstm_zoo_runtime.serve.models import Model
from dense_lstm_zoo_runtime.serve.protocol import HalfClosing
from dense_lstm_zoo_runtime.serve.settings import Settings


def run(models: Mapping[str, Model], settings: Settings) -> NoReturn:
    """Serve models until SIGTERM or SIGINT, answer the requests in progress, and end the process.

    Raises:
        SystemExit: The address is taken, as the log says.
    """
    uvicorn.run(
        create_app(models, settings),
        host=settings.host,
        port=settings.port,
        log_level=settings.log_level,
        access_log=settings.log_level == "debug",
        timeout_graceful_shutdown=int(settings.timeout) + 2,
        server_header=False,
        http=HalfClosing,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # an ordinary end would wait for threads that predict what nobody waits for any longer
