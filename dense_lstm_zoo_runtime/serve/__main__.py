"""Load the models, then serve them until SIGTERM or SIGINT. Requests in progress are answered first."""

from __future__ import annotations

import sys

from dense_lstm_zoo_runtime.screen import escape_controls
from dense_lstm_zoo_runtime.serve import check_libraries
from dense_lstm_zoo_runtime.serve.settings import parse
from dense_lstm_zoo_runtime.streams import open_streams


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal ends the process, or return 2 if a library is missing or a model cannot be loaded."""
    open_streams()  # closed ones, which uvicorn's log would fail on
    settings = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        check_libraries()
        from dense_lstm_zoo_runtime.serve import models, process

        models_by_name = models.load(settings.models, settings.threads)
    except (ValueError, OSError, RuntimeError) as error:  # the last: a graph fails
        print(f"error: {escape_controls(str(error))}", file=sys.stderr)
        return 2
    process.run(models_by_name, settings)


if __name__ == "__main__":
    sys.exit(main())
