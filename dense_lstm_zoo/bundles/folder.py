"""A bundle's folder, compared with its manifest: the names of its files, and their sha256."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo.bundles import checks
from dense_lstm_zoo.bundles.checks import BundleError, named
from dense_lstm_zoo.storage import bundle_names, files
from dense_lstm_zoo.storage.bundle_names import MANIFEST
from dense_lstm_zoo_runtime import claims
from dense_lstm_zoo_runtime.paths import user_path

FORMAT = 2


@dataclass(frozen=True)
class BundleFolder(os.PathLike[str]):
    """A folder whose files are those of its manifest. They are hashed by ``open`` and by nothing after it.

    Attributes:
        path: The folder.
        names: The names of the files in the manifest.
        sha256: The checksum of the manifest, and so of all its files.
    """

    path: Path
    names: frozenset[str]
    sha256: str

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> BundleFolder:
        """Compare the files of a folder with its manifest. A ``BundleFolder`` is returned as it is.

        Raises:
            FileNotFoundError: No such folder.
            BundleError: Not a bundle, a file that is missing, changed or a link, or a manifest that this package did
                not write.
        """
        if isinstance(path, BundleFolder):
            return path
        path = user_path(path)
        sums, sha256 = _read_manifest(path)
        for name in {**dict.fromkeys(bundle_names.REQUIRED), **sums}:
            file = path / name
            with named(file, "cannot be read"):
                if Path(name).name != name or file.is_symlink():
                    raise BundleError(f"{file} is a link or lies elsewhere; a bundle must hold its own files.")
                if name not in sums or not file.is_file():
                    raise BundleError(f"{path} is incomplete: {name} is missing{' in its manifest' * file.is_file()}.")
                sha256_of_file = files.sha256(file)
            if sha256_of_file != sums[name]:
                raise BundleError(
                    f"{file} has been changed or damaged since it was written: its sha256 is {sha256_of_file[:12]}..., "
                    f"the manifest says {str(sums[name])[:12]}..."
                )
        return cls(path, frozenset(sums), sha256)

    @classmethod
    def open_download(cls, path: Path, source: str) -> BundleFolder:
        """Open a downloaded folder that is not yet in its place. Errors name its source."""
        try:
            return cls.open(path)
        except BundleError as error:
            raise BundleError(str(error).replace(str(path), source)) from error

    def moved(self, path: Path) -> BundleFolder:
        """Return the same folder at its new path."""
        return dataclasses.replace(self, path=path)

    def read_config(self) -> dict[str, Any]:
        """Return the content of ``config.json``, after checking that it is complete."""
        return checks.read_config(self.path / "config.json")

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)


def missing(path: str | Path) -> FileNotFoundError:
    """Return the error of a bundle's folder that is not there."""
    preset = "; from_preset loads a preset by its name" * (Path(path).name == str(path))
    reason = unfinished(Path(path)) or f" A bundle is the folder that train(run_dir=...) makes{preset}."
    return FileNotFoundError(f"{path} is not a folder.{reason}")


def unfinished(path: Path) -> str:
    """Return a sentence about the training run that will write a bundle's folder, if one is beside it, else ""."""
    with contextlib.suppress(OSError, ValueError):  # no name of a folder
        state = files.beside(path, ".unfinished")
        if state.is_dir():
            return f" Its training has not ended: {state} holds the run, and the same command resumes it."
    return ""


def _bundles_below(path: Path) -> str:
    """Return a sentence that names the bundles in the folder of a sweep or of several runs, or "" if it has none."""
    places = sorted(file.parent for depth in ("*", "trials/*/runs/*") for file in path.glob(f"{depth}/{MANIFEST}"))
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return f" The folder holds bundles: {', '.join(map(str, places[:3]))}{more}." if places else ""


def _read_manifest(path: Path) -> tuple[dict[str, Any], str]:
    """Return the checksums of a folder's files by name, and that of its manifest."""
    if not path.is_dir():
        raise missing(path)
    manifest_path = path / MANIFEST
    if (path / "model.onnx").is_file():
        raise BundleError(
            f"{path} is an ONNX export, not a bundle: python -m dense_lstm_zoo_runtime {path} predicts with it."
        )
    if not manifest_path.is_file():
        reason = unfinished(path) or _bundles_below(path) or " Did its training end?"
        raise BundleError(f"{path} is not a bundle: it has no {MANIFEST}.{reason}")
    if manifest_path.is_symlink():
        raise BundleError(f"{manifest_path} is a link; a bundle must hold its own files.")
    with named(manifest_path):
        content = manifest_path.read_bytes()
        text = content.decode("utf-8")
        body = text.rstrip("\n").rpartition("\n")[0]
        manifest = claims.parse_json(body)
        version, sums = manifest["format"], dict(manifest["sha256"])
    if type(version) is not int or version != FORMAT:
        raise BundleError(
            f"{manifest_path} has format {version!r:.40}{_writer(path)}; this version reads only format {FORMAT}. Load "
            "the bundle with the version that wrote it, or train the model again."
        )
    if text != _sealed(body):
        raise BundleError(f"{manifest_path} has been changed or damaged since it was written.")
    return sums, hashlib.sha256(content).hexdigest()


def _writer(path: Path) -> str:
    """Return which version wrote a bundle that cannot be read, for an error, or "" if its config does not say."""
    with contextlib.suppress(Exception):  # of a format that is not known
        version = claims.parse_json((path / "config.json").read_text(encoding="utf-8"))["versions"]["dense-lstm-zoo"]
        return f", written by dense-lstm-zoo {version!s:.20}"
    return ""


def write_manifest(folder: Path, names: Iterable[str] | None = None) -> None:
    """Write a folder's manifest: the sha256 of its files as JSON, and a line with the checksum of that JSON.

    Args:
        folder: The folder.
        names: The files to list. None lists all files of the folder.
    """
    paths = sorted(folder.iterdir()) if names is None else [folder / name for name in names]
    sums = {file.name: files.sha256(file) for file in paths if file.name != MANIFEST}
    body = files.to_json({"format": FORMAT, "sha256": sums}).rstrip("\n")
    (folder / MANIFEST).write_text(_sealed(body), encoding="utf-8")


def _sealed(body: str) -> str:
    return f"{body}\nsha256 of the above: {hashlib.sha256(body.encode()).hexdigest()}\n"
