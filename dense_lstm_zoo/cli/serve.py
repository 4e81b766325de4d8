"""The command serve: a trained model over HTTP, by the light runtime's server."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from dense_lstm_zoo import machine
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli.command import Group, argument, command
from dense_lstm_zoo.cli.loading import Folder, Source, check_command, load_export, open_folder, read_config
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notes
from dense_lstm_zoo_runtime import serve
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER
from dense_lstm_zoo_runtime.serve.settings import Settings, check, options

if TYPE_CHECKING:
    from dense_lstm_zoo_runtime import Predictor


@command(
    "serve",
    "Answer over HTTP, with a page at / to try the model.",
    argument(
        "bundle",
        help="the folder that train or export wrote, a preset's name, hf://owner/name or https://...#sha256=...",
    ),
    Group("server", [argument(name, **keywords) for name, keywords in options({})]),
    description="Answer over HTTP as JSON, with a page at / to try the model in a browser, until Ctrl-C. A model "
    "without an ONNX export in its folder is exported first, to a temporary folder. "
    "python -m dense_lstm_zoo_runtime.serve serves exports where the zoo is not installed, and several at a time.",
    example="serve runs/trec --port 8080",
)
def serve_model(bundle: Source, **values: Any) -> None:
    """Serve a model until a signal ends the process."""
    serve.check_libraries()
    settings = Settings(**values)
    check(settings)
    folder = open_folder(bundle)
    check_command(folder, read_config(folder), None)
    predictor = load_export(folder, settings.threads) or _exported(folder, settings.threads)
    from dense_lstm_zoo_runtime.serve import models, process

    name = _name(folder)
    served = models.warm(models.serve(name, predictor))
    if settings.port:  # the log says which port a 0 has become
        notes.show(f"Open http://{_host(settings.host)}:{settings.port}/ to try {name}. Ctrl-C ends it.")
    process.run({name: served}, settings)


def _exported(folder: Folder, threads: int) -> Predictor:
    """Return a predictor over a new export. Its files are gone afterwards: what it needs of them stays in memory.

    Raises:
        SystemExit: It cannot be exported, as a line on standard error says, or a signal ends the process.
    """
    print(
        escape_controls(
            f"{folder} has no ONNX export to use: exporting it to a temporary folder. To do it once and for all: "
            f"dense-lstm-zoo export {shlex.quote(str(folder))} {shlex.quote(str(Path(folder) / SUBFOLDER))} "
            "--format onnx"
        ),
        file=sys.stderr,
    )
    with _signals_as_exits(), tempfile.TemporaryDirectory(prefix="dense_lstm_zoo_") as work:
        target = Path(work) / SUBFOLDER
        # In a process of its own, or TensorFlow's memory would stay with the server for all its life.
        words = ["export", str(folder), str(target), "--format", "onnx"]
        export = subprocess.run(
            [sys.executable, "-P", "-m", "dense_lstm_zoo", *words],
            stdout=subprocess.DEVNULL,
            env={**os.environ, **machine.import_environment()},
        )
        if export.returncode:
            raise SystemExit(export.returncode)
        from dense_lstm_zoo_runtime import Predictor

        return Predictor(target, threads=threads)


@contextlib.contextmanager
def _signals_as_exits() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise ``SystemExit`` in the block, which then ends its process and removes its files.

    Signals that are handled or ignored already, such as SIGHUP under ``nohup``, are left alone.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    is_main = threading.current_thread() is threading.main_thread()  # others cannot set handlers
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if is_main and signal.getsignal(n) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _name(folder: Folder) -> str:
    """Return the model's name in addresses: that of its folder, or of the bundle whose export it is."""
    path = (folder.path if isinstance(folder, BundleFolder) else folder).absolute()
    name = path.parent.name if path.name == SUBFOLDER else path.name
    return re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip("._-") or "model"


def _host(host: str) -> str:
    """Return the host of a browser on this machine."""
    return {"0.0.0.0": "localhost", "::": "localhost"}.get(host, f"[{host}]" if ":" in host else host)
