"""Parquet files and Excel workbooks, for training, scoring and prediction."""

import io
import json
import sys
import zipfile

import openpyxl
import pyarrow
import pytest
from pyarrow import parquet

import dense_lstm_zoo as zoo
from dense_lstm_zoo.corpora.own_files import read_split
from dense_lstm_zoo.data import records, typed_tables
from tests.cli_harness import output_of

ROWS = {"id": [1, 2, 3], "text": ["a fine film", "a dull film", "fine"], "label": ["up", "down", "up"]}


def write_parquet(path, columns=ROWS, metadata=None):
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata(metadata), path)
    return path


def texts_of(path, form, **options):
    with path.open("rb") as stream:
        source = records.read_records(stream, path.name, records.Options(form, **options))
        return source.names, [(record.text, record.cells, record.location) for record in source.records]


@pytest.fixture
def workbook(tmp_path):
    """Write a workbook with these sheets, each a name and its rows."""

    def write(sheets, name="mine.xlsx"):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        path = tmp_path / name
        book.save(path)
        return path

    return write


def test_parquet_files_are_the_corpus_that_a_table_is(tmp_path):
    train, test = write_parquet(tmp_path / "train.parquet"), write_parquet(tmp_path / "test.pq")
    corpus = zoo.load_corpus(train, test_file=test)
    assert corpus.name == "parquet"
    assert corpus.train == corpus.test == zoo.load_corpus(pyarrow.table(ROWS)).train
    assert zoo.load_corpus(tmp_path).train == corpus.train
    assert read_split("parquet", test) == (corpus.train, corpus.label_names)


def test_types_of_labels_and_names_of_classes_in_parquet(tmp_path):
    mixed = {"text": list("abcd"), "label": pyarrow.array([5.0, 5.0, 4.5, 1.0])}
    assert zoo.load_corpus(write_parquet(tmp_path / "a.parquet", mixed)).label_names == ("1.0", "4.5", "5.0")
    coded = {"text": list("abc"), "label": pyarrow.array(["x", "y", "x"]).dictionary_encode()}
    assert zoo.load_corpus(write_parquet(tmp_path / "b.parquet", coded)).train.labels == [0, 1, 0]
    features = {"label": {"names": ["down", "up"], "_type": "ClassLabel"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    classes = {"text": ["a", "b"], "label": [1, 0]}
    corpus = zoo.load_corpus(write_parquet(tmp_path / "c.parquet", classes, metadata))
    assert (corpus.label_names, corpus.train.labels) == (("down", "up"), [1, 0])
    with pytest.raises(ValueError, match=r"c\.parquet, row 2: 'label' has 2 classes; found class 7"):
        zoo.load_corpus(write_parquet(tmp_path / "c.parquet", {**classes, "label": [1, 7]}, metadata))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["a", None, "c"]}, r"1 row \(row 2\) with an empty text; fill them in, or leave them out with skip_"),
        ({"label": pyarrow.array([1.0, 2.0, float("nan")])}, r"1 row \(row 3\) with an empty label"),
        ({"text": [1, 2, 3]}, r"mine\.parquet, row 1: 'text' must be a string; found 1"),
        (
            {"label": [{"x": 1}] * 3},
            r"row 1: 'label' must be a string or a number, or a list of them; found \{'x': 1\}",
        ),
        ({"text": [], "label": [], "id": []}, "has a row of column names and no examples"),
    ],
)
def test_rows_of_parquet_that_cannot_be_read_are_named_by_their_number(tmp_path, columns, message):
    path = write_parquet(tmp_path / "mine.parquet", {**ROWS, **columns})
    with pytest.raises(ValueError, match=message):
        zoo.load_corpus(path)


def test_rows_of_tables_without_text_or_label_are_left_out_on_request(write, capsys, tmp_path):
    path = write("text,label\nfine,up\n,up\ndull,\n\nbad,down\n", "train.csv")
    corpus = zoo.load_corpus(path, skip_empty=True)
    assert (corpus.train.texts, corpus.label_names) == (["fine", "bad"], ("down", "up"))
    assert "train.csv: 2 rows (lines 3, 4) without text or label; left out." in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"1 row \(line 3\) with an empty text.*--skip-empty"):
        zoo.load_corpus(path)
    parquet_file = write_parquet(tmp_path / "a.parquet", {**ROWS, "text": ["a", " ", "c"]})
    with pytest.raises(ValueError, match=r"every row has the label 'up'"):
        zoo.load_corpus(parquet_file, skip_empty=True)
    nothing = write('{"text": "", "label": "x"}\n', "a.jsonl")
    with pytest.raises(ValueError, match="no row has both a text and a label"):
        zoo.load_corpus(nothing, skip_empty=True)
    with pytest.raises(ValueError, match="skip_empty must be true or false; received 'yes'"):
        zoo.load_corpus(path, skip_empty="yes")


