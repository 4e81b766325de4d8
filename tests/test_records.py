"""Texts to predict, read from streams."""

import gzip
import io
import json
import os

import pytest

from dense_lstm_zoo.data import records


def records_of(content, form, name="input", **options):
    if isinstance(content, str):
        content = content.encode()
    source = records.read_records(io.BufferedReader(io.BytesIO(content)), name, records.Options(form, **options))
    return source.names, [(record.text, record.cells) for record in source.records]


def fails(match, content, form, **options):
    with pytest.raises(ValueError, match=match):
        records_of(content, form, **options)


def test_a_table_has_a_text_in_each_row_and_keeps_the_other_cells():
    content = 'id,text,label\n1,"good, really",up\n2,"two\nlines",down\n'
    names, parsed_records = records_of(content, "csv")
    assert names == ["id", "text", "label"]
    assert parsed_records == [
        ("good, really", ["1", "good, really", "up"]),
        ("two\nlines", ["2", "two\nlines", "down"]),
    ]
    _, parsed_records = records_of('id\ttext\n1\t"a "b\n', "tsv")
    assert parsed_records == [('"a "b', ["1", '"a "b'])]


def test_the_text_column_is_taken_by_name():
    assert records_of("question,text\nWhy ?,no\n", "csv", text_column="question")[1] == [("Why ?", ["Why ?", "no"])]
    fails(
        "Unknown column for input: 'txet'. Did you mean 'text'.*--text-column", "text\na\n", "csv", text_column="txet"
    )
    fails("has 2 columns named 'text'", "text,text\na,b\n", "csv")


def test_spaces_around_column_names_tell_columns_apart_or_are_none():
    assert records_of("text, id\na,1\n", "csv")[0] == ["text", "id"]
    assert records_of(" text,id, id\na,1,2\n", "csv")[0] == ["text", "id", "id"]  # else there were no text
    assert records_of("text,id, id\na,1,2\n", "csv")[0] == ["text", "id", " id"]
    assert records_of("text, words\na,b\n", "csv", text_column=" words")[1] == [("b", ["a", "b"])]


def test_blank_lines_are_no_rows_and_an_empty_text_is_one():
    content = "id,text\n1,a\n\n2,\n   \n3,c\n\n"
    assert [text for text, _ in records_of(content, "csv")[1]] == ["a", "", "c"]
    assert records_of("text\na\n\nb\n", "csv")[1] == [("a", ["a"]), ("b", ["b"])]
    assert [text for text, _ in records_of('\n{"text": ""}\n\n{"text": "b"}\n', "jsonl")[1]] == ["", "b"]


def test_a_row_is_never_read_shifted():
    fails("input, line 3 has 3 cells; there are 2 column names.*quotation marks", "id,text\n1,a\n2,b,c\n", "csv")
    fails("input, line 4 has 1 cell; there are 2 column names", "id,text\n1,a\n\n2\n", "csv")
    assert records_of("text,note\na,x\nb\n", "csv")[1] == [
        ("a", ["a", "x"]),
        ("b", ["b", ""]),
    ]  # as spreadsheets write it
    fails("line 3 has 3 cells", "id\ttext\n1\ta\n2\tb\tc\n", "tsv")


def test_an_open_quotation_mark_is_named_by_its_row():
    fails("line 3 opens a quotation mark that is never closed", 'text,id\na,1\n"b,2\nc,3\n', "csv")
    fails("line 2 is broken", 'text,id\n"a"b,1\n', "csv")


def test_a_cell_of_a_million_characters_is_read():
    text = "word " * 200_000
    assert records_of(f'text,id\n"{text}",1\n', "csv")[1][0][0] == text


def test_empty_tables_are_refused_and_a_header_alone_is_a_table_without_rows():
    fails("is empty", "", "csv")
    fails("line 1 is blank", "\ntext\n", "csv")
    assert records_of("text,label\n", "csv") == (["text", "label"], [])


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_the_rows_of_a_table_end_at_any_line_end(end):
    assert records_of(end.join(["id,text", "1,a", '2,"b\rc"', ""]), "csv")[1] == [
        ("a", ["1", "a"]),
        ("b\rc", ["2", "b\rc"]),
    ]
    assert records_of(end.join(["id\ttext", "1\ta", ""]), "tsv")[1] == [("a", ["1", "a"])]


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "text"])
def test_a_byte_order_mark_is_no_part_of_anything(form):
    content = {"jsonl": '{"text": "a"}\n', "text": "a\n"}.get(form, "text\na\n")
    assert [text for text, _ in records_of(content.encode("utf-8-sig"), form)[1]] == ["a"]


