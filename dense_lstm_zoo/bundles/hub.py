"""Bundles on the Hugging Face Hub, through ``huggingface_hub``, the extra ``hub``."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dense_lstm_zoo.bundles.checks import BundleError
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.data.download import DownloadError
from dense_lstm_zoo.data.sources import cache_folder
from dense_lstm_zoo.storage import bundle_names, files, lock
from dense_lstm_zoo_runtime import install

SCHEME = "hf://"
LARGEST = 1 << 31  # bytes of a bundle
# The files of a bundle; a repository may hold others, which are not fetched. run.toml names files of its owner's.
NAMES = bundle_names.ALL - {"run.toml"}
_LONGEST_NAME = 96  # characters that the hub accepts
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?:@([^\s@?#\\]+))?", re.ASCII)


def fetch(source: str) -> BundleFolder:
    """Return the bundle at ``hf://owner/name[@revision]``, downloaded if it is not in the cache.

    Raises:
        ValueError: Not such an address, a repository that holds no bundle or one of more than 2 GiB, or
            ``huggingface_hub`` is not installed.
        DownloadError: No such repository or revision, no network, or a connection that broke off.
    """
    match = _REPOSITORY.fullmatch(source.removeprefix(SCHEME))
    if match is None or ".." in source or len(match[1]) > _LONGEST_NAME or len(match[2] or "") > _LONGEST_NAME:
        raise ValueError(
            f"A preset on the hub is hf://owner/name or hf://owner/name@revision; received {source!r:.200}."
        )
    name, revision = match.groups()
    cache = cache_folder() / "presets" / "hub" / name.replace("/", "--")
    if revision and _COMMIT.fullmatch(revision) and (cache / revision).is_dir():
        return BundleFolder.open(cache / revision)
    api = _api()
    with _plain_errors(source, cache):
        info = api.repo_info(name, revision=revision, files_metadata=True)
    folder = cache / _commit(source, info.sha)
    if folder.is_dir():
        return BundleFolder.open(folder)
    sizes = _sizes(source, info.siblings or ())
    if "manifest.json" not in sizes:
        raise ValueError(f"{source} is not a bundle: it has no manifest.json.")
    if sum(sizes.values()) > LARGEST:
        raise ValueError(f"{source} has {sum(sizes.values()):,} bytes; at most {LARGEST:,} are accepted.")
    with lock.turn(folder):
        if folder.is_dir():  # another process has written it
            return BundleFolder.open(folder)
        with files.new_folder(folder) as work, _plain_errors(source, cache):
            for file in sorted(sizes):
                api.hf_hub_download(name, file, revision=info.sha, local_dir=work)
            shutil.rmtree(work / ".cache", ignore_errors=True)  # the client's own notes
            bundle = BundleFolder.open_download(work, source)
        return bundle.moved(folder)


def push(folder: Path, name: str, *, private: bool, token: str | None, revision: str | None) -> str:
    """Upload the files of a bundle's folder in one commit, and return its address.

    Args:
        folder: The bundle's folder.
        name: ``owner/name``, which ``check_name`` has checked. The repository is created if it does not exist.
        private: Whether a new repository is private.
        token: A token with write access. None takes that of ``hf auth login`` or ``$HF_TOKEN``.
        revision: The branch. None means the main one.

    Raises:
        ValueError: ``huggingface_hub`` is not installed.
        DownloadError: The hub refuses, or cannot be reached.
    """
    api = _api(token)
    with _plain_errors(f"{SCHEME}{name}"):
        api.create_repo(name, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(name, branch=revision, exist_ok=True)
        commit = api.upload_folder(
            repo_id=name,
            folder_path=folder,
            revision=revision,
            allow_patterns=sorted(NAMES),
            commit_message="Upload a dense-lstm-zoo bundle",
        )
    return str(commit.commit_url)


def check_name(name: str) -> None:
    """Raise ``ValueError`` for anything but ``owner/name``, and without ``huggingface_hub``."""
    match = _REPOSITORY.fullmatch(name) if isinstance(name, str) else None
    if match is None or match[2] or ".." in name or len(name) > _LONGEST_NAME:
        raise ValueError(f"The repository must be owner/name; received {name!r:.200}.")
    _api()


def _api(token: str | None = None) -> Any:
    try:
        import huggingface_hub
    except ModuleNotFoundError as error:
        raise ValueError(f"The hub needs huggingface_hub: {install.extra('hub')}.") from error
    return huggingface_hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token, library_name="dense-lstm-zoo")


def _sizes(source: str, files_there: Iterable[Any]) -> dict[str, int]:
    """Return the bytes of a repository's files that belong to a bundle."""
    sizes = {file.rfilename: file.size or 0 for file in files_there if file.rfilename in NAMES}
    for name, size in sizes.items():
        if type(size) is not int or size < 0:
            raise DownloadError(f"{source}: the hub says that {name} has {size!r:.40} bytes, which is not a size.")
    return sizes


def _commit(source: str, sha: object) -> str:
    if not isinstance(sha, str) or not _COMMIT.fullmatch(sha):
        raise DownloadError(f"{source}: the hub answered with the commit {sha!r:.80}, which is not one.")
    return sha


@contextlib.contextmanager
def _plain_errors(source: str, cache: Path | None = None) -> Iterator[None]:
    """Turn the hub's errors into one line."""
    from huggingface_hub import errors

    try:
        yield
    except (BundleError, DownloadError):
        raise
    except errors.HFValidationError as error:
        raise ValueError(f"{source}: {_line(error)}") from error
    except errors.RevisionNotFoundError as error:
        raise DownloadError(f"{source} does not exist on the hub: it has no such revision.") from error
    except errors.GatedRepoError as error:
        raise DownloadError(f"{source} is gated: ask for access on its page, then hf auth login.") from error
    except errors.RepositoryNotFoundError as error:
        raise DownloadError(
            f"{source} does not exist on the hub, or is private: hf auth login, or a token in $HF_TOKEN, opens it."
        ) from error
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        raise DownloadError(f"{source}: the hub answered {status}. {_line(error)}") from error
    except Exception as error:  # the errors of the client's HTTP library are not part of its interface
        if _is_of_client(error):
            raise DownloadError(
                f"{source}: the answer is not one of a hub ({type(error).__name__}: {_line(error)}). A page to log in "
                "to the network, or a wrong $HF_ENDPOINT, answers so."
            ) from error
        if isinstance(error, (ValueError, MemoryError, TypeError, KeyError, AttributeError)):
            raise
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        names = sorted(path.name for path in cache.iterdir()) if cache is not None and cache.is_dir() else []
        commits = [name for name in names if _COMMIT.fullmatch(name)]
        cached = f" On this machine is {source.partition('@')[0]}@{commits[0]}." if commits else ""
        raise DownloadError(f"{source} could not be reached, or broke off: {_line(error)}{cached}") from error


def _is_of_client(error: Exception) -> bool:
    """Return whether an error says that the client could not read an answer, and not that an argument is wrong."""
    trace = error.__traceback__
    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(trace)]
    return isinstance(error, ValueError | TypeError | KeyError | AttributeError) and any(
        module.startswith("huggingface_hub") for module in modules
    )


def _line(error: Exception) -> str:
    lines = str(error).strip().split("\n")
    return lines[0][:300] if lines[0] else type(error).__name__
