"""Cells and texts that must be harmless to those who open them."""

import csv
import io
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.cli import writing
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.cells import csv_line, escape_controls, escape_json, first_names, mark_formula, unmark_formula
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus

ATTACKS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", " =1+1", "\uff1d1+1"]


@pytest.mark.parametrize("cell", ATTACKS)
def test_a_formula_gets_an_apostrophe(cell):
    assert mark_formula(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["", "fine", "a=b", "-1", "+1.5", "-2.5e-07", "'quoted'", "1-1", "-inf"])
def test_numbers_and_texts_stay_as_they_are(cell):
    assert mark_formula(cell) == cell


@given(st.text(st.sampled_from("'=+-@\t\r\n a1\uff1d")) | st.text())
def test_every_cell_comes_back(cell):
    assert unmark_formula(mark_formula(cell)) == cell


@given(st.lists(st.text(st.sampled_from('",;\r\n\t a')) | st.text(), min_size=1))
def test_every_row_of_csv_comes_back_whatever_line_ends_are_in_it(cells):
    assume(cells != [""])  # a blank row
    (row,) = csv.reader(io.StringIO(csv_line(cells), newline=""), strict=True)
    assert row == cells


def test_control_characters_are_spelled_out():
    assert escape_controls("a\x1b[31m\nb\tc\x9b\x7f\u2028\u202e\ud800") == (
        "a\\x1b[31m\\nb\\tc\\x9b\\x7f\\u2028\\u202e\\ud800"
    )
    assert escape_controls("a\nb\x1b", keep="\n") == "a\nb\\x1b"
    assert escape_controls("café \u65e5\u672c \U0001f600 \\n") == "café \u65e5\u672c \U0001f600 \\n"


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_escaped_json_reads_as_the_same_and_can_be_written(text):
    line = escape_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(line.encode("utf-8")) == text


class Found:
    def __init__(self, text, label):
        self.text, self.label = text, label


SHAPES = writing.Shapes(
    columns=["label", "probability"],
    line=lambda prediction: [prediction.label, "0.5", prediction.text],
    row=lambda prediction: [prediction.label, "0.5"],
    fields=lambda prediction: {"label": prediction.label, "probability": 0.5},
)


def output(content, form, *, input_form="csv", label="=up", **options):
    """Return the written form of an input whose every text gets the same label."""
    source = records.read_records(io.BufferedReader(io.BytesIO(content.encode())), "in", records.Options(input_form))
    target = io.StringIO()

    def predict(texts):
        return (Found(text, label) for text in texts)

    writing.write(target, writing.Options(form, **options), source, predict, SHAPES)
    return target.getvalue()


def test_text_csv_and_json_of_a_hostile_table():
    content = '=id,text\n=1+1,"@x\x1b\ny"\n'
    assert output(content, "text") == "=up\t0.5\t@x\\x1b\\ny\n"
    assert output(content, "text", raw=True) == "=up\t0.5\t@x\x1b\ny\n"
    assert output(content, "csv") == "'=id,text,label,probability\n'=1+1,\"'@x\x1b\ny\",'=up,0.5\n"
    assert output(content, "csv", raw=True) == '=id,text,label,probability\n=1+1,"@x\x1b\ny",=up,0.5\n'
    assert json.loads(output(content, "jsonl")) == {
        "=id": "=1+1",
        "text": "@x\x1b\ny",
        "label": "=up",
        "probability": 0.5,
    }


def test_what_was_written_reads_as_what_was_read():
    content = "=id,text\n=1+1,@x\n'=q,'fine'\n"
    once = output(content, "csv")
    source = records.read_records(io.BufferedReader(io.BytesIO(once.encode())), "in", records.Options("csv"))
    assert [record.cells[:2] for record in source.records] == [["=1+1", "@x"], ["=q", "'fine'"]]
    assert source.names[:2] == ["=id", "text"]


def test_columns_of_the_input_keep_their_names_and_the_new_ones_get_others():
    rows = list(csv.reader(io.StringIO(output("text,label\na,gold\n", "csv"))))
    assert rows == [["text", "label", "predicted_label", "predicted_probability"], ["a", "gold", "'=up", "0.5"]]
    twice = output("text,label,predicted_label\na,b,c\n", "csv", prefix="new_")
    assert twice.startswith("text,label,predicted_label,new_label,new_probability\n")
    with pytest.raises(ValueError, match=r"line 2 already has 'predicted_label'.*--prefix"):
        output("text,label,predicted_label\na,b,c\n", "csv")
    line = json.loads(output('{"text": "a", "label": "gold"}\n', "jsonl", input_form="jsonl"))
    assert line == {"text": "a", "label": "gold", "predicted_label": "=up", "predicted_probability": 0.5}
    assert output("text,label\n", "csv") == "text,label,predicted_label,predicted_probability\n"
    assert output("note,text,note\nx,a,y\n", "csv") == "note,text,note,label,probability\nx,a,y,'=up,0.5\n"
    with pytest.raises(ValueError, match="two columns are named 'note'"):
        output("note,text,note\nx,a,y\n", "jsonl")


