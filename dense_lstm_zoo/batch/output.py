"""The output folder: written under another name, and published in one step once every row is accounted for."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from dense_lstm_zoo.batch import accounts
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.snapshots import Target

# Names that begin with an underscore are left out by Spark, Arrow and pandas when they read a folder.
MANIFEST = "_manifest.json"
RECORDS = "records.json"
KIND = "dense-lstm-zoo batch predictions"


@dataclass(frozen=True)
class Summary:
    """The result of a run: rows read, predicted and bad, and the names of the files in the output folder."""

    rows: int
    predicted: int
    bad: int
    shards: tuple[str, ...]
    bad_shards: tuple[str, ...]


def is_remote(path: str) -> bool:
    """Return whether a path is an address, such as gs://bucket/folder, rather than a folder of this machine."""
    return "://" in path


def check(output: str, overwrite: bool) -> Target | None:
    """Return the folder to write, or None at a remote address. Raise before any work if it cannot be written.

    Nothing is replaced but an earlier output.

    Raises:
        ValueError: An address that Beam would take for a pattern.
        FileExistsError: The folder is there and ``overwrite`` is False, or it holds anything but an earlier output.
        OSError: As for ``files.check_new_folder``.
    """
    if is_remote(output):
        if odd := re.search(r"[*?\[]", output):
            raise ValueError(f"--output {output} holds {odd[0]!r}, which makes it a pattern. Choose another name.")
        if _sizes(output):
            raise FileExistsError(
                f"{output} is not empty; choose another folder. --overwrite is for folders of this machine."
            )
        return None
    folder = files.resolved(output)
    target = files.check_new_folder(output, "any" if overwrite else None)  # before the look, which refuses later files
    if overwrite and folder.is_dir() and any(folder.iterdir()):
        _check_ours(folder)
    return target


def check_not_read(target: Target | None, sources: Sequence[str]) -> None:
    """Raise ``ValueError`` if one of the files that are read is in the folder that the output would replace."""
    if target is None:
        return
    for source in sources:
        if not is_remote(source) and Path(source).resolve().is_relative_to(target.real):
            raise ValueError(
                f"--output {target} holds {source}, one of the files that are read, and would replace it. Choose "
                "another folder."
            )


def _check_ours(folder: Path) -> None:
    """Raise ``FileExistsError`` if a folder holds a file that an earlier run did not write, or that has changed."""
    path = folder / MANIFEST
    try:
        if not path.is_file():
            raise FileNotFoundError(path)  # a pipe would wait for its writer
        manifest = json.loads(path.read_text(encoding="utf-8"))
        sizes = {entry["name"]: entry["bytes"] for entry in manifest["files"]} if manifest["kind"] == KIND else None
    except (OSError, ValueError, KeyError, TypeError):
        sizes = None
    if sizes is None:
        raise FileExistsError(
            f"{folder} is not the output of predict-batch: its {MANIFEST} does not say so. Choose another folder."
        )
    for entry in sorted(folder.iterdir()):
        if entry.name == MANIFEST and not entry.is_symlink():
            continue
        if entry.is_symlink() or not entry.is_file() or entry.stat().st_size != sizes.get(entry.name):
            raise FileExistsError(
                f"{entry} is not as predict-batch wrote it, so {folder} is not overwritten. Move it away first."
            )


@contextlib.contextmanager
def work_folder(output: str, target: Target | None) -> Iterator[str]:
    """Yield a folder to write to. Its content is the output if the block succeeds, and gone if it does not.

    On this machine the folder is renamed, and what a killed run left is removed by the next one. At a remote address
    ``publish`` moves the files, and a killed run leaves a folder whose name ends in ``.unfinished``.
    """
    if target is not None:
        with files.new_folder(target) as folder:
            yield str(folder)
        return
    work = f"{output.rstrip('/')}.{secrets.token_hex(4)}.unfinished"
    FileSystems.mkdirs(work)
    try:
        yield work
    except FileExistsError:  # it says that the finished work is there
        raise
    except BaseException:
        _delete_folder(work)
        raise
    _delete_folder(work)


def _delete_folder(folder: str) -> None:
    with contextlib.suppress(Exception):  # an error before it matters more
        FileSystems.delete([f"{folder}/"])  # with a slash, object stores take it for a folder


def write_records(records: Sequence[dict[str, Any]], folder: str) -> None:
    """Write what the workers finished into the work folder."""
    with FileSystems.create(
        FileSystems.join(folder, RECORDS), compression_type=CompressionTypes.UNCOMPRESSED
    ) as stream:
        stream.write(json.dumps(list(records)).encode())


