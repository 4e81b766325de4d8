"""Files through a batch job: every row in one shard or among the bad ones, with its other columns, in every format."""

import csv
import gzip
import io
import json
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dense_lstm_zoo.batch import input_files, splitting, streams, tables
from dense_lstm_zoo.batch.layout import BrokenInputError, Layout
from dense_lstm_zoo.batch.row_reader import read_rows
from dense_lstm_zoo.data.delimited import Dialect
from tests.batch_harness import TEXTS, left_in, lines_of, predict
from tests.bundle_harness import bundle
from tests.slow_cases import slow_pairs_but


@pytest.fixture
def model(batch_exports):
    return batch_exports["bilstm"]


def test_json_lines_keep_their_keys_and_bad_lines_are_told_with_file_and_reason(model, write, tmp_path, monkeypatch):
    monkeypatch.setattr(input_files, "_FIRST_LINES", 3)
    good = [{"id": number, "text": text, "more": {"a": [1]}} for number, text in enumerate(TEXTS)]
    bad = [b'{"id": 1}', b'{"text": null}', b"not json", b"[1]", b'{"text": "caf\xe9"}']
    bad += [b'{"text": "nul\0"}', b'{"text": "' + b"x" * 160 + b'"}']
    lines = [json.dumps(row).encode() for row in good]
    first = write(b"\n".join([*lines[:3], b"", *bad]), "a.jsonl")
    second = write(b"\n".join([*lines[3:], b'{"text": "a", "label": 1}']), "b.jsonl")
    result = predict(model[0], tmp_path / "*.jsonl", tmp_path / "out", max_chars=150)
    assert (result.rows, result.predicted, result.bad) == (len(good) + 8, len(good), 8)
    rows = sorted(lines_of(tmp_path / "out"), key=lambda row: row["id"])
    for row, source, answer in zip(rows, good, model[1].predict(TEXTS), strict=True):
        assert {key: row[key] for key in source} == source
        assert list(row)[-3:] == ["label", "probability", "probabilities"]
        assert row["label"] == answer.label
        assert row["probabilities"] == pytest.approx(answer.probabilities, abs=1e-5)
    bad_rows = sorted(lines_of(tmp_path / "out", "_bad"), key=lambda row: (row["file"], row["line"]))
    assert [(row["file"], row["line"]) for row in bad_rows] == [
        *((str(first), line) for line in range(5, 12)),
        (str(second), 4),
    ]
    reasons = [row["reason"] for row in bad_rows]
    expected = [
        "no key 'text'",
        "None",
        "not valid JSON",
        "not a JSON object",
        "0xe9",
        "null",
        "160 char",
        "already there",
    ]
    assert all(words in reason for words, reason in zip(expected, reasons, strict=True)), reasons


def test_json_that_python_reads_but_cannot_write_is_a_bad_row(model, write, tmp_path):
    source = write('{"text": "a", "more": ' + "[" * 800 + "]" * 800 + '}\n{"text": "b"}\n', "a.jsonl")
    result = predict(model[0], source, tmp_path / "out")
    assert (result.predicted, result.bad) == (1, 1)
    (bad_row,) = lines_of(tmp_path / "out", "_bad")
    assert bad_row["line"] == 1
    assert "nested too deeply" in bad_row["reason"]


def test_json_that_would_lose_a_value_is_a_bad_row(model, write, tmp_path):
    source = write('{"text": "a", "id": 1, "id": 2}\n{"text": "b", "id": 1e400}\n{"text": "c"}\n', "a.jsonl")
    result = predict(model[0], source, tmp_path / "out")
    assert (result.predicted, result.bad) == (1, 2)
    assert [row["reason"] for row in lines_of(tmp_path / "out", "_bad")] == [
        "the line holds the key 'id' twice in an object; rename or remove one of the two",
        "the line holds a number that is too large, 1e400; write it as a string",
    ]


