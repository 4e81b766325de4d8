import csv
import io
import json
import os
import subprocess
import sys

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import drawing, main
from dense_lstm_zoo.cli.parser import parser
from dense_lstm_zoo_runtime import install
from tests.bundle_harness import bundle
from tests.cli_harness import output_of

TINY = ["--embedding-dim", "6", "--num-dense-layers", "1", "--dense-units", "3", "--top-units", "4"]
TINY += ["--kernel", "native"]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    """A bundle that the command line trained on a table."""
    folder = tmp_path_factory.mktemp("cli")
    rows = "".join(f'"it was {w}, really",{y}\n' for w, y in (("great", "up"), ("awful", "down")) * 20)
    (folder / "mine.csv").write_text("text,label\n" + rows)
    arguments = ["train", "dc_bilstm", "--dataset", "csv", "--train-file", str(folder / "mine.csv")]
    arguments += [
        "--test-file",
        str(folder / "mine.csv"),
        "--run-dir",
        str(folder / "run"),
        "--epochs",
        "2",
        "--seed",
        "3",
    ]
    assert main([*arguments, *TINY]) == 0
    return folder / "run"


def test_train_passes_its_options_on(run_dir):
    bundle = zoo.load(run_dir)
    assert bundle.config["training"]["seed"] == 3
    assert bundle.config["arguments"]["dense_units"] == 3
    assert len(bundle.history) == 2
    assert bundle.metrics["test_texts"] == 40


def test_predict_writes_text_csv_and_json_lines(run_dir, capsys):
    texts = ["it was great, really", "", 'he said "no"']
    expected = zoo.load(run_dir).predict(texts)
    _, out, _ = output_of(capsys, "predict", run_dir, *texts)
    assert out.splitlines() == [f"{p.label}\t{p.probability:.4f}\t{p.text}" for p in expected]
    _, out, _ = output_of(capsys, "predict", run_dir, *texts, "--format", "csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert [row["text"] for row in rows] == texts
    assert float(rows[0]["p_up"]) == pytest.approx(expected[0].probabilities["up"], abs=1e-5)
    _, out, _ = output_of(capsys, "predict", run_dir, *texts, "--format", "jsonl")
    assert output_of(capsys, "predict", "--format", "jsonl", run_dir, texts[0], "--", *texts[1:])[1] == out
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["text"] for line in lines] == texts
    assert lines[1]["label"] == expected[1].label
    assert set(lines[1]["probabilities"]) == {"up", "down"}
    _, out, _ = output_of(capsys, "predict", run_dir, *texts, "--format", "json")
    assert json.loads(out) == lines


def test_predict_reads_a_file_or_standard_input_and_writes_a_file(run_dir, tmp_path, capsys):
    (tmp_path / "in.txt").write_bytes("it was great\n\ncaf\u00e9 ".encode() + b"\xff\r\n")
    status, _, _ = output_of(
        capsys,
        "predict",
        run_dir,
        "--file",
        tmp_path / "in.txt",
        "--output",
        tmp_path / "out.jsonl",
        "--format",
        "jsonl",
    )
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert status == 0
    assert [line["text"] for line in lines] == ["it was great", "", "caf\u00e9 \ufffd"]


@pytest.mark.slow
def test_predict_in_a_pipe_reads_bytes_that_are_not_utf_8(run_dir, tmp_path):
    content = "it was great\n\ncaf\u00e9 ".encode() + b"\xff\r\n"
    (tmp_path / "in.txt").write_bytes(content)
    options = ["--file", tmp_path / "in.txt", "--output", tmp_path / "out.jsonl", "--format", "jsonl"]
    assert main(["predict", str(run_dir), *map(str, options)]) == 0
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    command = [sys.executable, "-m", "dense_lstm_zoo", "predict", str(run_dir)]
    piped = subprocess.run(command, input=content, capture_output=True, check=True)
    assert [line.split("\t")[0] for line in piped.stdout.decode().splitlines()] == [line["label"] for line in lines]


def test_a_hyphen_is_standard_input_and_o_is_output(run_dir, tmp_path, capsys, monkeypatch):
    standard_input = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"")))
    monkeypatch.setattr(sys, "stdin", standard_input)
    options = ("--file", "-", "--format", "json", "-o", tmp_path / "out.json")
    assert output_of(capsys, "predict", run_dir, *options)[0] == 0
    assert (tmp_path / "out.json").read_text() == "[]\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"it was great\n"))))
    assert output_of(capsys, "predict", run_dir, *options, "--overwrite")[0] == 0
    (answer,) = json.loads((tmp_path / "out.json").read_text())
    assert answer["text"] == "it was great"


