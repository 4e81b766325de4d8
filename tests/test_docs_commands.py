"""The shell blocks of all pages, run as a reader types them, in the page's order and in one folder.

A block that is not run has a mark with the reason. The tutorial, whose output is compared too, has a test of its own.
"""

import itertools
import shlex

import pytest

from tests import pages
from tests.shell_harness import OUTPUTS, Reader

WITH_COMMANDS = [
    path
    for path in pages.GUIDES
    if path.stem != "tutorial" and any(block.mark != "not run" for block in pages.blocks(path, *pages.SHELL))
]


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=pages.name)
def test_no_command_of_a_page_writes_what_an_earlier_one_has_named(path):
    names = set()
    for block in pages.blocks(path, *pages.SHELL):
        for command in block.text.splitlines() if block.mark != "not run" else ():
            words = shlex.split(command, comments=True)
            targets = {word for option, word in itertools.pairwise(words) if option in OUTPUTS}
            assert not targets & names, command
            names |= {*words}


@pytest.mark.slow  # trainings, exports and servers
@pytest.mark.parametrize("path", WITH_COMMANDS, ids=pages.name)
def test_the_commands_of_a_page_run(path, tmp_path, monkeypatch):
    reader = Reader(tmp_path, monkeypatch)
    try:
        for block in pages.blocks(path, *pages.SHELL):
            if block.mark != "not run":
                for command in block.text.splitlines():
                    reader.type(command)
    finally:
        reader.shell.close()