def test_the_texts_of_parquet_are_predicted_with_the_cells_of_their_rows(tmp_path):
    path = write_parquet(tmp_path / "mine.parquet", {**ROWS, "text": ["a", None, "c"], "day": [None, b"x", b"\xff"]})
    names, rows = texts_of(path, "parquet")
    assert names == ["id", "text", "label", "day"]
    assert rows[0] == ("a", [1, "a", "up", None], "mine.parquet, row 1")
    assert [(text, cells[3]) for text, cells, _ in rows[1:]] == [("", "x"), ("c", "\\xff")]
    with pytest.raises(ValueError, match=r"row 1: 'id' must be a string; found 1"):
        texts_of(path, "parquet", text_column="id")
    with pytest.raises(ValueError, match=r"Unknown column for mine\.parquet: 'txt'\. Did you mean 'text'"):
        texts_of(path, "parquet", text_column="txt")


def test_columns_of_parquet_with_one_name_keep_their_places_as_in_csv(tmp_path, write):
    names, columns = ["n", "text", "n", "label"], [["1", "2"], ["fine", "dull"], ["3", "4"], ["up", "down"]]
    parquet.write_table(pyarrow.table(columns, names=names), tmp_path / "mine.parquet")
    table = write("n,text,n,label\n1,fine,3,up\n2,dull,4,down\n", "mine.csv")
    for path, form in ((tmp_path / "mine.parquet", "parquet"), (table, "csv")):
        cells_by_text = {text: cells for text, cells, _ in texts_of(path, form)[1]}
        assert cells_by_text == {"fine": ["1", "fine", "3", "up"], "dull": ["2", "dull", "4", "down"]}
        assert texts_of(path, form)[0] == names
    assert zoo.load_corpus(tmp_path / "mine.parquet").train == zoo.load_corpus(table).train
    with pytest.raises(ValueError, match="has 2 columns named 'n'; rename all but one"):
        texts_of(tmp_path / "mine.parquet", "parquet", text_column="n")


def test_a_damaged_file_and_one_that_is_something_else_are_named(tmp_path, write):
    whole = write_parquet(tmp_path / "whole.parquet").read_bytes()
    cases = {
        "cut.parquet": (whole[: len(whole) // 2], "is not a whole Parquet file"),
        "text.parquet": (b"text,label\n", "is not a Parquet file, whatever its name says: it is text"),
        "noise.parquet": (bytes(range(255, -1, -1)), "is not a Parquet file, .*: it is no table or text that is known"),
        "empty.parquet": (b"", "it is empty"),
        "mine.xlsx": (whole, r"is not an Excel workbook \(xlsx\), whatever its name says: it is a Parquet file"),
        "old.xlsx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "older Office program .* or an encrypted one"),
    }
    for name, (content, message) in cases.items():
        with pytest.raises(ValueError, match=message):
            zoo.load_corpus(write(content, name))
    with pytest.raises(ValueError, match=r"train\.csv is a Parquet file, whatever its name says: name it \.parquet"):
        zoo.load_corpus(write(whole, "train.csv"))


def test_a_library_that_is_missing_is_named_with_its_extra(tmp_path, write, monkeypatch):
    path = write_parquet(tmp_path / "mine.parquet")
    for library, extra, file in (
        ("pyarrow", "parquet", path),
        ("openpyxl", "excel", write(b"PK\x03\x04xl/", "mine.xlsx")),
    ):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ValueError, match=rf"is read with {library}, which is not installed: pip .*\[{extra}\]"):
            zoo.load_corpus(file)


def test_the_first_sheet_with_the_columns_is_read(workbook, capsys):
    data = [(), (" text ", "label", None), ("fine", 5, None), ("dull", 4.5), (), (2012, True, None)]
    corpus = zoo.load_corpus(workbook({"notes": [("made by",), ("me",)], "data": data, "empty": []}))
    assert corpus.train.texts == ["fine", "dull", "2012"]
    assert corpus.label_names == ("4.5", "5", "True")
    assert "mine.xlsx: the sheet 'data' is read, and not 'notes'." in capsys.readouterr().err
    # Rows are numbered as the program shows them.
    _, rows = texts_of(workbook({"data": data}, name="texts.xlsx"), "xlsx")
    assert [location for *_, location in rows] == ["texts.xlsx, row 3", "texts.xlsx, row 4", "texts.xlsx, row 6"]
    assert rows[2][1] == ["2012", "True"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("txt", "label"), ("a", "b")], r"'text'\. Did you mean 'txt'"),
        ([("text", "label", "text"), ("a", "b")], "has 2 columns named 'text'; rename all but one"),
        ([("text", "label"), ("a", "b", "c")], r"mine\.xlsx, row 2 has 3 cells; there are 2 column names"),
        ([("text", "label"), ("a", "b"), (None, "c")], r"1 row \(row 3\) with an empty text"),
        ([(None, " ")], "is empty; a table begins with a row of column names"),
    ],
)
def test_a_sheet_that_cannot_be_read_says_why(workbook, rows, message):
    with pytest.raises(ValueError, match=message):
        zoo.load_corpus(workbook({"one": rows}))


