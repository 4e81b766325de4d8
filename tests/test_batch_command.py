"""dense-lstm-zoo predict-batch: what it prints, and that its errors are those of every command."""

import importlib.util
import os
import sys

import pytest

from dense_lstm_zoo.batch import layout, sinks
from dense_lstm_zoo.cli import predict_batch
from dense_lstm_zoo_runtime import install
from tests.batch_harness import left_in, lines_of
from tests.cli_harness import output_of


@pytest.fixture
def run_command(batch_exports, write, tmp_path):
    source = write([{"text": "good"}, {"text": None}, {"text": "bad"}], "a.jsonl")
    return ["predict-batch", "--input", source, "--output", tmp_path / "out", "--model", batch_exports["bilstm"][0]]


def test_it_says_how_many_rows_are_predicted_and_takes_options_of_beam(run_command, capsys, tmp_path):
    status, out, err = output_of(capsys, *run_command, "--direct_num_workers=1", "--job_name", "mine")
    assert (status, err) == (0, "")
    assert out == f"2 of 3 rows predicted in {tmp_path / 'out'}, 1 file; 1 bad, listed in _bad-*.jsonl\n"
    assert len(lines_of(tmp_path / "out")) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text-colunm", "text"], "'--text-colunm'. Did you mean '--text-column'"),
        (["--direct_num_worker=2"], "'--direct_num_worker'. Did you mean '--direct_num_workers'"),
        (["--max-bad", "0"], "1 of 3 rows are bad; at most 0 are allowed (--max-bad), so nothing is published."),
        (["--runner", "DirektRunner"], "The runner 'DirektRunner' is not available"),
    ],
)
def test_an_error_is_one_line_and_nothing_is_left(run_command, capsys, tmp_path, options, message):
    status, out, err = output_of(capsys, *run_command, *options)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert left_in(tmp_path) == ["a.jsonl"]


def test_without_beam_it_names_the_extra(run_command, capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    status, _, err = output_of(capsys, *run_command)
    assert (status, err) == (
        2,
        f"error: Batch predictions need Apache Beam: {install.extra('beam')}.\n",
    )


def test_standard_error_is_given_back_after_a_failure():
    def fail():
        with predict_batch._silence():
            os.write(2, b"chatter")
            raise ValueError("x")

    before = os.fstat(2)
    with pytest.raises(ValueError, match="x"):
        fail()
    assert os.path.samestat(os.fstat(2), before)


def test_notes_are_printed_while_beam_is_silenced(batch_exports, write, tmp_path, capfd, monkeypatch):
    source = write("id;text\n1;good film\n", "a.csv")
    arguments = ["--input", source, "--output", tmp_path / "out", "--model", batch_exports["bilstm"][0]]
    with os.fdopen(2, "w", closefd=False) as stderr:  # pytest's own is another file
        monkeypatch.setattr(sys, "stderr", stderr)
        status, _, err = output_of(capfd, "predict-batch", *arguments)
    assert (status, err) == (0, f"{source}: its columns are separated by a semicolon.\n")


def test_the_formats_of_its_options_are_those_that_are_read_and_written():
    assert predict_batch.READABLE == layout.READABLE == tuple(sinks.WRITABLE)
    assert set(predict_batch.WRITABLE) == set(sinks.SUFFIXES)