def test_evaluate_prints_the_scores_of_a_split(run_dir, capsys):
    table = run_dir.parent / "mine.csv"
    status, out, _ = output_of(capsys, "evaluate", run_dir, "--train-file", table, "--test-file", table)
    accuracy = json.loads((run_dir / "metrics.json").read_text())["test_accuracy"]
    assert status == 0
    assert out.startswith(f"test accuracy {accuracy:.4f}, macro F1 ")
    assert output_of(capsys, "evaluate", run_dir, "--test-file", table)[:2] == (0, out)


@pytest.mark.slow
def test_evaluate_wants_one_file_of_one_label_and_tells_its_format_by_its_name(run_dir, tmp_path, capsys):
    praise = zoo.load(run_dir).evaluate(zoo.Split(["it was great, really"], [1]))
    score = f"accuracy {praise['accuracy']:.4f}, macro F1 {praise['macro_f1']:.4f}"
    scored = f"test {score}, loss {praise['loss']:.4f}, 1 texts\n"
    (tmp_path / "praise.jsonl").write_text('{"text": "it was great, really", "label": "up"}\n')
    assert output_of(capsys, "evaluate", run_dir, "--test-file", tmp_path / "praise.jsonl") == (0, scored, "")
    (tmp_path / "praise").write_text('text,label\n"it was great, really",up\n')  # as the training texts were
    assert output_of(capsys, "evaluate", run_dir, "--test-file", tmp_path / "praise") == (0, scored, "")
    (tmp_path / "praise.txt").write_text('{"said": "it was great, really", "label": "up"}\n')
    options = ["--test-file", tmp_path / "praise.txt", "--dataset", "jsonl", "--text-column", "said"]
    assert output_of(capsys, "evaluate", run_dir, *options) == (0, scored, "")
    for wrong, message in (
        (["--dataset", "jsnl"], "Unknown value of --dataset: 'jsnl'. Did you mean 'jsonl'"),
        (["--token-column", "1"], "Unknown option of corpus 'csv': 'token_column'"),
        (["--test-file", tmp_path / "none.csv"], "none.csv"),
    ):
        status, out, err = output_of(capsys, "evaluate", run_dir, "--test-file", tmp_path / "praise", *wrong)
        assert (status, out) == (2, "")
        assert message in err


def test_a_bundle_of_a_published_corpus_asks_how_a_file_is_written(run, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("text,label\nA fine film .,positive\n")
    arguments = ["evaluate", run[1], "--test-file", tmp_path / "mine.txt"]
    assert (
        "does not exist. Did you mean 'mine.txt'"
        in output_of(capsys, "evaluate", run[1], "--test-file", tmp_path / "mien.txt")[2]
    )
    advice = "its name does not show its format; give it with --dataset. Accepted: csv, tsv, jsonl, parquet, xlsx."
    message = f"error: {tmp_path}/mine.txt: {advice}\n"
    assert output_of(capsys, *arguments) == (2, "", message)
    status, out, _ = output_of(capsys, *arguments, "--dataset", "csv")
    assert (status, out.endswith(", 1 texts\n")) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "--file", ""],
        ["predict", "good", "--output", ""],
        ["evaluate", "--test-file", ""],
        ["explain", "good", "--output", ""],
        ["curves", "--output", ""],
        ["measure", "--output", ""],
    ],
)
def test_an_empty_name_of_a_file_is_refused_and_is_not_a_standard_stream(run_dir, capsys, arguments):
    command, *options = arguments
    status, out, err = output_of(capsys, command, run_dir, *options)
    assert (status, out) == (2, "")
    assert "empty" in err or "must end in .png" in err