def test_half_a_character_is_a_bad_row_and_a_whole_one_in_two_escapes_is_none(model, write, tmp_path):
    halves = [r'"a\ud83d"', r'"a", "more": {"\uDE00": 1}', r'"a", "more": [["\ude00\ud83d"]]']
    valid = [r'"\ud83d\ude00"', r'"a", "more": "\uD83D\uDE00"', r'"\\ud83d"']
    source = write("".join(f'{{"text": {line}}}\n' for line in [*halves, *valid]), "a.jsonl")
    result = predict(model[0], source, tmp_path / "out")
    assert (result.predicted, result.bad) == (3, 3)
    rows = lines_of(tmp_path / "out")
    assert [row["text"] for row in rows] == ["\U0001f600", "a", r"\ud83d"]
    assert rows[1]["more"] == "\U0001f600"
    bad_rows = lines_of(tmp_path / "out", "_bad")
    assert [row["line"] for row in bad_rows] == [1, 2, 3]
    assert {row["reason"] for row in bad_rows} == {"an escape of half a character (a lone surrogate)"}


def test_json_lines_hold_no_number_that_json_lacks(model, write, tmp_path):
    write('{"text": "a", "x": Infinity, "more": [{"y": NaN}, -Infinity, 1.5]}\n', "a.jsonl")
    pd.DataFrame({"text": ["a", "b"], "x": [1.5, None]}).to_parquet(tmp_path / "a.parquet")
    for name, rows_of in (("a.jsonl", [(None, [{"y": None}, None, 1.5])]), ("a.parquet", [(1.5, None), (None, None)])):
        predict(model[0], tmp_path / name, tmp_path / "out", form="jsonl", overwrite=True)
        text = (tmp_path / "out" / "part-00000-of-00001.jsonl").read_text()
        rows = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
        assert [(row["x"], row.get("more")) for row in rows] == rows_of


def test_folders_may_have_names_that_look_like_patterns(model, tmp_path, monkeypatch):
    folder = tmp_path / "in[1]"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "good"}\n{"text": 1}\n')
    monkeypatch.chdir(folder)
    runners = ("DirectRunner", "apache_beam.runners.portability.fn_api_runner.FnApiRunner")
    for runner, output in zip(runners, ("out[1]", "a*/b?"), strict=True):
        for overwrite in (False, True):
            result = predict(model[0], "*.jsonl", output, runner=runner, overwrite=overwrite)
            assert (result.predicted, result.bad) == (1, 1)
            assert left_in(folder / output) == [*result.bad_shards, "_manifest.json", *result.shards]
    manifest = json.loads((folder / "a*" / "b?" / "_manifest.json").read_text())
    assert manifest["input"] == [str(folder / "a.jsonl")]  # workers elsewhere have another current folder
    assert left_in(folder) == ["a*", "a.jsonl", "out[1]"]