def test_other_encodings_are_read_when_named_and_told_when_not(capsys):
    content = "text,id\ncafé,1\n"
    assert records_of(content.encode("latin-1"), "csv", encoding="latin-1")[1] == [("café", ["café", "1"])]
    assert records_of(content.encode("utf-16"), "csv", encoding="utf-16")[1] == [("café", ["café", "1"])]
    fails(r"input, line 2 is not utf-8: byte 0xe9.*--encoding cp1252", content.encode("latin-1"), "csv")
    assert records_of(content.encode("utf-16"), "csv")[1] == [("café", ["café", "1"])]  # by its mark
    assert records_of("café\n".encode("utf-16"), "text")[1][0][0] == "café"
    fails("encoding must be a text encoding", content, "csv", encoding="utf-9")
    assert records_of("café\n".encode("latin-1"), "text", encoding="latin-1")[1][0][0] == "café"
    assert not capsys.readouterr().err
    lines = "fine\ncafé\ncafé\n".encode("latin-1")
    assert records_of(lines, "text")[1][1][0] == "caf\ufffd"  # any bytes are a text
    assert capsys.readouterr().err.splitlines() == [
        "input, line 2 is not utf-8: byte 0xe9 (invalid continuation byte). What cannot be read becomes U+FFFD; "
        "--encoding names another encoding."
    ]
    fails(r"input, line 2 is not utf-8: byte 0xe9.*--encoding cp1252", lines, "text", is_strict=True)


def test_packed_files_are_unpacked_and_damaged_ones_told():
    packed = gzip.compress(b"text\na\n")
    assert records_of(packed, "csv")[1] == [("a", ["a"])]
    fails("truncated or damaged gzip", packed[:-6], "csv")


def test_json_lines_keep_their_keys():
    rows = [{"id": 1, "text": "a", "tags": ["x"]}, {"text": "b"}]
    _, parsed_records = records_of("".join(json.dumps(row) + "\n" for row in rows), "jsonl")
    assert parsed_records == [("a", [1, "a", ["x"]]), ("b", ["b"])]


def test_a_taggers_json_may_hold_tokens():
    content = '{"tokens": ["a", "b"], "text": "c"}\n{"text": "c d"}\n'
    assert [text for text, _ in records_of(content, "jsonl", tokens=True)[1]] == [["a", "b"], "c d"]
    fails("'tokens' must be a string or a list of strings", '{"tokens": [1]}\n', "jsonl", tokens=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[" * 100_000, "line 2 is JSON that is nested too deeply"),
        ('{"text": "a", "n": ' + "9" * 5000 + "}", "line 2 holds a number of more than 4,300 digits"),
        ('{"text": "a"', "line 2 is not valid JSON"),
        ('["text"]', "line 2 is not a JSON object with text"),
        ('{"txt": "a"}', "Unknown key for input, line 2: 'text'. Did you mean 'txt'.*--text-column"),
        ('{"text": "a", "id": 1, "id": 2}', "line 2 holds the key 'id' twice in an object"),
        ('{"text": "a", "id": 1e400}', "line 2 holds a number that is too large, 1e400; write it as a string"),
        ('{"text": null}', "line 2: 'text' must be a string; found None"),
        ('{"text": 5}', "line 2: 'text' must be a string; found 5"),
    ],
)
def test_a_json_line_that_cannot_be_read_is_named(line, message):
    fails(message, '{"text": "a"}\n' + line + "\n", "jsonl")


def test_lines_that_carriage_returns_alone_end_are_refused():
    fails(r"input has carriage returns alone at the ends of its lines.*tr '\\r' '\\n'", "one\rtwo\r", "text")
    assert records_of("one\rtwo\r\nthree\r", "text")[1] == [("one\rtwo", ["one\rtwo"]), ("three", ["three"])]


def test_sentences_in_columns_are_tokens_with_their_lines():
    source = records.read_records(
        io.BufferedReader(io.BytesIO(b"Dogs X\nbark Y\n\nGo Z\n")), "in.conll", records.Options("columns", tokens=True)
    )
    parsed_records = list(source.records)
    assert [record.text for record in parsed_records] == [["Dogs", "bark"], ["Go"]]
    assert parsed_records[0].lines == [("Dogs X", "Dogs"), ("bark Y", "bark")]
    fails("input, line 2: found 1 column", "a X\nb\n", "columns")
    assert records_of("New York\tX\n", "columns", separator="\t")[1] == [(["New York"], [])]


