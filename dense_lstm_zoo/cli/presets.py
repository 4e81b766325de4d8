"""Presets on the command line: listed, pushed to the hub, and accepted wherever a command takes a bundle."""

from __future__ import annotations

from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles import hub, presets
from dense_lstm_zoo.cli import listing
from dense_lstm_zoo.cli.arguments import BUNDLE, FORMAT
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, load_bundle
from dense_lstm_zoo.display import notes

_BUNDLES = ("bundle", "bundles", "runs", "run_a", "run_b")  # the arguments that name bundles


def with_folders(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a command's arguments with the checked folder of each preset in place of its name or address.

    An existing file or folder wins over a preset of the same name. A name that is not near a preset's is left to the
    commands, whose errors speak of folders.
    """
    folders: dict[str, Any] = {}
    for name in _BUNDLES:
        if isinstance(source := arguments.get(name), list):
            folders[name] = [_folder(entry) for entry in source]
        elif source is not None:
            folders[name] = _folder(source)
    return {**arguments, **folders}


def _folder(source: str) -> Source:
    return presets.open_folder(source) if presets.is_meant(source) else source


@command(
    "presets",
    "List the trained models.",
    argument("pattern", nargs="?", default="*", help="a name with wildcards (default: all)"),
    argument("--task", help=f"only this task's presets: {', '.join(tasks.names())}"),
    FORMAT,
    example=f"presets --task {tasks.names()[-1]}",
)
def list_presets(pattern: str, task: str | None, form: str) -> None:
    """Print the presets, one per line."""
    listing.show("presets", pattern, task, form)


@command(
    "push",
    "Upload a bundle to the Hugging Face Hub.",
    BUNDLE,
    argument("name", metavar="owner/name", help="the repository; it is created if it does not exist"),
    argument("--private", action="store_true", help="make a new repository private"),
    argument("--revision", metavar="BRANCH", help="the branch (default: the main one)"),
    example="push runs/trec my-name/trec --private",
)
def push(bundle: Source, name: str, private: bool, revision: str | None) -> None:
    """Upload a bundle and print its address."""
    hub.check_name(name)
    notes.show(load_bundle(bundle).push_to_hub(name, private=private, revision=revision))
