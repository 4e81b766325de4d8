"""Load the models, then serve them until SIGTERM or SIGINT. Requests in progress are answered first."""

from __future__ import annotations

import os
import sys

import uvicorn

from dense_lstm_zoo_runtime.serve import models
from dense_lstm_zoo_runtime.serve.app import create_app
from dense_lstm_zoo_runtime.serve.protocol import HalfClosing
from dense_lstm_zoo_runtime.serve.settings import parse
from dense_lstm_zoo_runtime.streams import open_streams


def main(arguments: list[str] | None = None) -> int:
    """Serve, or return 2 if a model cannot be loaded."""
    open_streams()  # closed ones, which uvicorn's log would fail on
    settings = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        models_by_name = models.load(settings.models, settings.threads)
    except (ValueError, OSError, RuntimeError) as error:  # the last: a graph fails
        print(f"error: {error}", file=sys.stderr)
        return 2
    uvicorn.run(
        create_app(models_by_name, settings),
        host=settings.host,
        port=settings.port,
        log_level=settings.log_level,
        access_log=settings.log_level == "debug",
        timeout_graceful_shutdown=int(settings.timeout) + 2,
        server_header=False,
        http=HalfClosing,  # by h11, which limits the headers of a request to 64 KiB, as faster parsers do not
    )
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # an ordinary end would wait for threads that predict what nobody waits for any longer
