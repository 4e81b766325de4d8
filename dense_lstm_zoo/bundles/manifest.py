"""The manifest of a bundle: which files belong to it, and their sha256."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path

from dense_lstm_zoo.bundles.checks import BundleError, named
from dense_lstm_zoo.storage import bundle_names, files
from dense_lstm_zoo.storage.bundle_names import FOR_PEOPLE
from dense_lstm_zoo_runtime import claims
from dense_lstm_zoo_runtime.paths import user_path

FORMAT = 2


def check(path: str | Path) -> Path:
    """Check a bundle's folder against its manifest and return the path.

    Raises:
        FileNotFoundError: No such folder.
        BundleError: Not a bundle; a file that is missing, changed or a link; a manifest that this package did not
            write.
    """
    path = user_path(path)
    listed(path)
    return path


def missing(path: str | Path) -> FileNotFoundError:
    """Return the error of a bundle's folder that is not there."""
    reason = unfinished(Path(path)) or " A bundle is the folder that train(run_dir=...) makes."
    return FileNotFoundError(f"{path} is not a folder.{reason}")


def unfinished(path: Path) -> str:
    """Return a sentence about the training run that will write a bundle's folder, if one is beside it, else ""."""
    with contextlib.suppress(OSError, ValueError):  # no name of a folder
        state = files.beside(path, ".unfinished")
        if state.is_dir():
            return f" Its training has not ended: {state} holds the run, and the same command resumes it."
    return ""


def check_download(folder: Path, source: str) -> None:
    """Check a downloaded folder that is not yet in its place, as ``check`` does. Errors name its source."""
    try:
        check(folder)
    except BundleError as error:
        raise BundleError(str(error).replace(str(folder), source)) from error


def listed(path: Path) -> set[str]:
    """Check as ``check`` does, and return the names of the files in the manifest."""
    if not path.is_dir():
        raise missing(path)
    manifest_path = path / "manifest.json"
    if (path / "model.onnx").is_file():
        raise BundleError(
            f"{path} is an ONNX export, not a bundle: python -m dense_lstm_zoo_runtime {path} predicts with it."
        )
    if not manifest_path.is_file():
        reason = unfinished(path) or " Did its training end?"
        raise BundleError(f"{path} is not a bundle: it has no manifest.json.{reason}")
    if manifest_path.is_symlink():
        raise BundleError(f"{manifest_path} is a link; a bundle must hold its own files.")
    with named(manifest_path):
        text = manifest_path.read_text(encoding="utf-8")
        body = text.rstrip("\n").rpartition("\n")[0]
        manifest = claims.parse_json(body)
        version, sums = manifest["format"], dict(manifest["sha256"])
    if type(version) is not int or version != FORMAT:
        raise BundleError(f"{manifest_path} has format {version!r}; this version reads only format {FORMAT}.")
    if text != _sealed(body):
        raise BundleError(f"{manifest_path} has been changed or damaged since it was written.")
    for name in {**dict.fromkeys(bundle_names.REQUIRED), **sums}:
        if name in FOR_PEOPLE:  # older versions listed these in the manifest
            continue
        file = path / name
        with named(file, "cannot be read"):
            if Path(name).name != name or file.is_symlink():
                raise BundleError(f"{file} is a link or lies elsewhere; a bundle must hold its own files.")
            if name not in sums or not file.is_file():
                raise BundleError(f"{path} is incomplete: {name} is missing{' in its manifest' * file.is_file()}.")
            received = files.sha256(file)
        if received != sums[name]:
            raise BundleError(
                f"{file} has been changed or damaged since it was written: its sha256 is {received[:12]}..., "
                f"the manifest says {str(sums[name])[:12]}..."
            )
    return set(sums)


def manifest(found: Iterable[Path]) -> str:
    """Return the sha256 of a folder's files as JSON, followed by a line with the checksum of that JSON."""
    sums = {file.name: files.sha256(file) for file in found}
    body = files.to_json({"format": FORMAT, "sha256": sums}).rstrip("\n")
    return _sealed(body)


def _sealed(body: str) -> str:
    return f"{body}\nsha256 of the above: {hashlib.sha256(body.encode()).hexdigest()}\n"
