"""A wrong request is answered before TensorFlow is imported."""

import json
import re
import subprocess
import sys

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import train
from dense_lstm_zoo.training import request

TRAIN = ["train", "bilstm", "--dataset", "demo", "--run-dir", "run"]
SELF_TRAIN = ["self-train", *TRAIN[1:], "--file", "taken/file"]
WRONG = {
    "an unknown model": (["train", "bilstn", "--dataset", "demo", "--run-dir", "run"], "Unknown model 'bilstn'"),
    "no model": (["train", "--dataset", "demo", "--run-dir", "run"], "Name a model, such as dc_bilstm"),
    "no folder": (["train", "bilstm", "--dataset", "demo"], "with --run-dir"),
    "an unknown corpus": (["train", "bilstm", "--dataset", "dmo", "--run-dir", "run"], "Unknown corpus 'dmo'"),
    "a missing file": (["train", "bilstm", "--train-file", "no.csv", "--run-dir", "run"], "no.csv does not exist"),
    "another model's argument": ([*TRAIN, "--dense-units", "3"], "Unknown argument of bilstm: 'dense_units'"),
    "another task's option": ([*TRAIN, "--num-steps", "3"], "num_steps is not an option for classification"),
    "a seed's value": ([*TRAIN, "--seed", "4294967296"], "seed must be an integer from 0 to 4,294,967,295; received"),
    "the last seed's value": (
        [*TRAIN, "--seed", "4294967295", "--seeds", "2"],
        "seed must be an integer from 0 to 4,294,967,294 for 2 runs",
    ),
    "a number of seeds": ([*TRAIN, "--seeds", "0"], "seeds must be an integer of at least 1; received 0"),
    "a number of folds": ([*TRAIN, "--folds", "1"], "folds must be an integer of at least 2; received 1"),
    "a fold of nothing": ([*TRAIN, "--only-folds", "7"], "only_folds=[7] needs folds"),
    "a fold's number": ([*TRAIN, "--folds", "3", "--only-folds", "4"], "only_folds must be from 1 to 3; received 4"),
    "an option's value": ([*TRAIN, "--epochs", "0"], "epochs must be an integer of at least 1; received 0"),
    "an argument's value": ([*TRAIN, "--units", "-3"], "units must be an integer of at least 1; received -3"),
    "a shared argument's value": ([*TRAIN, "--dropout", "1.5"], "dropout must be a number from 0"),
    "a policy's name": ([*TRAIN, "--dtype", "float61"], "Unknown dtype policy: 'float61'. Did you mean 'float64'"),
    "a policy that learns nothing": ([*TRAIN, "--dtype", "float16"], "Use 'mixed_float16'"),
    "a name's value": ([*TRAIN, "--pooling", "avg"], "Unknown value of pooling: 'avg'"),
    "an unknown recipe": ([*TRAIN, "--recipe", "ding"], "Unknown recipe 'ding'"),
    "another model's recipe": ([*TRAIN, "--recipe", "kim2014"], "Recipe 'kim2014' is for cnn_mc"),
    "missing vectors": ([*TRAIN, "--vectors", "no.txt"], "no.txt does not exist"),
    "a missing source": ([*TRAIN, "--init-from", "runs/none"], "runs/none is not a folder"),
    "a frozen encoder of nothing": ([*TRAIN, "--freeze", "encoder"], "freeze='encoder' needs init_from."),
    "rates of no layers": ([*TRAIN, "--layer-decay", "2"], "layer_decay=2.0 needs init_from."),
    "a folder that exists": ([*TRAIN[:-1], "taken"], "taken already exists"),
    "seeds of nothing": ([*TRAIN, "--seeds", "2", "--epochs", "0"], "epochs must be an integer"),
    "a dev file beside folds": ([*TRAIN, "--folds", "3", "--dev-file", "a.csv"], "received --dev-file a.csv"),
    "a missing run.toml": (["train", "--config", "no.toml", "--run-dir", "run"], "no.toml does not exist"),
    "a sweep's corpus": (["tune", "bilstm", "--dataset", "dmo", "--run-dir", "run"], "Unknown corpus 'dmo'"),
    "a sweep's option": (["tune", *TRAIN[1:], "--epochs", "0"], "epochs must be an integer"),
    "a sweep's argument": (["tune", *TRAIN[1:], "--units", "0"], "units must be an integer of at least 1"),
    "a sweep's other argument": (["tune", *TRAIN[1:], "--depth", "2"], "Unknown argument of bilstm: 'depth'"),
    "a sweep's test file": (["tune", *TRAIN[1:], "--folds", "3", "--test-file", "a.csv"], "received --test-file a.csv"),
    "a sweep's trials": (["tune", *TRAIN[1:], "--trials", "0"], "trials must be an integer of at least 1; received 0"),
    "a sweep's workers": (["tune", *TRAIN[1:], "--workers", "0"], "workers must be an integer of at least 1"),
    "a sweep's space": (["tune", *TRAIN[1:], "--search", "units"], "units"),
    "a sweep's first value": (["tune", *TRAIN[1:], "--search", "units=0,8"], "units must be an integer of at least 1"),
    "a sweep's last value": (["tune", *TRAIN[1:], "--search", "dropout=0.1:3"], "dropout must be a number from 0"),
    "a searched option": (["tune", *TRAIN[1:], "--search", "batch_size=8,0"], "batch_size must be an integer of at"),
    "a searched name": (["tune", *TRAIN[1:], "--search", "unitz=4,8"], "to search: 'unitz'. Did you mean 'units'"),
    "an option that is searched": (
        ["tune", *TRAIN[1:], "--batch-size", "8", "--search", "batch_size=8,16"],
        "batch_size is both fixed and searched",
    ),
    "a missing bundle": (["predict", "runs/none", "text"], "runs/none is not a folder"),
    "a bundle to join": (["join-lm", "runs/none", "--output", "joined"], "runs/none is not a folder"),
    "an export's weights": (["export", "runs/none", "out", "--weights", "int8"], "are for format='onnx'"),
    "an export's words": (
        ["export", "runs/none", "out", "--max-words", "0"],
        "max_words must be an integer of at least 1",
    ),
    "a bundle to export": (["export", "runs/none", "out"], "runs/none is not a folder"),
    "a bundle to score": (["evaluate", "runs/none", "--format", "json"], "runs/none is not a folder"),
    "a bundle to measure": (["measure", "nowhere"], "nowhere does not exist."),
    "a temperature": ([*TRAIN, "--temperature", "0"], "temperature must be a finite number above 0; received 0.0"),
    "a weight of labels": ([*TRAIN, "--hard-weight", "2"], "hard_weight must be a number from 0 to 1; received 2.0"),
    "a teacher": (["label", "runs/none", "--file", "taken/file", "-o", "x.csv"], "runs/none is not a folder"),
    "texts to label": (["label", "runs/none", "--file", "no.txt", "-o", "x.csv"], "no.txt does not exist"),
    "a file of labels": (["label", "runs/none", "-o", "x.xlsx"], "x.xlsx: the output's name says how it is written"),
    "a corpus to learn": (["label", "runs/none", "-o", "x.csv", "--dataset", "dmo"], "Unknown corpus 'dmo'"),
    "a round's number": ([*SELF_TRAIN, "--rounds", "0"], "rounds must be an integer of at least 1; received 0"),
    "a round's threshold": ([*SELF_TRAIN, "--threshold", "2"], "threshold must be a number from 0 to 1; received 2.0"),
    "a round's texts": ([*SELF_TRAIN, "--file", "no.txt"], "no.txt does not exist"),
    "a round without texts": ([*SELF_TRAIN], "taken/file holds no text to label"),
    "a round's option": ([*SELF_TRAIN, "--epochs", "0"], "epochs must be an integer of at least 1; received 0"),
    "a round's argument": ([*SELF_TRAIN, "--units", "0"], "units must be an integer of at least 1"),
    "a tagger's rounds": (
        ["self-train", "bilstm_tagger", *SELF_TRAIN[2:]],
        "self_train needs a model that gives each text a label; bilstm_tagger is for tagging",
    ),
    "a name to describe": (["describe", "nothing"], "Unknown model, recipe, preset or run 'nothing'"),
}
# Runs every command in one process, and tells what each printed and whether it loaded TensorFlow.
SCRIPT = """
import contextlib, io, json, sys
from dense_lstm_zoo.cli import main
answers_by_name = {}
for name, arguments in json.loads(sys.argv[1]).items():
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main(arguments)
    answers_by_name[name] = [status, errors.getvalue(), "tensorflow" in sys.modules or "keras" in sys.modules]
print(json.dumps(answers_by_name))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("early")
    (folder / "taken").mkdir()
    (folder / "taken" / "file").write_text("")
    commands = json.dumps({name: arguments for name, (arguments, _) in WRONG.items()})
    run = subprocess.run([sys.executable, "-c", SCRIPT, commands], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert [path.name for path in folder.iterdir()] == ["taken"]
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_is_answered_in_a_line_without_tensorflow(answers, name):
    status, message, has_tensorflow = answers[name]
    assert WRONG[name][1] in message
    assert (status, has_tensorflow, message.count("\n")) == (2, False, 1)


def test_a_model_is_not_built_to_check_its_arguments_where_keras_is_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", sys.modules["keras"])
    monkeypatch.setattr("dense_lstm_zoo.models.registry.entry", lambda name: pytest.fail("the factory was looked up"))
    train.check_arguments("bilstm", {"units": 3})


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("gated_skip_tagger", {"skip": "output"}, "Unknown value of skip: 'output'. Did you mean 'outputs'"),
        ("bilstm_tagger", {"recurrent_initializer": "orthogonl"}, "Did you mean 'orthogonal'"),
        ("bilstm", {"kernel": "fast"}, "Unknown value of kernel: 'fast'"),
        ("di_bilstm", {"mode": "places"}, "Unknown value of mode: 'places'"),
        ("dense_lstm_lm", {"dtype": "mixed_float8"}, "Unknown dtype policy: 'mixed_float8'. Did you mean"),
        ("bilstm", {"dtype": "float16"}, "do not learn. Use 'mixed_float16'."),
        ("bilstm", {"dtype": "bfloat16"}, "do not learn. Use 'mixed_bfloat16'."),
    ],
)
def test_what_only_layers_check_is_checked_before_the_data_are_read(model, arguments, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        zoo.train(model, tmp_path / "not_read.csv", run_dir=tmp_path / "run", **arguments)
    assert not list(tmp_path.iterdir())


def test_the_check_writes_nothing_and_returns_what_will_run(tmp_path):
    plan = request.check("bilstm", tmp_path / "run", {"epochs": 2, "units": 4}, seed=3)
    assert (plan.options.epochs, plan.options.seed, plan.arguments["units"]) == (2, 3, 4)
    assert not list(tmp_path.iterdir())
