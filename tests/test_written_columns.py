"""Answers for files in columns: what they are written as, by a stand-in for a tagger."""

import io
import json

from dense_lstm_zoo.cli import writing
from dense_lstm_zoo.data import records
from dense_lstm_zoo_runtime import TaggedSentence


def tagged(sentences):
    """Tags that count the tokens of a sentence."""
    for tokens in sentences:
        yield TaggedSentence(tokens, [f"T{i}" for i in range(len(tokens))], [0.5] * len(tokens))


SHAPES = writing.Shapes([], lambda found: [" ".join(found.tags)], lambda _: [], vars, shared=frozenset({"tokens"}))


def written(content, form, **options):
    stream = io.BufferedReader(io.BytesIO(content.encode()))
    source = records.read(stream, "in.conll", records.Options("columns", tokens=True, **options))
    target = io.StringIO()
    writing.write(target, writing.Options(form), source, tagged, SHAPES)
    return target.getvalue()


def test_lines_without_a_token_get_no_answer():
    content = "-DOCSTART- -X- O\n\nDogs X Y\nbark X Y\n\n-DOCSTART- -X- O\n\nGo X Y\n"
    assert written(content, "text") == "T0 T1\nT0\n"
    assert [json.loads(line)["tokens"] for line in written(content, "jsonl").splitlines()] == [["Dogs", "bark"], ["Go"]]
    expected = content.replace("X Y\nbark X Y", "X Y T0\nbark X Y T1").replace("Go X Y", "Go X Y T0")
    assert written(content, "columns") == expected + "\n"
