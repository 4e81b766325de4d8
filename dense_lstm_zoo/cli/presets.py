"""Presets on the command line: listed, pushed to the hub, and accepted wherever a command takes a bundle."""

from __future__ import annotations

from typing import Any

from dense_lstm_zoo.bundles import hub, presets
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli import commands
from dense_lstm_zoo.display import notes

_BUNDLES = ("bundle", "bundles", "runs")  # the arguments that name bundles


def with_folders(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a command's arguments with the checked folder of each preset in place of its name or address.

    An existing file or folder wins over a preset of the same name; what is not nearly a preset's name is left to the
    commands, whose errors speak of folders.
    """
    found = dict(arguments)
    for name in _BUNDLES:
        if isinstance(given := arguments.get(name), list):
            found[name] = [_folder(one) for one in given]
        elif given is not None:
            found[name] = _folder(given)
    return found


def _folder(source: str) -> str | BundleFolder:
    return presets.open_folder(source) if presets.is_meant(source) else source


def list_presets(pattern: str, task: str | None) -> None:
    """Print the presets, one per line."""
    for preset in presets.list_presets(pattern, task):
        notes.show(preset)


def push(bundle: str | BundleFolder, name: str, private: bool, revision: str | None) -> None:
    """Upload a bundle and print its address."""
    hub.check_name(name)
    notes.show(commands.load(bundle).push_to_hub(name, private=private, revision=revision))
