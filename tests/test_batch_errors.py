"""Errors of a batch job: one line, before any work where it can be, and nothing left behind."""

import gzip
import json
import socket

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dense_lstm_zoo.batch import engines, output
from dense_lstm_zoo.batch.layout import BrokenInputError
from dense_lstm_zoo.storage import files
from tests.batch_harness import left_in, lines_of, predict


@pytest.fixture
def model(batch_exports):
    return batch_exports["bilstm"][0]


@pytest.fixture
def folder(tmp_path):
    """Two good files, first and last in their order."""
    (tmp_path / "in").mkdir()
    for name in ("a", "z"):
        (tmp_path / "in" / f"{name}.csv").write_text("id,text\n1,good film\n")
    return tmp_path


def refused(folder, model, error, message, *arguments, pattern="in/*", **options):
    """Expect an error on one line, and nothing new in the folder."""
    before = left_in(folder)
    with pytest.raises(error, match=message) as raised:
        predict(model, folder / pattern, folder / "out", *arguments, **options)
    assert "\n" not in str(raised.value)
    assert left_in(folder) == before


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pattern": "in/*.jsonl"}, FileNotFoundError, r"No file matches '.*in/\*.jsonl'. Check the folder"),
        ({"text_column": "txt"}, ValueError, "column for .*a.csv: 'txt'.* Did you mean 'text'.*--text-column"),
        ({"encoding": "utf-16"}, ValueError, "--encoding utf-16 is not supported"),
        ({"form": "parquet"}, ValueError, "csv with a classification model can be written as csv or jsonl"),
        ({"input_form": "text", "text_column": "a"}, ValueError, "--text-column is for csv"),
        ({"input_form": "jsonl"}, ValueError, "All 4 rows are bad, so nothing.*a.csv, line 1: the line is not"),
        ({"input_form": "text", "delimiter": ";"}, ValueError, "--delimiter is for csv and tsv; the input is text"),
        ({"delimiter": ";;"}, ValueError, r"--delimiter\) must be the one character between two cells"),
        ({"input_form": "text", "prefix": "new_"}, ValueError, "--prefix is for csv, jsonl and parquet; the output is"),
        ({"runner": "FlinkRuner"}, ValueError, "The runner 'FlinkRuner' is not available"),
        ({"shard_rows": 0}, ValueError, "--shard-rows"),
    ],
)
def test_a_bad_request_is_refused_before_any_work(folder, model, options, error, message):
    refused(folder, model, error, message, **options)


def test_beams_own_options_are_checked_by_name(folder, model):
    refused(
        folder, model, ValueError, "'--direct_num_worker'. Did you mean '--direct_num_workers'", "--direct_num_worker=2"
    )
    refused(folder, model, ValueError, "does not expect 'more.csv'", "more.csv")
    refused(folder, model, ValueError, "An option of Beam: .*direct_num_workers", "--direct_num_workers=two")
    refused(folder, model, ValueError, "--direct_num_workers must be .*received -1", "--direct_num_workers=-1")


def test_a_runner_that_does_not_listen_is_named(folder, model):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for runner, option in (("PortableRunner", "job_endpoint"), ("FlinkRunner", "flink_master")):
        message = rf"{runner} cannot be reached at 127.0.0.1:{port} \(--{option}\): Connection refused"
        refused(folder, model, ConnectionError, message, f"--{option}=127.0.0.1:{port}", runner=runner)


# Files that come between the good ones.
BROKEN = {
    "utf16.csv": ("id,text\n1,fine\n".encode("utf-16"), ValueError, "utf16.csv is UTF-16 or binary"),
    "wide.csv": ("id,text\n1,fine\n".encode("utf-16-le"), ValueError, "wide.csv is UTF-16 or binary"),
    "russian.csv": ("номер,текст\n1,скучно\n".encode("utf-16-le"), ValueError, "russian.csv is UTF-16 or binary"),
    "other.csv": (b"text,id\nfine,1\n", ValueError, "other.csv has the columns text, id; .*a.csv has id, text"),
    "empty.csv": (b"", ValueError, "empty.csv is empty"),
    "open.csv": (b'id,text\n1,fine\n2,"never\n3,closed\n', BrokenInputError, "open.csv, line 3 opens a quotation mark"),
    "cut.csv": (
        gzip.compress(b"id,text\n" + b"1,fine film\n" * 5000)[:-20],
        BrokenInputError,
        "cut.csv is a truncated or damaged gzip file",
    ),
    "b.jsonl": (b"{}", ValueError, r"several formats: .*a.csv \(csv\), .*b.jsonl \(jsonl\)"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_in_the_middle_of_the_set_is_named_and_nothing_is_published(folder, model, name):
    content, error, message = BROKEN[name]
    (folder / "in" / name).write_bytes(content)
    refused(folder, model, error, message)


def test_a_damaged_parquet_file_is_named(tmp_path, model):
    pd.DataFrame({"text": ["good"], "n": [1]}).to_parquet(tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    refused(tmp_path, model, ValueError, "column 'n' holds int64", pattern="*.parquet", text_column="n")
    twice = pa.table([pa.array(["a"]), pa.array([1]), pa.array([2])], names=["text", "x", "x"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    refused(tmp_path, model, ValueError, "two columns of the same name: text, x, x", pattern="twice.parquet")
    (tmp_path / "twice.parquet").unlink()
    (tmp_path / "b.parquet").write_bytes(content[:-10])
    refused(tmp_path, model, BrokenInputError, "b.parquet is not a whole Parquet file", pattern="*.parquet")


def test_lines_of_another_encoding_are_bad_rows_and_can_be_forbidden(folder, model):
    (folder / "in" / "latin.csv").write_bytes("id,text\n1,plain\n2,café\n".encode("latin-1"))
    refused(
        folder,
        model,
        ValueError,
        r"1 of 4 rows are bad; at most 0 are allowed \(--max-bad\).*latin.csv, line 3: not utf-8",
        max_bad=0,
    )
    result = predict(model, folder / "in/*", folder / "out", max_bad=1)
    assert (result.predicted, result.bad) == (3, 1)
    (row,) = lines_of(folder / "out", "_bad")
    assert (row["file"], row["line"], row["content"]) == (str(folder / "in" / "latin.csv"), 3, "2,caf\\udce9")
    result = predict(model, folder / "in/*", folder / "latin", encoding="latin-1")
    assert result.bad == 0


def test_a_model_that_fails_in_a_worker_publishes_nothing(folder, model, monkeypatch):
    def failing(texts):
        raise ArithmeticError("no such number")

    monkeypatch.setattr(engines.Model, "load", lambda self, threads=1: failing)
    refused(folder, model, RuntimeError, "the pipeline failed, and nothing is published: .*no such number")


def test_ctrl_c_while_a_worker_predicts_is_no_failure_of_the_pipeline(folder, model, monkeypatch):
    def interrupted(texts):
        raise KeyboardInterrupt

    monkeypatch.setattr(engines.Model, "load", lambda self, threads=1: interrupted)
    with pytest.raises(KeyboardInterrupt):
        predict(model, folder / "in/*", folder / "out")
    assert not (folder / "out").exists()


def test_an_output_that_is_there_is_refused_and_replaced_only_if_it_is_ours(folder, model):
    out = folder / "out"
    predict(model, folder / "in/*", out)
    with pytest.raises(FileExistsError, match="already exists"):
        predict(model, folder / "in/*", out)
    first = (out / "part-00000-of-00001.csv").read_text()
    (folder / "in" / "z.csv").write_text("id,text\n7,bad film\n")
    predict(model, folder / "in/*", out, overwrite=True)
    assert (out / "part-00000-of-00001.csv").read_text() != first
    (out / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt is not as predict-batch wrote it"):
        predict(model, folder / "in/*", out, overwrite=True)
    (out / "notes.txt").unlink()
    (out / "_manifest.json").write_text("{}")
    with pytest.raises(FileExistsError, match="is not the output of predict-batch"):
        predict(model, folder / "in/*", out, overwrite=True)
    assert left_in(folder) == ["in", "out"]


def test_an_output_that_holds_an_input_is_refused_and_left_as_it_is(folder, model):
    out = folder / "out"
    predict(model, folder / "in/*", out)
    (folder / "link.csv").symlink_to(out / "part-00000-of-00001.csv")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for pattern in ("out/part-*", "link.csv"):
        refused(folder, model, ValueError, "out holds .*, one of the files that are", pattern=pattern, overwrite=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_texts_that_carriage_returns_alone_end_are_refused(tmp_path, model):
    (tmp_path / "mac.txt").write_bytes(b"good\rbad\r")
    refused(tmp_path, model, ValueError, r"mac\.txt has carriage returns alone at the ends", pattern="mac.txt")


SPLIT = {"kind": "split", "parts": 1}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "0 of 1 files were split"),
        ([SPLIT], "0 of 1 parts were read"),
        ([SPLIT, {"kind": "read", "rows": 3}], "3 rows were read, but 2 predicted and 0 found bad"),
        ([SPLIT, {"kind": "read", "rows": 2}], "not as its worker wrote it"),
    ],
)
def test_shards_that_do_not_hold_every_row_are_not_published(tmp_path, records, message):
    shard = {"kind": "part", "name": "part.1", "rows": 2, "first": [0, 1], "bytes": 5, "sha256": ""}

    def publish():
        with output.work_folder(str(tmp_path / "out"), files.check_new_folder(tmp_path / "out")) as work:
            (tmp_path / work / "part.1").write_text("a\nb")
            output.write_records([*records, shard], work)
            output.publish(work, str(tmp_path / "out"), "txt", {"input": ["a.txt"]})

    with pytest.raises(RuntimeError, match=message):
        publish()
    assert left_in(tmp_path) == []


def test_what_an_unfinished_attempt_wrote_is_not_published(tmp_path):
    with output.work_folder(str(tmp_path / "out"), files.check_new_folder(tmp_path / "out")) as work:
        for name in ("part.1", "part.2"):
            (tmp_path / work / name).write_text("a\nb\n")
        shard = {"kind": "part", "name": "part.2", "rows": 2, "first": [0, 1], "bytes": 4, "sha256": ""}
        output.write_records([SPLIT, {"kind": "read", "rows": 2}, shard], work)
        output.publish(work, str(tmp_path / "out"), "txt", {"input": ["a.txt"]})
    assert left_in(tmp_path / "out") == ["_manifest.json", "part-00000-of-00001.txt"]
    assert json.loads((tmp_path / "out" / "_manifest.json").read_text())["rows"] == 2