def test_semicolons_and_column_names_that_are_repeated_are_read_as_in_training(capsys):
    assert records_of("sep=;\nid;text\n1;a\nid;text\n2;b\n", "csv")[1] == [("a", ["1", "a"]), ("b", ["2", "b"])]
    assert "1 row (line 4) repeats the column names" in capsys.readouterr().err
    assert [text for text, _ in records_of("text\na\ntext\n", "csv")[1]] == ["a", "text"]  # a single column: a text
    fails("line 4 has 3 cells", 'id,text\n1,"a\nb"\n2,c,d\n', "csv")
    fails("input is a PDF file", b"%PDF-1.7\n", "text")


@pytest.mark.parametrize("form", ["text", "csv", "jsonl"])
@pytest.mark.parametrize("change", ["cut", "longer", "written again"])
def test_a_file_that_changes_while_it_is_read_is_an_error_at_its_end(form, change, tmp_path):
    path = tmp_path / "input"
    lines = {"text": ["a"], "csv": ["text", "a"], "jsonl": ['{"text": "a"}']}[form]
    content = "\n".join([lines[0], *[lines[-1]] * 99_999]) + "\n"  # more than one read takes
    path.write_text(content)
    with path.open("rb") as stream:
        source = records.read_records(stream, "input", records.Options(form))
        assert next(source.records).text == "a"
        if change == "cut":
            os.truncate(path, 70_000)  # between two lines
        elif change == "longer":
            path.write_text(content + content)
        else:
            os.utime(path, ns=(0, 0))
        with pytest.raises(ValueError, match="input changed while it was read"):
            list(source.records)


def test_a_file_that_is_removed_or_whose_name_another_takes_is_read_whole(tmp_path):
    path = tmp_path / "input"
    path.write_text("a\nb\n")
    with path.open("rb") as stream:
        source = records.read_records(stream, "input", records.Options("text"))
        path.unlink()
        path.write_text("another\n")
        assert [record.text for record in source.records] == ["a", "b"]


@pytest.mark.parametrize(("form", "content"), [("csv", "text\ncaf\u00e9\n"), ("jsonl", '{"text": "caf\u00e9"}\n')])
def test_a_file_in_utf_16_is_read_to_its_end_and_stays_open(tmp_path, form, content):
    (tmp_path / "a").write_bytes(content.encode("utf-16"))
    with (tmp_path / "a").open("rb") as stream:
        records_in = list(records.read_records(stream, "a", records.Options(form)).records)
        assert not stream.closed
    assert [record.text for record in records_in] == ["caf\u00e9"]
    fails("is UTF-16 without its mark.*--encoding utf-16-le", content.encode("utf-16-le"), form)


def test_lines_in_utf_16_without_its_mark_are_told_from_lines_with_a_stray_null():
    texts = (
        "скучно\nочень скучно\n",
        "no\nvery dull\n",
        "\nочень скучно\n",
        "很好\n" * 4,
        "Његов филм\n",
        "УЛИЦА ЛЕНИНА, ДОМ 5\n",
    )
    cut = "a good film\nbad \ud83d film\n"  # in the middle of an emoji
    quoted = "a “b” – “c” – “d”\n画画 ok画, so\n"
    for text in (*texts, cut, quoted):
        fails("is UTF-16 without its mark.*--encoding utf-16-le", text.encode("utf-16-le", "surrogatepass"), "text")
    for text in ("\0", "ok\0\nfine film\n"):
        assert "".join(f"{row}\n" for row, _ in records_of(text, "text")[1]) == text.rstrip() + "\n"


def test_a_text_in_a_pipe_is_answered_before_the_next_one_comes():
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as stream, os.fdopen(theirs, "wb", buffering=0) as pipe:
        for text in (b"\x02hello\x02\n", b"bye\n"):
            pipe.write(text)
            if text.startswith(b"\x02"):
                source = records.read_records(stream, "input", records.Options("text")).records
            assert next(iter(source)).text == text.decode().strip("\n")


def test_empty_cells_after_the_last_column_are_no_cells_of_a_record():
    assert records_of("text\na,\nb,,\n", "csv")[1] == [("a", ["a"]), ("b", ["b"])]
