"""Answers for files in columns: what they are written as, by a stand-in for a tagger."""

import dataclasses
import io
import json
import re

import pytest

from dense_lstm_zoo.cli import writing
from dense_lstm_zoo.data import records
from dense_lstm_zoo_runtime import TaggedSentence
from tests.tagged_files import CONLLU


def tagged(sentences):
    """Tags that count the tokens of a sentence."""
    for tokens in sentences:
        yield TaggedSentence(tokens, [f"T{i}" for i in range(len(tokens))], [0.5] * len(tokens))


SHAPES = writing.Shapes(
    [], lambda sentence: [" ".join(sentence.tags)], lambda _: [], vars, shared=frozenset({"tokens"})
)


def write_tagged(content, form, separator=None, *, conllu=False, tags=(), read_as="columns"):
    stream = io.BufferedReader(io.BytesIO(content.encode()))
    source = records.read_records(stream, "in.conll", records.Options(read_as, separator=separator, tokens=True))
    target, shapes = io.StringIO(), dataclasses.replace(SHAPES, tags=tags)
    writing.write(target, writing.Options(form, separator=separator, conllu=conllu), source, tagged, shapes)
    return target.getvalue()


def test_lines_without_a_token_get_no_answer():
    content = "-DOCSTART- -X- O\n\nDogs X Y\nbark X Y\n\n-DOCSTART- -X- O\n\nGo X Y\n"
    assert write_tagged(content, "text") == "T0 T1\nT0\n"
    assert [json.loads(line)["tokens"] for line in write_tagged(content, "jsonl").splitlines()] == [
        ["Dogs", "bark"],
        ["Go"],
    ]
    expected = content.replace("X Y\nbark X Y", "X Y T0\nbark X Y T1").replace("Go X Y", "Go X Y T0")
    assert write_tagged(content, "columns") == expected + "\n"


@pytest.mark.parametrize(
    ("content", "separator", "expected"),
    [
        ("New York\tX\nis\tY\n", "\t", "New York\tX\tT0\nis\tY\tT1\n\n"),
        ("New York\n", "\t", "New York\tT0\n\n"),
        ("a|\n", "|", "a||T0\n\n"),
        ("a X \n", " ", "a X  T0\n\n"),
        ("a X \n", None, "a X T0\n\n"),
        ("1\ta" + "\t_" * 8, "|", "1\ta" + "\t_" * 8 + "\tT0\n\n"),  # CoNLL-U always has tabs
    ],
)
def test_tags_are_separated_as_the_columns_are(content, separator, expected):
    assert write_tagged(content, "columns", separator) == expected


@pytest.mark.parametrize(
    ("content", "tag", "separator", "conllu", "is_held"),
    [
        ("Dogs X\n", "proper noun", None, False, False),
        ("Dogs\tX\n", "proper noun", None, False, False),
        ("Dogs\tX\n", "proper noun", "\t", False, True),
        ("Dogs X\n", "proper noun", None, True, True),
        ("1\tDogs" + "\t_" * 8 + "\n", "proper noun", None, False, True),
        ("Dogs X\n", "a\tb", None, True, False),
        ("Dogs\tX\n", "a\nb", "\t", False, False),
        ("Dogs|X\n", "a|b", "|", False, False),
        ('{"tokens": ["Dogs"]}\n', "proper noun", None, False, False),
        ('{"tokens": ["Dogs"]}\n', "proper noun", "|", False, False),
        ('{"tokens": ["Dogs"]}\n', "proper noun", "\t", False, True),
        ('{"tokens": ["Dogs"]}\n', "a\tb", "\t", False, False),
        ('{"tokens": ["Dogs"]}\n', "a|b", "|", False, True),
    ],
)
def test_a_tag_that_would_break_the_columns_is_refused(monkeypatch, content, tag, separator, conllu, is_held):
    monkeypatch.setattr(
        "tests.test_written_columns.tagged",
        lambda rows: (TaggedSentence(tokens, [tag] * len(tokens), [0.5] * len(tokens)) for tokens in rows),
    )
    options = {"conllu": conllu, "read_as": "jsonl" if content.startswith("{") else "columns"}
    if is_held:
        assert f"\t{tag}" in write_tagged(content, "columns", separator, **options)
        return
    with pytest.raises(ValueError, match=f"cannot hold the tag {re.escape(repr(tag))}. Use --format jsonl"):
        write_tagged(content, "columns", separator, **options)


def test_conllu_keeps_its_lines_but_for_the_tags():
    expected = [
        ["1", "Dogs", "dog", "T0", "NNS"],
        ["2-3", "don't", "_", "_", "_"],
        ["2", "do", "do", "T1", "VBP"],
    ]
    text = write_tagged(CONLLU + "\n# the end\n", "columns", conllu=True, tags=["NOUN", "X"])
    rows = [line.split("\t") for line in text.splitlines()]
    assert [row[:5] for row in rows[3:6]] == expected
    comments = [line for line in CONLLU.splitlines() if line[:1] == "#"]
    assert [line for line in text.splitlines() if line[:1] == "#"] == comments
    assert {len(row) for row in rows if row[0][:1].isdigit()} == {10}
    penn = [line.split("\t") for line in write_tagged(CONLLU, "columns", conllu=True, tags=["NN"]).splitlines()]
    assert penn[3][3:6] == ["NOUN", "T0", "Number=Plur"]


def test_other_texts_become_conllu():
    expected = "# text = New York is\n1\tNew York\t_\tT0" + "\t_" * 6 + "\n2\tis\t_\tT1" + "\t_" * 6 + "\n\n"
    content = "-DOCSTART-\tO\n\nNew York\tX\nis\tX\n"
    assert write_tagged(content, "columns", "\t", conllu=True) == expected
    lines = '{"tokens": ["New York", "is"]}\n{"tokens": []}\n'
    assert write_tagged(lines, "columns", conllu=True, read_as="jsonl") == expected
    with pytest.raises(ValueError, match=r"line 1: CoNLL-U cannot hold the token 'a\\tb'. Use --format jsonl"):
        write_tagged('{"tokens": ["a\\tb"]}\n', "columns", conllu=True, read_as="jsonl")
