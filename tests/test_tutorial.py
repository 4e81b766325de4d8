"""The tutorial, step by step, as a reader types it: what it prints is what the page shows, numbers aside."""

import re

import pytest

from tests import pages
from tests.shell_harness import Shell

PAGE = pages.ROOT / "docs" / "tutorial.md"
NUMBER = re.compile(r"\d[\d,.]*")


def pattern(line: str) -> str:
    """The line as a regular expression, with any numbers and anything for an ellipsis."""
    parts = (r"\d[\d,.]*".join(map(re.escape, NUMBER.split(part))) for part in line.split("..."))
    return re.sub(r"(\\ )+", r"\\s+", ".*".join(parts))


@pytest.mark.slow
def test_every_step_of_the_tutorial_prints_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell, output = Shell(tmp_path), ""
    try:
        for token in pages.tokens(PAGE):
            language = token.info.strip() if token.type == "fence" else ""
            if language == "python":
                exec(compile(token.content, str(PAGE), "exec"), {})
            elif language in pages.SHELL:
                output = "".join(shell.type(command)[0] for command in token.content.splitlines())
            elif language == "text":
                for line in token.content.splitlines():
                    assert re.search(rf"^{pattern(line)}\s*$", output, re.M), f"{line}\n\nis not in\n\n{output}"
    finally:
        shell.close()


def test_a_line_is_the_same_with_other_numbers_and_not_with_other_words():
    line = "    2/30    0.6875    56.0 %    60.1 % *     22 s   14 min"
    assert re.fullmatch(pattern(line), line.replace("56.0", "7.25").replace("14 min", "3 min"))
    assert not re.fullmatch(pattern(line), line.replace("min", "h"))
    assert re.fullmatch(
        pattern("error: a.csv ... (--encoding cp1252)."), "error: a.csv is not ... (--encoding cp1252)."
    )