@pytest.mark.slow
def test_export_writes_a_saved_model(run_dir, tmp_path, capsys, monkeypatch):
    status, out, err = output_of(capsys, "export", run_dir, tmp_path / "exports" / "1")
    assert (status, out.strip(), err) == (0, str(tmp_path / "exports" / "1"), "")
    assert (tmp_path / "exports" / "1" / "saved_model.pb").is_file()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "tensorflow_serving", None)
        patch.setitem(sys.modules, "tensorflow_serving.apis", None)
        status, _, err = output_of(capsys, "export", run_dir, tmp_path / "exports" / "1", "--overwrite")
    assert (status, err.count("\n")) == (0, 1)
    assert f"no warm-up requests for TF Serving; to have them, {install.extra('serving')}" in err
    status, _, err = output_of(capsys, "export", run_dir, tmp_path / "exports" / "1")
    assert status == 2
    assert "already exists" in err


def test_list_and_describe_print_what_python_returns(capsys):
    _, out, _ = output_of(capsys, "list", "*_bilstm", "--task", "classification")
    assert [line.split()[0] for line in out.splitlines()] == zoo.list_models("*_bilstm")
    _, out, _ = output_of(capsys, "describe", "dc_bilstm")
    assert out.strip() == str(zoo.describe("dc_bilstm"))
    _, out, _ = output_of(capsys, "fetch", "demo")
    assert "built in" in out


def test_list_presets_and_describe_print_json(capsys, tmp_path):
    def read(*arguments):
        return json.loads(output_of(capsys, *arguments, "--format", "json")[1])

    models = read("list", "*_bilstm", "--task", "classification")
    assert [model["name"] for model in models] == zoo.list_models("*_bilstm")
    assert {model["task"] for model in models} == {"classification"}
    assert [recipe["name"] for recipe in read("list", "recipes", "ding2018")] == ["ding2018"]
    assert [(corpus["name"], corpus["place"]) for corpus in read("list", "corpora", "demo")] == [("demo", "built in")]
    presets = zoo.list_presets(task="tagging")
    assert [(preset["name"], preset["score"]) for preset in read("presets", "--task", "tagging")] == [
        (preset.name, preset.score) for preset in presets
    ]
    assert read("list", "presets", "no-such-preset") == []
    description = read("describe", "dc_bilstm")
    assert description["encoder_parameters"] == zoo.describe("dc_bilstm").encoder_parameters
    assert description["arguments"]["vocab_size"] == "required"
    assert read("describe", "ding2018")["recipe"]["expected"]["trec"] == 95.6
    diverged = bundle("lstm")
    diverged.metrics = {"dev_loss": float("inf")}
    assert read("describe", diverged.save(tmp_path / "diverged"))["metrics"] == {"dev_loss": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "dc_bilstn"], "Unknown model, recipe, preset or run 'dc_bilstn'. Did you mean 'dc_bilstm'"),
        (["train", "bilstn", "--dataset", "demo", "--run-dir", "x"], "error: Unknown model 'bilstn'"),
        (["train", "bilstm", "--dataset", "dem", "--run-dir", "x"], "error: Unknown corpus 'dem'"),
        (["train", "bilstm", "--dataset", "demo", "--run-dir", "x", "--top-units", "3"], "Unknown argument of bilstm"),
        (["train", "bilstm", "--dataset", "csv", "--run-dir", "x"], "train_file="),
        (["train", "bilstm", "--dataset", "csv", "--run-dir", "x", "--train-file", "no.csv"], "no.csv does not exist"),
        (["predict", "nowhere", "text"], "error: nowhere is not a folder"),
        (["evaluate", "nowhere"], "error: nowhere is not a folder"),
        (["export", "nowhere", "x"], "error: nowhere is not a folder"),
        (["fetch", "csv"], "nothing to fetch"),
        (["list", "--task", "classify"], "error: Unknown value of task: 'classify'"),
    ],
)
def test_bad_input_is_one_plain_line_and_status_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = output_of(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["explain", "run", "good", "--outptu=a.png"],
            "of dense-lstm-zoo explain: '--outptu'. Did you mean '--output'",
        ),
        (
            ["explain", "run", "good", "--picture", "a.png"],
            "'--picture'. Accepted: --help, --label, --output, --overwrite.\n",
        ),
        (["explain", "run", "--", "-x", "--label", "a"], "error: --label stands after --, where all words are texts"),
        (
            ["predict", "run", "--", "caf\udce9"],
            "error: a text has bytes that are not utf-8: 'caf\\udce9'. Write it to a file",
        ),
        (["explain", "run", "caf\udce9"], "error: a text has bytes that are not utf-8"),
        (["next-words", "run", "the", "-n", "5"], "'-n'. Accepted: --help, -k.\n"),
        (["explain", "run", "so", "good"], "does not expect 'good'; put a text of several words in quotation marks"),
        (["serve", "a", "b"], "does not expect 'b'; besides options, it takes bundle.\n"),
        (["train", "bilstm", "demo"], "does not expect 'demo'; a corpus is named with --dataset demo.\n"),
        (["train", "bilstm", "my file.csv"], "a file is given with --train-file 'my file.csv'.\n"),
        (["train", "bilstm", "missing.csv"], "does not expect 'missing.csv'; besides options, it takes model.\n"),
    ],
)
def test_what_a_command_does_not_take_is_named_with_what_it_does(arguments, message, capsys, tmp_path, monkeypatch):
    (tmp_path / "my file.csv").write_text("text,label\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["run", "--", "hi", "--output", "x"], ["hi", "--output", "x"]),
        (["--", "run", "--output=x"], ["--output=x"]),
        (["run", "--format", "csv", "a", "--", "--", "-x"], ["a", "--", "-x"]),
        (["run", "a", "--", "b", "--", "c"], ["a", "b", "--", "c"]),
        (["run", "--", "a", "--", "c"], ["a", "--", "c"]),
        (["run", "--", "--"], ["--"]),
        (["run", "a", "--"], ["a"]),
        (["--", "run"], []),
    ],
)
def test_all_words_after_two_hyphens_are_texts_as_they_are_written(arguments, texts):
    values = vars(parser().parse_args(["predict", *arguments]))
    assert (values["bundle"], values["texts"], values["output"]) == ("run", texts, None)