def publish(work: str, output: str, suffix: str, source: dict[str, Any], most_bad: int | None = None) -> Summary:
    """Give the finished shards their names, remove the others, and write the manifest last.

    Args:
        work: The work folder, with the workers' records.
        output: Where the files belong in the end.
        suffix: The ending of a shard's name.
        source: The manifest's other fields. ``input`` names the files that were read.
        most_bad: The most bad rows. None for any number.

    Raises:
        ValueError: More bad rows, or no other ones.
        FileExistsError: Something has appeared at a remote address. The files are in the work folder.
        RuntimeError: The rows that were written are not those that were read, or a shard has another size than its
            worker said. Nothing is published then.
    """
    with FileSystems.open(FileSystems.join(work, RECORDS), compression_type=CompressionTypes.UNCOMPRESSED) as stream:
        totals = accounts.add_up(json.loads(stream.read()), len(source["input"]))
    if totals.bad and (not totals.predicted or (most_bad is not None and totals.bad > most_bad)):
        raise _too_many_bad(totals, most_bad, work)
    sizes = _sizes(work)
    for shard in totals.shards:
        if sizes.get(shard["name"]) != shard["bytes"]:
            raise RuntimeError(f"{shard['name']} is not as its worker wrote it; nothing is published. Run again.")
    is_taken = is_remote(output) and bool(_sizes(output))
    folder = output if is_remote(output) and not is_taken else work
    if is_remote(output):
        FileSystems.mkdirs(output)
    entries = []
    for kind, start, ending in (("part", "part", suffix), ("bad", "_bad", "jsonl")):
        shards = [shard for shard in totals.shards if shard["kind"] == kind]
        for number, shard in enumerate(shards):
            name = f"{start}-{number:05d}-of-{len(shards):05d}.{ending}"
            FileSystems.rename([FileSystems.join(work, shard["name"])], [FileSystems.join(folder, name)])
            entries.append({"name": name, **{key: shard[key] for key in ("kind", "rows", "bytes", "sha256")}})
    leftovers = {*_sizes(work), RECORDS} - {entry["name"] for entry in entries}
    _delete(work, sorted(leftovers))
    rows = {"rows": totals.rows, "predicted": totals.predicted, "bad": totals.bad}
    manifest = files.to_json({"kind": KIND, "format": 1, **source, **rows, "files": entries})
    with FileSystems.create(FileSystems.join(folder, MANIFEST)) as stream:
        stream.write(manifest.encode())
    if is_taken:
        raise FileExistsError(
            f"{output} has changed since this began, and is left as it is. What was written is in {work}."
        )
    names = {kind: tuple(entry["name"] for entry in entries if entry["kind"] == kind) for kind in ("part", "bad")}
    return Summary(totals.rows, totals.predicted, totals.bad, names["part"], names["bad"])


def _too_many_bad(totals: accounts.Accounts, most: int | None, work: str) -> ValueError:
    """Return the error for bad rows that are not allowed, with the first of them."""
    first = next(shard for shard in totals.shards if shard["kind"] == "bad")
    path = FileSystems.join(work, first["name"])
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        row = json.loads(file.readline())
    place = next(f"{key} {row[key]}" for key in ("line", "row") if key in row)
    counts = (
        f"{totals.bad:,} of {totals.rows:,} rows are bad" if totals.predicted else f"All {totals.rows:,} rows are bad"
    )
    allowed = f"; at most {most:,} are allowed (--max-bad)" if most is not None and totals.predicted else ""
    return ValueError(
        f"{counts}{allowed}, so nothing is published. The first: {row['file']}, {place}: {row['reason']}. Correct the "
        "input, or the options that say what is in it."
    )


def _sizes(folder: str) -> dict[str, int]:
    """Return the names and sizes of the files in a folder, empty if it is not there."""
    if not is_remote(folder):  # Beam would take brackets in its name for a pattern
        entries = Path(folder).iterdir() if Path(folder).is_dir() else ()
        return {entry.name: entry.stat().st_size for entry in entries}
    (result,) = FileSystems.match([FileSystems.join(folder, "*")])
    return {entry.path.rstrip("/").rpartition("/")[2]: entry.size_in_bytes for entry in result.metadata_list}


def _delete(folder: str, names: Sequence[str]) -> None:
    """Delete files of a folder."""
    if is_remote(folder):
        FileSystems.delete([FileSystems.join(folder, name) for name in names])
        return
    for name in names:
        (Path(folder) / name).unlink()
