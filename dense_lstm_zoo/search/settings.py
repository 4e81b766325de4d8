"""A sweep's folder: its settings in ``sweep.json``, with a backup, and a lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.search.plan import ROW, Sweep
from dense_lstm_zoo.storage import files, temporary
from dense_lstm_zoo.storage.json_files import DamagedFileError, read_object
from dense_lstm_zoo.storage.lock import Lock

SETTINGS = "sweep.json"
TEXTS = "texts"  # a folder for those of tables in memory


def claim(run_dir: Path, sweep: Sweep, *, grows: bool = False) -> Lock:
    """Hold a sweep's folder against other sweeps, and write or compare what it is for.

    Args:
        run_dir: The folder.
        sweep: What is asked for.
        grows: Whether a sweep that is there may get more seeds, folds or rows. Its trials then have to be run again,
            which goes on from the runs that they have.

    Raises:
        BlockingIOError: Another process runs this sweep.
        ValueError: The folder holds another sweep, whose differences the message lists, or its ``sweep.json`` is
            damaged.
    """
    own = {"lock", TEXTS, *(path.name for path in _settings(run_dir))}
    has_only_settings = run_dir.is_dir() and all(
        path.name in own or temporary.is_ours(path.name) for path in run_dir.iterdir()
    )
    if not has_only_settings and not is_claimed(run_dir):
        files.check_new_folder(run_dir, can_overwrite=False)
    run_dir.mkdir(parents=True, exist_ok=True)
    lock = Lock(run_dir / "lock", f"Another process runs the sweep in {run_dir}.")
    try:
        request = sweep.to_json()
        settings = read_settings(run_dir) if any(path.exists() for path in _settings(run_dir)) else request
        data = request["data_sha256"]
        is_same_data = settings.get("data_sha256", data) == data  # a sweep of an earlier version does not tell
        if settings.get("data_sha256") == data:  # wherever the same texts lie, and however their path is written
            places = {name: path for name, path in request["data"].items() if name.endswith("_file")}
            settings = {**settings, "data": {**settings["data"], **places}}
        settings = {**settings, "data_sha256": data}
        if settings != request and not (grows and _has_grown(settings, request)):
            raise ValueError(
                f"{run_dir} holds another sweep: {checks.difference(settings, request)}. Choose another run_dir "
                "(--run-dir)."
            )
        if not is_same_data:
            raise ValueError(
                f"{run_dir} holds a sweep on other texts: those of {sweep.corpus} have changed since it began. Choose "
                "another run_dir (--run-dir), or put the old files back."
            )
        for path in _settings(run_dir):
            if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != files.to_json(request):
                files.write_json(path, request)
    except BaseException:
        lock.release()
        raise
    return lock


def is_claimed(run_dir: Path) -> bool:
    """Return whether a folder is that of a sweep which has begun."""
    return any(path.is_file() for path in _settings(run_dir))


def _has_grown(settings: dict[str, Any], request: dict[str, Any]) -> bool:
    """Return whether a sweep differs from the one that is there by more seeds, folds or rows alone."""

    def more(name: str, before: Any, now: Any) -> bool:
        if name == "rows":
            return all(now.get(row) == value for row, value in before.items())
        if name == "space":
            return before.keys() == now.keys() == {ROW} and set(before[ROW]) <= set(now[ROW])
        if name == "only_folds":  # None is all of them
            return before is not None and (now is None or set(before) <= set(now))
        if name == "epochs":  # the most of any row
            return "rows" in settings
        return name == "seeds" and set(before) <= set(now)

    names = settings.keys() | request.keys()
    return all(
        settings.get(name) == request.get(name) or more(name, settings.get(name), request.get(name)) for name in names
    )


def read_settings(run_dir: Path) -> dict[str, Any]:
    """Return the content of ``sweep.json``, or of its backup if it is damaged or missing.

    Raises:
        DamagedFileError: Both files are damaged, or one is and the other is missing.
        FileNotFoundError: Both files are missing.
    """
    path, backup = _settings(run_dir)
    try:
        return read_object(path, Sweep.FIELDS)
    except (FileNotFoundError, DamagedFileError) as error:
        try:
            return read_object(backup, Sweep.FIELDS)
        except FileNotFoundError:
            if isinstance(error, FileNotFoundError):
                raise
        except DamagedFileError:
            pass
        reason = str(error) if isinstance(error, DamagedFileError) else f"{path} is missing."
        raise DamagedFileError(f"{reason} Choose another run_dir (--run-dir) to start over.") from None


def _settings(run_dir: Path) -> tuple[Path, Path]:
    """Return the paths of a sweep's settings and of their backup."""
    return run_dir / SETTINGS, run_dir / f"{SETTINGS}.bak"