def test_a_key_that_only_later_lines_have_is_never_overwritten():
    content = '{"text": "a"}\n{"text": "b", "label": "gold"}\n'
    with pytest.raises(ValueError, match=r"in, line 2 already has 'label'"):
        output(content, "jsonl", input_form="jsonl")
    with pytest.raises(ValueError, match=r"in, line 2 has the key 'label', which the first line lacks"):
        output(content, "csv", input_form="jsonl")
    lines = output(content, "jsonl", input_form="jsonl", prefix="p_").splitlines()
    assert [json.loads(line).get("label") for line in lines] == [None, "gold"]


def test_values_that_are_not_strings_become_cells():
    content = '{"text": "a", "n": -5, "yes": true, "none": null, "list": ["=x"]}\n{"text": "b"}\n'
    rows = list(csv.reader(io.StringIO(output(content, "csv", input_form="jsonl", label="up"))))
    assert rows[1:] == [["a", "-5", "true", "", '["=x"]', "up", "0.5"], ["b", "", "", "", "", "up", "0.5"]]


def test_half_a_surrogate_pair_stops_no_output():
    content = '{"text": "a\\ud800"}\n'
    output(content, "csv", input_form="jsonl").encode()
    output(content, "text", input_form="jsonl").encode()
    assert json.loads(output(content, "jsonl", input_form="jsonl").encode())["text"] == "a\ud800"


def test_a_taggers_tokens_may_be_there_already_and_its_tags_are_never_overwritten():
    shapes = writing.Shapes(
        [], lambda _: [], lambda _: [], lambda _: {"tokens": ["a"], "tags": ["X"]}, shared=frozenset({"tokens"})
    )

    def write(content, **options):
        stream = io.BufferedReader(io.BytesIO(content.encode()))
        source = records.read_records(stream, "in", records.Options("jsonl", tokens=True))
        target = io.StringIO()
        writing.write(target, writing.Options("jsonl", **options), source, lambda texts: map(str, texts), shapes)
        return [json.loads(line) for line in target.getvalue().splitlines()]

    assert write('{"id": 1, "tokens": ["a"]}\n{"text": "a"}\n') == [
        {"id": 1, "tokens": ["a"], "tags": ["X"]},
        {"text": "a", "tokens": ["a"], "tags": ["X"]},
    ]
    assert write('{"tokens": ["a"], "tags": ["gold"]}\n') == [
        {"tokens": ["a"], "tags": ["gold"], "predicted_tags": ["X"]}
    ]
    with pytest.raises(ValueError, match=r"in, line 2 already has 'tags'.*--prefix"):
        write('{"tokens": ["a"]}\n{"tokens": ["a"], "tags": ["X"]}\n')
    assert set(write('{"tokens": ["a"]}\n', prefix="new_")[0]) == {"tokens", "new_tokens", "new_tags"}


def test_a_token_that_columns_cannot_hold_is_refused():
    class Tagged:
        tokens, tags = ["New York"], ["X"]

    source = records.from_texts(["New York"])
    shapes = writing.Shapes([], lambda _: [], lambda _: [], lambda _: {})
    with pytest.raises(ValueError, match=r"text 1: columns cannot hold the token 'New York'"):
        writing.write(io.StringIO(), writing.Options("columns"), source, lambda texts: [Tagged for _ in texts], shapes)


def test_a_corpus_of_odd_names_is_described_on_one_line():
    names = ("c" * 300, "two\nlines")
    tagged = TaggedSplit([["a"], ["b"]], [[name] for name in names])
    for corpus in (
        Corpus("odd", names, Split(["a", "b"], [0, 1]), None, None),
        TaggingCorpus("odd", tagged, None, None),
    ):
        assert str(corpus).endswith(f": {'c' * 40}..., two\\nlines"), str(corpus)
    assert first_names(["NOUN"] * 9) == "NOUN, " * 8 + "..."