@pytest.mark.parametrize(
    ("arguments", "name", "values"),
    [
        (["train", "bilstm", "--label-columns", "a", "b", "--label-columns", "c"], "label_columns", ["a", "b", "c"]),
        (["train", "bilstm", "--only-folds", "1", "--only-folds", "2", "3"], "only_folds", [1, 2, 3]),
        (["label", "answers.csv", "--labels", "a", "-o", "x.csv", "--labels", "b"], "labels", ["a", "b"]),
        (["predict-batch", "--input", "a", "--output", "x", "--model", "m", "--input", "b"], "input", ["a", "b"]),
    ],
)
def test_an_option_of_several_values_that_is_repeated_has_all_of_them(arguments, name, values):
    command = parser()
    for _ in range(2):  # and none of an earlier command
        assert vars(command.parse_args(arguments))[name] == values


def test_a_misspelt_command_is_answered_with_the_near_one_in_a_line(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["trian", "bilstm"])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: Unknown command 'trian'. Did you mean 'train'")
    assert error.count("\n") == 1
    assert "bench" not in error


def test_the_help_and_the_example_of_a_sweep_name_the_space_alike(capsys):
    with pytest.raises(SystemExit):
        main(["tune", "--help"])
    out = capsys.readouterr().out
    assert "--search NAME=VALUES" in out
    assert "--search num_dense_layers=5,10,15" in out
    assert "--space" not in out


def test_predict_wants_texts_or_a_file_that_exists(run_dir, capsys):
    assert "not both" in output_of(capsys, "predict", run_dir, "a", "--file", "b")[2]
    assert "b does not exist" in output_of(capsys, "predict", run_dir, "--file", "b")[2]


def test_a_label_to_explain_is_checked_before_the_model_is_loaded(run_dir, capsys, monkeypatch):
    monkeypatch.setattr(drawing, "load_bundle", lambda *_: pytest.fail("the model was loaded"))
    status, _, err = output_of(capsys, "explain", run_dir, "good", "--label", "upp")
    assert (status, err.count("\n")) == (2, 1)
    assert "Unknown label of the model: 'upp'. Did you mean 'up'" in err


def test_help_shows_an_example_for_every_command(capsys):
    for command in (
        "list",
        "describe",
        "fetch",
        "train",
        "evaluate",
        "predict",
        "score",
        "generate",
        "next-words",
        "export",
        "measure",
    ):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert "Example: dense-lstm-zoo " in capsys.readouterr().out


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error(run_dir):
    command = f'yes "it was great" | head -20000 | {sys.executable} -m dense_lstm_zoo predict {run_dir} | head -1'
    run = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, env={**os.environ}
    )
    assert run.stdout.count("\n") == 1
    assert "Traceback" not in run.stderr
