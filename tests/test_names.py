"""Names and docstrings: a name says what it holds, a docstring opens with a verb or a noun."""

import ast
import doctest
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("dense_lstm_zoo", "dense_lstm_zoo_runtime", "benchmarks", "deploy", "presets", "tests", "tuning")
# They say that something happened, and not what is there.
PARTICIPLES = {"asked", "counted", "done", "found", "given", "gone", "got", "held", "kept", "known", "made", "meant"}
PARTICIPLES |= {"said", "seen", "told", "wanted"}
OPENINGS = re.compile(r"(How|What|Which|Whether|Who|Why)\b")
SEMICOLONS = 3  # in 1,000 words; formulas have some


class Source(NamedTuple):
    """A file: its names with their lines, those of the examples in its docstrings, and the docstrings."""

    path: Path
    names: list[tuple[str, int]]
    docstrings: list[str]


@functools.cache
def sources(folder: str) -> list[Source]:
    """The files of a folder, each of which is parsed once for all tests."""
    rows = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = list(docstrings(tree))
        examples = [part for text in texts if ">>>" in text for part in doctest.DocTestParser().get_examples(text)]
        parts = [tree, *(ast.parse(example.source) for example in examples)]
        rows.append(Source(path.relative_to(ROOT), [name for part in parts for name in names(part)], texts))
    return rows


def names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield a module's own names with their lines: variables, attributes, parameters, functions and classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_name_is_a_participle(folder):
    lines = [
        f"{source.path}:{line}: {name}"
        for source in sources(folder)
        for name, line in source.names
        if name.strip("_") in PARTICIPLES
    ]
    assert not lines


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_docstring_opens_with_a_verb_or_a_noun(folder):
    openings = [(str(source.path), text[:60]) for source in sources(folder) for text in source.docstrings]
    assert not [opening for opening in openings if OPENINGS.match(opening[1])]


def test_docstrings_have_few_semicolons():
    texts = [text for folder in FOLDERS for source in sources(folder) for text in source.docstrings]
    count, words = sum(text.count(";") for text in texts), sum(len(text.split()) for text in texts)
    assert count < SEMICOLONS * words / 1000
