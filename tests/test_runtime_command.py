"""python -m dense_lstm_zoo_runtime: lines like those of dense-lstm-zoo predict, JSON, and errors on one line."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dense_lstm_zoo_runtime import Predictor
from dense_lstm_zoo_runtime.answers import Prediction, Score
from dense_lstm_zoo_runtime.command import main
from tests.bundle_harness import bundle


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    for name in ("bilstm", "bilstm_tagger", "stacked_lstm_lm"):
        bundle(name).export(folder / name, format="onnx")
    return folder


def test_a_classifier_prints_label_probability_and_text(exports, capsys):
    assert main([str(exports / "bilstm"), "good film", "a\x1b[31m\tred"]) == 0
    first, second = Predictor(exports / "bilstm").predict(["good film", "a\x1b[31m\tred"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{first.label}\t{first.probability:.4f}\tgood film"
    assert lines[1] == f"{second.label}\t{second.probability:.4f}\ta\\x1b[31m\\tred"


def test_a_tagger_prints_tokens_with_tags(exports, capsys):
    assert main([str(exports / "bilstm_tagger"), "It wasn't bad!"]) == 0
    (sentence,) = Predictor(exports / "bilstm_tagger").predict(["It wasn't bad!"])
    assert capsys.readouterr().out == " ".join(map("{}/{}".format, sentence.tokens, sentence.tags)) + "\n"
    assert sentence.tokens == ["It", "was", "n't", "bad", "!"]


def test_a_language_model_prints_log_probability_and_perplexity(exports, capsys):
    assert main([str(exports / "stacked_lstm_lm"), "the film"]) == 0
    (score,) = Predictor(exports / "stacked_lstm_lm").score(["the film"])
    assert capsys.readouterr().out == f"{score.log_probability:.4f}\t{score.perplexity:.2f}\tthe film\n"


def test_json_holds_every_field(exports, capsys):
    assert main(["--json", str(exports / "bilstm"), "café\x9b"]) == 0
    line = capsys.readouterr().out
    assert "\x9b" not in line
    row = json.loads(line)
    assert set(row) == {"text", "label", "probability", "probabilities", "known_words"}
    assert row["text"] == "café\x9b"
    assert sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_json_has_null_for_what_it_cannot_hold(exports, capsys, monkeypatch):
    nan = Prediction("a", "good", float("nan"), {"good": float("nan"), "bad": 0.5})
    for answer in (nan, Score("a", -800.0, float("inf"), 1, 0)):
        monkeypatch.setattr(
            "dense_lstm_zoo_runtime.Predictor.predict_stream", lambda *_, shown_answer=answer: iter([shown_answer])
        )
        assert main([str(exports / "bilstm"), "--json", "a"]) == 0
        row = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert row["text"] == "a"
        assert row.get("probabilities", {"good": None, "bad": 0.5}) == {"good": None, "bad": 0.5}


def test_options_may_stand_between_the_export_and_its_texts(exports, capsys):
    assert main([str(exports / "bilstm"), "--json", "good film"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "good film"


def test_all_words_after_two_hyphens_are_texts(exports, capsys):
    export = str(exports / "bilstm")
    for words, texts in (
        ([export, "a", "--", "--json", "--", "b"], ["a", "--json", "--", "b"]),
        (["--threads", "1", "--", export, "--threads", "x"], ["--threads", "x"]),
    ):
        assert main(words) == 0
        assert [line.split("\t")[2] for line in capsys.readouterr().out.splitlines()] == texts


def test_without_texts_each_line_of_standard_input_is_one(exports, capsys, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO("good film\n\nbad \u2028 film\r\nlast".encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main([str(exports / "bilstm")]) == 0
    texts = [line.split("\t")[2] for line in capsys.readouterr().out.splitlines()]
    assert texts == ["good film", "", "bad \\u2028 film", "last"]


@pytest.mark.parametrize("mark", ["\ufeff", ""], ids=["marked", "plain"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(mark, exports, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{mark}the film\n{mark}x\n".encode())))
    assert main([str(exports / "stacked_lstm_lm"), "--json"]) == 0
    texts = [json.loads(line)["text"] for line in capsys.readouterr().out.splitlines()]
    assert texts == ["the film", f"{mark}x"]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_refused(codec, exports, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\ufeffthe film\n".encode(codec))))
    assert main([str(exports / "bilstm")]) == 2
    assert capsys.readouterr().err == (
        "error: Standard input begins with the byte order mark of UTF-16; convert it to UTF-8.\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"good\rbad\r", "has carriage returns alone at the ends of its lines, as old Macs wrote them: tr '\\r' '\\n'"),
        (gzip.compress(b"good\n", mtime=0), "is compressed with gzip; unpack it before"),
    ],
    ids=["returns", "gzip"],
)
def test_what_is_no_line_per_text_is_refused(content, message, exports, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main([str(exports / "bilstm")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: Standard input {message}")


@pytest.mark.parametrize("module", ["dense_lstm_zoo_runtime", "dense_lstm_zoo"])
def test_output_that_cannot_be_written_is_an_error_on_one_line(module, exports):
    arguments = [str(exports / "bilstm"), "good"] if module == "dense_lstm_zoo_runtime" else ["list", "models"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", module, *arguments]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert (ran.returncode, ran.stderr) == (1, "error: [Errno 28] No space left on device\n")


def test_an_error_is_one_line_and_exit_status_2(tmp_path, capsys):
    for arguments in ([str(tmp_path), "x"], [str(tmp_path / "a\nb"), "x"], [str(tmp_path), "x", "--threads", "0"]):
        assert main(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("error: ")
        assert captured.err.count("\n") == 1


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["--help"])
    assert exit_info.value.code == 0
    out = capsys.readouterr().out
    assert "one text per line" in out
    assert "dense-lstm-zoo export RUN PATH --format onnx" in out
