"""The shell blocks of all pages, run as a reader types them, in the page's order and in one folder.

A block that is not run has a mark with the reason. The tutorial, whose output is compared too, has a test of its own.
"""

import itertools
import shlex
from collections import Counter

import pytest

from tests import pages
from tests.shell_harness import OUTPUTS, Reader

WITH_COMMANDS = [
    path
    for path in pages.GUIDES
    if path.stem != "tutorial" and any(block.mark != "not run" for block in pages.blocks(path, *pages.SHELL))
]


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=pages.name)
def test_no_two_commands_of_a_page_write_the_same(path):
    blocks = [block for block in pages.blocks(path, *pages.SHELL) if block.mark != "not run"]
    commands = [line for block in blocks for line in block.text.splitlines()]
    words = [shlex.split(command, comments=True) for command in commands]
    targets = [word for line in words for option, word in itertools.pairwise(line) if option in OUTPUTS]
    assert not [target for target, number in Counter(targets).items() if number > 1]


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