def test_the_name_of_a_file_that_is_there_is_no_pattern(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a[1].csv", "a1.csv", "b1.csv"):
        (tmp_path / name).write_text("text\ngood\n")
    assert input_files.matching_files(["a[1].csv"]) == ["a[1].csv"]
    assert input_files.matching_files([f"{tmp_path}/a[1].csv", "b[1].csv"]) == [f"{tmp_path}/a[1].csv", "b1.csv"]


def test_a_csv_row_keeps_its_cells_whatever_is_in_them(model, write, tmp_path):
    cells = [["1", "good\nfilm, really", "=1+1"], ["2", 'a "bad" one', ""], ["3", "", "é"]]
    content = 'id,text,note\r\n1,"good\nfilm, really",\'=1+1\r\n\r\n2,"a ""bad"" one"\r\n3,,é\r\n'
    content += '4,"x"y,z\r\n5\r\n6,a,b,c\r\n'
    source = write(content.encode("utf-8-sig"), "a.csv")
    result = predict(model[0], source, tmp_path / "out", max_bad=3)
    assert (result.predicted, result.bad) == (3, 3)
    (shard,) = (tmp_path / "out").glob("part-*.csv")
    table = list(csv.reader(io.StringIO(shard.read_text(encoding="utf-8"))))
    assert table[0] == ["id", "text", "note", "label", "probability", *(f"p_{name}" for name in model[1].labels)]
    assert [row[:3] for row in table[1:]] == [["1", "good\nfilm, really", "'=1+1"], *cells[1:]]
    for row, answer in zip(table[1:], model[1].predict([row[1] for row in cells]), strict=True):
        assert row[3] == answer.label
        assert float(row[4]) == pytest.approx(answer.probability, abs=1e-5)
    assert [(row["line"], row["reason"].split(";")[0][:7]) for row in lines_of(tmp_path / "out", "_bad")] == [
        (7, "',' exp"),
        (8, "1 cells"),
        (9, "4 cells"),
    ]


def test_a_csv_file_may_begin_with_a_mark_and_a_quoted_name(model, write, tmp_path):
    source = write('"text","id"\n"a, good film","1"\n"two\rlines","2"\n'.encode("utf-8-sig"), "a.csv")
    predict(model[0], source, tmp_path / "out")
    (shard,) = (tmp_path / "out").glob("part-*.csv")
    with shard.open(encoding="utf-8", newline="") as file:
        assert [row[:2] for row in csv.reader(file, strict=True)] == [
            ["text", "id"],
            ["a, good film", "1"],
            ["two\rlines", "2"],
        ]


def test_lines_of_text_are_answered_in_their_order_and_gzip_is_unpacked(model, tmp_path):
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress(("\n".join(TEXTS) + "\n").encode()))
    predict(model[0], packed, tmp_path / "out")
    answers = model[1].predict(TEXTS)
    expected = "".join(f"{a.label}\t{a.probability:.4f}\t{a.text}\n" for a in answers)
    assert (tmp_path / "out" / "part-00000-of-00001.txt").read_text() == expected


def test_parquet_keeps_its_types_and_a_missing_text_is_a_bad_row(model, tmp_path):
    frame = pd.DataFrame({"text": [*TEXTS, None], "when": pd.Timestamp("2026-11-24 18:00:00.000001"), "n": range(7)})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=3)
    result = predict(model[0], tmp_path / "a.parquet", tmp_path / "out")
    table_out = pd.read_parquet(tmp_path / "out" / result.shards[0]).sort_values("n", ignore_index=True)
    pd.testing.assert_frame_equal(table_out[list(frame)], frame[:6], check_dtype=True)
    answers = model[1].predict(TEXTS)
    assert list(table_out["label"]) == [answer.label for answer in answers]
    assert list(table_out["p_no"]) == pytest.approx([answer.probabilities["no"] for answer in answers], abs=1e-5)
    (bad,) = lines_of(tmp_path / "out", "_bad")
    assert (bad["row"], bad["reason"]) == (7, "no text")


def test_a_date_that_python_has_not_is_a_bad_row(model, tmp_path):
    days = pa.array([0, 5_000_000], pa.int32()).cast(pa.date32())  # the second is of the year 15,659
    pq.write_table(pa.table({"text": ["good", "film"], "day": days}), tmp_path / "a.parquet")
    assert predict(model[0], tmp_path / "a.parquet", tmp_path / "out").predicted == 1
    (bad,) = lines_of(tmp_path / "out", "_bad")
    assert (bad["row"], bad["reason"].partition(":")[0]) == (2, "a cell cannot be read")


