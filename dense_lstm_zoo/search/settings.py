"""A sweep's folder: its settings in ``sweep.json``, with a backup, and a lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.search.plan import ROW, Sweep
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import DamagedFileError, read_object
from dense_lstm_zoo.storage.lock import Lock

SETTINGS = "sweep.json"


def claim(run_dir: Path, sweep: Sweep, *, grows: bool = False) -> Lock:
    """Hold a sweep's folder against other sweeps, and write or compare what it is for.

    Args:
        run_dir: The folder.
        sweep: What is asked for.
        grows: Whether a sweep that is there may get more seeds, folds or rows. Its trials then have to be run again,
            which goes on from the runs that they have.

    Raises:
        BlockingIOError: Another process runs this sweep.
        ValueError: The folder holds another sweep; the message lists the differences; or its ``sweep.json`` is damaged.
    """
    own = {"lock", *(path.name for path in _settings(run_dir))}
    begun = run_dir.is_dir() and own.issuperset(path.name for path in run_dir.iterdir())
    if not begun and not any(path.is_file() for path in _settings(run_dir)):
        files.check_new_folder(run_dir, can_overwrite=False)
    run_dir.mkdir(parents=True, exist_ok=True)
    lock = Lock(run_dir / "lock", f"Another process runs the sweep in {run_dir}.")
    try:
        asked = sweep.to_json()
        found = read_settings(run_dir) if any(path.exists() for path in _settings(run_dir)) else asked
        data = asked["data_sha256"]
        is_same_data = found.get("data_sha256", data) == data  # a sweep of an earlier version does not tell
        found = {**found, "data_sha256": data}
        if found != asked and not (grows and _has_grown(found, asked)):
            raise ValueError(
                f"{run_dir} holds another sweep: {checks.difference(found, asked)}. Choose another run_dir (--run-dir)."
            )
        if not is_same_data:
            raise ValueError(
                f"{run_dir} holds a sweep on other texts: those of {sweep.corpus} have changed since it began. Choose "
                "another run_dir (--run-dir), or put the old files back."
            )
        for path in _settings(run_dir):
            if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != files.to_json(asked):
                files.write_json(path, asked)
    except BaseException:
        lock.release()
        raise
    return lock


def _has_grown(found: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Return whether a sweep differs from the one that is there by more seeds, folds or rows alone."""

    def more(name: str, these: Any, those: Any) -> bool:
        if name == "rows":
            return all(those.get(row) == value for row, value in these.items())
        if name == "space":
            return these.keys() == those.keys() == {ROW} and set(these[ROW]) <= set(those[ROW])
        if name == "only_folds":  # None is all of them
            return these is not None and (those is None or set(these) <= set(those))
        if name == "epochs":  # the most of any row
            return "rows" in found
        return name == "seeds" and set(these) <= set(those)

    names = found.keys() | asked.keys()
    return all(found.get(name) == asked.get(name) or more(name, found.get(name), asked.get(name)) for name in names)


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
        what = str(error) if isinstance(error, DamagedFileError) else f"{path} is missing."
        raise DamagedFileError(f"{what} Choose another run_dir (--run-dir) to start over.") from None


def _settings(run_dir: Path) -> tuple[Path, Path]:
    """Return the paths of a sweep's settings and of their backup."""
    return run_dir / SETTINGS, run_dir / f"{SETTINGS}.bak"
