"""The tables of deploy/runtime/README.md, from the load tests of the server in ``results/runtime_server.csv``."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dense_lstm_zoo.display import code, table
from tuning.result_files import ROOT, read_rows, rounded

_DEFAULTS = {"max_batch": "8", "workers": "1", "threads": "1", "max_wait_ms": "0.0", "texts": "1", "tokens": "30"}
_SETTINGS = (
    *(("max_batch", size, ("8", "32")) for size in ("1", "4", "8", "16", "32")),
    *(("max_wait_ms", wait, ("1", "8")) for wait in ("2.0", "5.0")),
    *((name, "2", ("1", "8")) for name in ("workers", "threads")),
)


def _row(rows: pd.DataFrame, **cells: str) -> Any:
    """Return the first row with these settings. The last row of all is a long run with the defaults."""
    for column, cell in (_DEFAULTS | cells).items():
        rows = rows[rows[column] == cell]
    return next(rows.itertuples())


def served() -> str:
    """Return the table of the default settings."""
    rows = read_rows(ROOT / "results" / "runtime_server.csv")
    columns = ("clients", "requests", "requests/s", "p50, ms", "p99, ms", "server CPU, ms per request")
    measurements = [*(_row(rows, clients=clients) for clients in ("1", "8", "32")), *rows[-1:].itertuples()]
    return table(
        (*columns, "texts per batch"),
        (
            (
                *(row.clients, f"{int(row.requests):,}", row.requests_per_second),
                *(str(rounded(row.p50_ms, "0.1")), str(rounded(row.p99_ms, "0.1")), row.server_cpu_ms_per_request),
                str(rounded(row.texts_per_batch, "0.1")),
            )
            for row in measurements
        ),
    )


def settings() -> str:
    """Return the table that compares settings."""
    rows = read_rows(ROOT / "results" / "runtime_server.csv")

    def cells(name: str, value: str, clients: tuple[str, ...]) -> tuple[str, ...]:
        default = _DEFAULTS[name] == value
        measurements = [_row(rows, **{name: value}, clients=count) for count in clients]
        option = code(f"--{name.replace('_', '-')} {value.removesuffix('.0')}")
        return (
            type(option)(f"{option} (default)") if default else option,
            *("; ".join(clients), "; ".join(row.requests_per_second for row in measurements)),
            "; ".join(str(rounded(row.p99_ms, "0.1")) for row in measurements),
            "; ".join(row.server_cpu_ms_per_request for row in measurements),
            "; ".join(str(rounded(row.texts_per_batch, "0.1")) for row in measurements),
        )

    columns = ("setting", "clients", "requests/s", "p99, ms", "server CPU, ms per request", "texts per batch")
    return table(columns, (cells(*setting) for setting in _SETTINGS))