def test_a_time_with_nanoseconds_is_a_bad_row_and_no_time_is_changed(tmp_path):
    times = pa.array([1_000, 1_001, None, 2_000], pa.time64("ns"))
    lists = pa.array([[2_000], [2_000], [], [2_001]], pa.list_(pa.time64("ns")))
    table = pa.table({"text": list("abcd"), "at": times, "more": pa.StructArray.from_arrays([lists], ["all"])})
    pq.write_table(table, tmp_path / "a.parquet")
    layout, _ = input_files.find_layout(input_files.InputOptions([str(tmp_path / "a.parquet")]))
    rows = [row for part in splitting.split(0, layout) for row in read_rows(part, layout)]
    assert [row.get("text") for row in rows] == ["a", None, "c", None]
    good_rows = pa.Table.from_pylist([row["row"] for row in rows if "row" in row], table.schema)
    assert good_rows.equals(pa.concat_tables([table.slice(0, 1), table.slice(2, 1)]))
    assert [row["reason"].partition(";")[0] for row in rows if "reason" in row] == [
        "a cell cannot be read: 'at' has a time with nanoseconds",
        "a cell cannot be read: 'more' has a time with nanoseconds",
    ]


@pytest.mark.slow
def test_a_tagger_writes_tokens_with_tags_and_lists(batch_exports, write, tmp_path):
    export, bundle = batch_exports["bilstm_tagger"]
    predict(export, write("\n".join(TEXTS), "a.txt"), tmp_path / "text")
    answers = bundle.predict(TEXTS)
    expected = [" ".join(map("{}/{}".format, answer.tokens, answer.tags)) for answer in answers]
    assert (tmp_path / "text" / "part-00000-of-00001.txt").read_text().split("\n")[:-1] == expected
    pd.DataFrame({"text": TEXTS}).to_parquet(tmp_path / "a.parquet")
    predict(export, tmp_path / "a.parquet", tmp_path / "parquet")
    table = pd.read_parquet(tmp_path / "parquet")
    assert [list(tags) for tags in table["tags"]] == [answer.tags for answer in answers]
    source = write([{"tokens": ["good", "film"], "text": 1}], "a.jsonl")
    predict(export, source, tmp_path / "jsonl", text_column="tokens")
    (row,) = lines_of(tmp_path / "jsonl")
    assert (row["tokens"], row["tags"]) == (["good", "film"], bundle.predict([["good", "film"]])[0].tags)


def test_a_text_under_the_name_of_an_answer_is_not_lost(batch_exports, write, tmp_path, monkeypatch):
    source = write([{"tokens": ["good"]}, {"tokens": "good film"}, {"tokens": ["a", 1]}], "a.jsonl")
    result = predict(batch_exports["bilstm_tagger"][0], source, tmp_path / "both", text_column="tokens")
    assert (result.predicted, result.bad) == (2, 1)
    rows = [(row["tokens"], row["predicted_tokens"]) for row in lines_of(tmp_path / "both")]
    assert rows == [(["good"], ["good"]), ("good film", ["good", "film"])]
    monkeypatch.setattr(input_files, "_FIRST_LINES", 1)
    result = predict(batch_exports["bilstm_tagger"][0], source, tmp_path / "out", text_column="tokens", max_bad=2)
    assert (result.predicted, result.bad) == (1, 2)
    assert [row["reason"] for row in lines_of(tmp_path / "out", "_bad")] == [
        "the key 'tokens' is already there; choose another --prefix for new ones",
        "'tokens' is not a string or a list of strings: ['a', 1]",
    ]
    pd.DataFrame({"tokens": ["good film"]}).to_parquet(tmp_path / "a.parquet")
    predict(batch_exports["bilstm_tagger"][0], tmp_path / "a.parquet", tmp_path / "parquet", text_column="tokens")
    table = pd.read_parquet(tmp_path / "parquet")
    assert (table["tokens"][0], list(table["predicted_tokens"][0])) == ("good film", ["good", "film"])


def test_the_answers_of_a_second_model_get_names_of_their_own(model, write, tmp_path):
    predict(model[0], write([{"text": "good"}], "a.jsonl"), tmp_path / "one")
    predict(model[0], tmp_path / "one" / "part-*", tmp_path / "two")
    (row,) = lines_of(tmp_path / "two")
    assert row["predicted_label"] == row["label"]