def test_a_workbook_that_is_damaged_or_has_no_end_is_named(workbook, monkeypatch):
    path = workbook({"data": [("text", "label"), ("fine", "up"), ("dull", "down")]})
    content = path.read_bytes()
    for damaged in (content[:200], content[: len(content) // 2], b"PK\x03\x04" + content[4:].replace(b"xl/", b"yl/")):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"mine\.xlsx is not a whole Excel workbook"):
            zoo.load_corpus(path)
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry).replace(b'<row r="3">', b'<row r="99999999999">'))
    with pytest.raises(ValueError, match="rows beyond row 1,048,576"):
        zoo.load_corpus(path)
    monkeypatch.setattr(typed_tables, "_LARGEST", 10_000)
    with pytest.raises(ValueError, match=r"mine\.xlsx unpacks to 0\.0 GB; accepted: up to 1 GB"):
        zoo.load_corpus(path)


def test_predictions_of_parquet_are_written_as_csv(run, tmp_path, capsys):
    path = write_parquet(tmp_path / "mine.parquet", {"id": [1, 2], "text": ["a fine film", "a dull film"]})
    status, out, err = output_of(capsys, "predict", run[1], "--file", path, "--output", tmp_path / "out.csv")
    assert (status, out, err) == (0, "", "")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0].startswith("id,text,label,probability")
    assert [line.partition(",")[0] for line in lines[1:]] == ["1", "2"]
    for options, message in (
        (["--encoding", "cp1252"], "--encoding is for files of text; the input is parquet"),
        (["--delimiter", ";"], "--delimiter is for csv and tsv; the input is parquet"),
    ):
        status, _, err = output_of(capsys, "predict", run[1], "--file", path, *options)
        assert (status, message in err) == (2, True)


@pytest.mark.parametrize("delimiter", ["~", ";", "\t", "\\t", "^"])
def test_a_delimiter_that_is_named_is_the_one(write, delimiter, capsys):
    tab = "\t" if delimiter == "\\t" else delimiter
    path = write(
        "note,text,label\n".replace(",", tab) + f'x{tab}"a{tab} b"{tab}up\ny{tab}"c, d"{tab}down\n', "mine.csv"
    )
    corpus = zoo.load_corpus(path, delimiter=delimiter)
    assert (corpus.train.texts, corpus.label_names) == ([f"a{tab} b", "c, d"], ("down", "up"))
    assert capsys.readouterr().err == ""
    stream = io.BufferedReader(io.BytesIO(path.read_bytes()))
    options = records.Options("csv", delimiter=tab)
    assert [record.text for record in records.read_records(stream, "mine.csv", options).records] == corpus.train.texts


def test_a_delimiter_that_is_none_is_refused_before_a_file_is_read(write, capsys, tmp_path):
    path = write("text,label\na,x\nb,y\n", "mine.csv")
    for wrong in ("", ";;", '"', "\n", 5):
        with pytest.raises(ValueError, match=r"delimiter \(--delimiter\) must be the one character"):
            zoo.load_corpus(path, delimiter=wrong)
    with pytest.raises(ValueError, match=r"delimiter \(--delimiter\) is for csv and tsv; .*a\.jsonl is jsonl"):
        zoo.load_corpus(write('{"text": "a", "label": 1}\n', "a.jsonl"), delimiter=";")
    arguments = ("--train-file", path, "--delimiter", ",,", "--run-dir", tmp_path / "run")
    status, _, err = output_of(capsys, "train", "bilstm", *arguments)
    assert (status, "received ',,'" in err) == (2, True)
    both = write("text;label|x\na;b|c\n", "both.csv")
    with pytest.raises(ValueError, match=r"'text'"):
        zoo.load_corpus(both, delimiter="|")