def test_a_model_of_strings_takes_those_under_the_name_of_an_answer(tmp_path, write):
    source = write([{"tokens": "good film"}, {"tokens": ["good"]}], "a.jsonl")
    export = bundle("stacked_lstm_lm").export(tmp_path / "lm", format="onnx")
    result = predict(export, source, tmp_path / "out", text_column="tokens")
    assert (result.predicted, result.bad) == (1, 1)
    (row,) = lines_of(tmp_path / "out")
    assert (row["tokens"], row["predicted_tokens"]) == ("good film", 3)
    assert lines_of(tmp_path / "out", "_bad")[0]["reason"] == "'tokens' is not a string: ['good']"


def test_a_key_of_any_file_gives_the_answers_other_names(model, write, tmp_path):
    write([{"text": "good"}], "a.jsonl")
    write([{"text": "bad", "label": 1}, {"text": "bad", "label": 2}], "b.jsonl")
    assert predict(model[0], tmp_path / "*.jsonl", tmp_path / "out").predicted == 3
    rows = lines_of(tmp_path / "out")
    assert sorted(row.get("label", 0) for row in rows) == [0, 1, 2]
    assert all("predicted_label" in row for row in rows)


def test_a_broken_row_of_a_table_is_shown_as_it_is_written(model, write, tmp_path):
    long_row = f'"é{"x" * 150}\n{"y" * 150}\n"z,3'
    source = write(f'text,id\nok,1\n"broken é,2\nnext,3\nmore "x",4\n{long_row}\nend,5\n', "a.csv")
    assert predict(model[0], source, tmp_path / "out").predicted == 2
    first, second = lines_of(tmp_path / "out", "_bad")
    assert [(row["line"], row["content"]) for row in (first, second)] == [
        (3, '"broken é,2\nnext,3\nmore "x",4'),
        (6, long_row[:200]),
    ]


def test_a_list_of_tokens_is_as_long_as_its_characters(write):
    source = write([{"tokens": ["abc", "de"]}, {"tokens": ["abc", "def"]}], "a.jsonl")
    options = input_files.InputOptions([str(source)], text_column="tokens", takes_tokens=True, max_chars=5)
    layout, _ = input_files.find_layout(options)
    short, long = read_rows(next(splitting.split(0, layout)), layout)
    assert short["text"] == ["abc", "de"]
    assert (long["reason"], long["content"]) == ("the text has 6 characters; at most 5", "['abc', 'def']")


def test_spaces_around_the_names_of_columns_are_no_part_of_them(write, tmp_path):
    write("id, text\n1,good\n", "a.csv")
    write("id,text\n2,bad\n", "b.csv")
    layout, names = input_files.find_layout(input_files.InputOptions([str(tmp_path / "*.csv")]))
    assert names == list(layout.names) == ["id", "text"]
    assert [row["text"] for file in (0, 1) for row in read_rows(next(splitting.split(file, layout)), layout)] == [
        "good",
        "bad",
    ]


def test_a_file_is_read_once_whatever_names_lead_to_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.txt").write_text("good\n")
    (tmp_path / "link.txt").symlink_to("d.txt")
    (file,) = input_files.matching_files(["d.txt", str(tmp_path / "d.txt"), "*.txt"])
    assert Path(file).resolve() == (tmp_path / "d.txt").resolve()
    os.link("d.txt", "hard.txt")
    assert input_files.matching_files(["*.txt"]) == ["d.txt"]
    (tmp_path / "reviews.csv").write_text("text\ngood\n")
    (tmp_path / "latest").symlink_to("reviews.csv")
    assert input_files.matching_files(["lat*", "*.csv"]) == ["reviews.csv"]  # the name that says its format
    os.link("reviews.csv", "0a1b")
    (tmp_path / "other.csv").symlink_to("reviews.csv")
    assert input_files.matching_files(["0a1b", "*.csv"]) == ["reviews.csv"]
    (tmp_path / "reviews.csv").unlink()
    (tmp_path / "other.csv").unlink()
    (tmp_path / "other.csv").symlink_to("0a1b")
    assert input_files.matching_files(["0a1b", "*.csv"]) == ["other.csv"]


def test_no_more_than_the_first_lines_of_json_is_read_beforehand(write, monkeypatch):
    monkeypatch.setattr(input_files, "_FIRST_LINES", 3)
    path = write(b'[1]\n\n[2]\n{"text": "a"}\n{"label": 1}\n', "a.jsonl")
    assert input_files.find_layout(input_files.InputOptions([str(path)]))[1] == ["text"]
    path.write_bytes(b'[1]\n[2]\n[3]\n{"label": 1}\n')
    assert input_files.find_layout(input_files.InputOptions([str(path)]))[1] == []


def test_a_key_of_another_file_with_the_users_own_prefix_makes_its_row_bad(model, write, tmp_path):
    write([{"text": "good"}], "a.jsonl")
    write([{"text": "bad"}, {"text": "dull", "new_label": 1}], "b.jsonl")
    result = predict(model[0], tmp_path / "*.jsonl", tmp_path / "out", prefix="new_")
    assert (result.predicted, result.bad) == (2, 1)
    with pytest.raises(ValueError, match="already has 'new_label'"):
        predict(model[0], tmp_path / "b.jsonl", tmp_path / "other", prefix="new_")


def test_a_cell_of_many_lines_is_measured_line_by_line(monkeypatch):
    measured = []

    class Line(str):
        def __len__(self):
            measured.append(self)
            return super().__len__()

    content = [Line('"\n'), *[Line("\n")] * 500, Line('"\n')]
    monkeypatch.setattr(tables, "decoded", lambda *_: iter(content))
    (row,) = tables.table_rows(None, 1, Layout("csv", (), "text", names=("text",)), Dialect())
    assert (row[1], row[3]) == (["\n" * 501], 502)
    assert len(measured) <= len(content)


CONTENT = {
    "csv": 'id,text\n0,a\n1,"b\nb"\n\n2,c\n3,"d"x\n4,e\n5,f\n6,g\n',
    "return.csv": 'id,text\r0,a\r1,"b\rb"\r\r2,c\r3,"d"x\r4,e\r5,f\r6,g\r',
    "tsv": "id\ttext\n0\ta\n1\tb\n2\tc\n3\n4\te\n5\tf\n6\tg\n",
    "jsonl": "".join(f'{{"text": "{letter}"}}\n' for letter in "abc")
    + "\nno\n"
    + '{"text": "e"}\n{"text": "f"}\n{"text": "g"}',
    "txt": "a\nb\nc\nd\n\nf\ng",
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("ending", [*CONTENT, "parquet"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_parts_of_a_file_hold_each_row_once(ending, size, packed, tmp_path, monkeypatch):
    monkeypatch.setattr(splitting, "ROWS", size)
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pd.DataFrame({"text": [*"abc", None, *"efg"]}).to_parquet(path, row_group_size=4)
    else:
        content = CONTENT[ending].encode()
        path.write_bytes(gzip.compress(content) if packed else content)
    layout, _ = input_files.find_layout(input_files.InputOptions([str(path)]))
    parts = list(splitting.split(0, layout))
    rows = [row for part in parts for row in read_rows(part, layout)]
    numbers = [row["number"] for row in rows]
    assert numbers == sorted(set(numbers))
    assert [row.get("text", "!")[:1] for row in rows] == list("abcd" if ending == "txt" else "abc!") + (
        ["", "f", "g"] if ending == "txt" else ["e", "f", "g"]
    )
    assert len(parts) == (1 if packed and ending != "parquet" else len(parts))
    if size == 100:
        assert len(parts) == (2 if ending == "parquet" else 1)
    elif size == 1 and not packed:
        assert len(parts) >= 7


def test_shards_have_at_most_so_many_rows_and_say_how_many_there_are(model, write, tmp_path):
    result = predict(model[0], write("\n".join("abcde"), "a.txt"), tmp_path / "out", shard_rows=2)
    assert result.shards == tuple(f"part-0000{number}-of-00003.txt" for number in range(3))
    assert left_in(tmp_path / "out") == ["_manifest.json", *result.shards]
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    assert [entry["rows"] for entry in manifest["files"]] == [2, 2, 1]
    assert left_in(tmp_path) == ["a.txt", "out"]


def test_tables_with_other_delimiters_are_read_and_bad_rows_are_named_by_their_line(tmp_path, model):
    (tmp_path / "a.csv").write_text('sep=;\nid;text\n1;"good, but\nlong"\nid;text\n2;bad;film\n3;fine;\n')
    (tmp_path / "b.csv").write_text("id,text\n4,good film\n")
    result = predict(model[0], tmp_path / "*.csv", tmp_path / "out")
    assert (result.predicted, result.bad) == (3, 2)
    bad_rows = [(Path(row["file"]).name, row["line"], row["reason"]) for row in lines_of(tmp_path / "out", "_bad")]
    reasons = ["it repeats the column names", "3 cells; there are 2 columns"]
    assert bad_rows == [("a.csv", 5, reasons[0]), ("a.csv", 6, reasons[1])]


def test_a_delimiter_that_is_named_is_the_one(tmp_path, model):
    (tmp_path / "a.csv").write_text("id~text\n1~good, but long\n2~a;b|c\n")
    result = predict(model[0], tmp_path / "a.csv", tmp_path / "out", delimiter="~", form="jsonl")
    assert (result.predicted, result.bad) == (2, 0)
    assert [row["text"] for row in lines_of(tmp_path / "out")] == ["good, but long", "a;b|c"]


def test_a_pipe_or_a_device_is_refused(batch_exports, tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "link.txt").symlink_to("pipe.txt")
    for name in ("pipe.txt", "link.txt", "*pipe.txt", "*.txt"):
        with pytest.raises(ValueError, match="is a pipe, which can be read only once"):
            predict(batch_exports["bilstm"][0], tmp_path / name, tmp_path / "out")
    with pytest.raises(ValueError, match="is a device, which can be read only once"):
        predict(batch_exports["bilstm"][0], "/dev/zero", tmp_path / "out", input_form="text")
    assert not (tmp_path / "out").exists()


# Each change once, and each moment.
QUICK = [("cut", "parts read"), ("grow", "all read"), ("replace", "split"), ("remove", "all read")]


@pytest.mark.parametrize(
    ("change", "moment"),
    slow_pairs_but(QUICK, ["cut", "grow", "replace", "remove"], ["split", "parts read", "all read"]),
)
def test_an_input_that_changes_meanwhile_publishes_nothing(change, moment, batch_exports, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "good"}\n' * 40)

    def spoil():
        if change == "remove":
            source.unlink(missing_ok=True)
        elif change == "replace":
            (tmp_path / "other").write_text('{"text": "evil"}\n' * 40)
            (tmp_path / "other").replace(source)
        else:
            os.truncate(source, 17) if change == "cut" else source.write_text('{"text": "good"}\n' * 50)

    def after(function):
        def run(*arguments, **options):
            value = function(*arguments, **options)
            spoil()
            return value

        return run

    if moment == "split":
        monkeypatch.setattr(input_files, "_keys", after(input_files._keys))
    elif moment == "parts read":
        monkeypatch.setattr(
            splitting, "_of_lines", lambda *arguments, of_lines=splitting._of_lines: after(list)(of_lines(*arguments))
        )
    else:
        monkeypatch.setattr(
            streams, "check_unchanged", lambda *arguments, check=streams.check_unchanged: (spoil(), check(*arguments))
        )
    with pytest.raises(BrokenInputError, match=r"in\.jsonl (changed while it was read|cannot be read)"):
        predict(batch_exports["bilstm"][0], source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
