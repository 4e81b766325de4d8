"""run.toml: every run writes how it was trained, and train --config repeats it."""

import inspect
import os
import tomllib

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.tables import read_table_corpus
from dense_lstm_zoo.cli import main, train
from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.language.corpora import read_text_files
from dense_lstm_zoo.storage import toml_text
from dense_lstm_zoo.tagging.corpora import read_column_files
from dense_lstm_zoo.training import request, run_file
from tests.cli_harness import output_of

TINY = ["--units", "3", "--embedding-dim", "4", "--kernel", "native", "--epochs", "1", "--batch-size", "1000"]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A run of the command line on the demo corpus."""
    folder = tmp_path_factory.mktemp("repeated") / "first"
    options = ["--seed", "7", "--softmax-max-norm", "3", "--class-weights", '{"positive": 2}', "--run-dir", str(folder)]
    assert main(["train", "bilstm", "--dataset", "demo", *TINY, *options, "--quiet"]) == 0
    return folder


@pytest.mark.slow
def test_a_run_is_repeated_from_its_file(first, tmp_path):
    again = tmp_path / "again"
    assert main(["train", "--config", str(first / "run.toml"), "--run-dir", str(again), "--quiet"]) == 0
    for name in ("config.json", "run.toml", "vocabulary.txt", "labels.json"):
        assert (again / name).read_text() == (first / name).read_text()
    histories = [pd.read_csv(folder / "history.csv").drop(columns="seconds") for folder in (first, again)]
    pd.testing.assert_frame_equal(*histories)
    assert zoo.load(again).fingerprint() == zoo.load(first).fingerprint()


def test_every_option_of_own_files_has_its_section():
    readers = (read_table_corpus, read_column_files, read_text_files)
    options = {name for reader in readers for name in inspect.signature(reader).parameters}
    assert options - {"name", "kind"} <= set(run_file.DATA)


def test_the_file_says_what_was_given_and_chosen_in_sections(first):
    assert tomllib.loads((first / "run.toml").read_text()) == {
        "model": "bilstm",
        "recipe": "none",
        "seed": 7,
        "data": {"dataset": "demo"},
        "training": {
            "epochs": 1,
            "batch_size": 1000,
            "class_weights": {"positive": 2},
            "patience": 5,
            "vectors": "none",
        },
        "arguments": {"units": 3, "embedding_dim": 4, "kernel": "native", "softmax_max_norm": 3},
    }


def test_a_bundle_loads_with_its_file_edited_or_gone_and_a_copy_has_none(first, tmp_path):
    bundle = zoo.load(first)
    text = (first / "run.toml").read_text()
    (first / "run.toml").write_text("edited = true")
    zoo.load(first)
    (first / "run.toml").unlink()
    zoo.load(first)
    (first / "run.toml").write_text(text)
    assert not (bundle.save(tmp_path / "copy") / "run.toml").exists()


def test_weights_that_changed_are_saved_without_the_file(first, tmp_path):
    bundle = zoo.load(first)
    bundle.beside["run.toml"] = "seed = 1\n"
    assert (bundle.save(tmp_path / "same") / "run.toml").read_text() == "seed = 1\n"
    bundle.model.get_layer("logits").bias.assign([1.0, 2.0])
    with pytest.warns(UserWarning, match="saved without scores"):
        assert not (bundle.save(tmp_path / "changed") / "run.toml").exists()


def test_options_take_precedence_and_a_corpus_is_taken_whole(tmp_path):
    (tmp_path / "mine.csv").write_text("text,label\n" + "fine film,up\ndull film,down\n" * 5)
    (tmp_path / "run.toml").write_text(
        'model = "bilstm"\nseed = 3\n[data]\ndataset = "csv"\ntrain_file = "gone.csv"\nlabel_column = "stars"\n'
        '[training]\nepochs = 4\n[arguments]\nunits = 5\nsoftmax_max_norm = "null"\n'
    )
    options_of_command = {
        "seed": 9,
        "epochs": None,
        "dataset": str(tmp_path / "mine.csv"),
        "run_dir": str(tmp_path / "run"),
    }
    model, corpus, options = train.prepare(None, str(tmp_path / "run.toml"), options_of_command)
    assert (model, corpus.label_names, corpus.train.texts[0]) == ("bilstm", ("down", "up"), "fine film")
    assert options == {
        "run_dir": str(tmp_path / "run"),
        "seed": 9,
        "epochs": 4,
        "units": 5,
        "softmax_max_norm": None,
    }


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_a_file_may_begin_with_a_byte_order_mark(tmp_path, mark):
    content = f'{mark}model = "bilstm"\nseed = 3\n[training]\nepochs = 4\n'
    (tmp_path / "run.toml").write_bytes(content.encode())
    options_of_command = {"dataset": "demo", "run_dir": str(tmp_path / "run")}
    model, _, options = train.prepare(None, str(tmp_path / "run.toml"), options_of_command)
    assert (model, options["seed"], options["epochs"]) == ("bilstm", 3, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('modle = "lstm"', "Unknown name before the first section: 'modle'. Did you mean 'model'"),
        ('model = "lstn"', "Unknown model 'lstn'. Did you mean 'lstm'"),
        ("[training]\nepoch = 1", "Unknown name in [training]: 'epoch'. Did you mean 'epochs'"),
        ('model = "lstm"\n[arguments]\nunit = 1', "Unknown name in [arguments]: 'unit'. Did you mean 'units'"),
        ('model = "lstm"\n[arguments]\nvocab_size = 9', "Unknown name in [arguments]: 'vocab_size'."),
        ("[data]\ndatset = 1", "Unknown name in [data]: 'datset'. Did you mean 'dataset'"),
        ("epochs = 1", "epochs is before the first section; it belongs to [training]."),
        ("[arguments]\nseed = 1", "seed is in [arguments]; it belongs to the top of the file."),
        ("data = 1", "data must be a section, [data]; it is 1."),
        ("[data]\ndataset = 1", "dataset must be text in quotation marks; it is 1."),
        ("[training]\ninit_from = 5", "init_from must be text in quotation marks; it is 5."),
        (
            "[training]\nvectors = 2020-01-01",
            "vectors must be text in quotation marks; it is datetime.date(2020, 1, 1).",
        ),
        ("seed = ", "is not TOML: "),
        ("a = " + "[" * 5000, "is not TOML: "),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_what_belongs_there(tmp_path, capsys, text, message):
    (tmp_path / "run.toml").write_text(text)
    status, _, err = output_of(capsys, "train", "--config", tmp_path / "run.toml", "--run-dir", tmp_path / "run")
    assert status == 2
    assert message in err
    assert str(tmp_path / "run.toml") in err or "Unknown model" in message
    assert err.count("\n") == 1


def text_of(tmp_path, corpus, model="bilstm", recipe=None, **options):
    return run_file.text_of(request.check(model, tmp_path / "run", options, recipe=recipe), corpus)


def test_files_are_named_by_their_whole_path_and_numbers_of_numpy_are_numbers(tmp_path, monkeypatch):
    (tmp_path / "mine.csv").write_text("text,label\nfine film,up\ndull film,down\n")
    (tmp_path / "words.txt").write_text("fine 1 2\n")
    monkeypatch.chdir(tmp_path)
    corpus = zoo.load_corpus("csv", train_file="mine.csv")
    values = tomllib.loads(text_of(tmp_path, corpus, vectors="words.txt", dropout=np.float64(0.25), units=np.int64(3)))
    assert values["data"] == {"dataset": "csv", "train_file": str(tmp_path / "mine.csv")}
    assert values["training"] == {"vectors": str(tmp_path / "words.txt")}
    assert values["arguments"] == {"dropout": 0.25, "units": 3}


def test_the_way_a_table_was_read_is_repeated(tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("text~label\nfine~up\n~up\ndull~down\n")
    options = {"train_file": str(table), "delimiter": "~", "skip_empty": True}
    corpus = zoo.load_corpus("csv", **options)
    path = tmp_path / "run.toml"
    path.write_text(run_file.text_of(request.check("bilstm", tmp_path / "run", {}), corpus))
    settings = {name: x for name, x in run_file.read_settings(path).items() if name in run_file.DATA}
    assert settings == {"dataset": "csv", **options}
    assert train.prepare(None, str(path), {"run_dir": str(tmp_path / "run")})[1] == corpus


def test_a_corpus_made_in_python_is_only_told_of(tmp_path):
    frame = pd.DataFrame({"text": ["fine", "dull"] * 5, "label": ["up", "down"] * 5})
    corpus = zoo.Corpus.from_frame(frame, text="text", label="label", name="mine")
    text = text_of(tmp_path, corpus, checkpoint_minutes=3.0)
    assert "The corpus 'mine' was made in Python: give --dataset" in text
    assert tomllib.loads(text)["data"] == {}
    assert "checkpoint_minutes" not in text


def test_a_fold_is_repeated_as_a_fold(tmp_path):
    from dense_lstm_zoo.training import protocol

    (tmp_path / "mine.csv").write_text("text,label\n" + "fine film,up\ndull film,down\n" * 5)
    file = tmp_path / "mine.csv"
    corpus = zoo.load_corpus("csv", train_file=file, test_file=file)
    values = tomllib.loads(text_of(tmp_path, protocol._fold(corpus, 2, 5)))
    assert (values["folds"], values["only_folds"]) == (5, [2])
    assert values["data"] == {"dataset": "csv", "train_file": str(file)}  # a fold reads no test file
    assert corpus.origin.settings == {"dataset": "csv", "train_file": file, "test_file": file}


def test_folds_of_a_file_with_dev_texts_are_refused(tmp_path):
    prepare = folds_of_files(tmp_path)
    with pytest.raises(ValueError, match=r"--folds 5 divides .*; received dev_file = '.*dev\.csv' of .*run\.toml\. L"):
        prepare("", folds=5)
    for own in ("folds = 5\n", "folds = 5\nonly_folds = [1, 2]\n"):
        with pytest.raises(ValueError, match=r"folds = 5 of .*run\.toml divides .*; received dev_file = '"):
            prepare(own)
    with pytest.raises(ValueError, match=r"folds = 5 of .* received --dev-file dev\.csv\. Leave"):
        prepare("folds = 5\nonly_folds = [2]\n", dataset="csv", dev_file="dev.csv")
    with pytest.raises(ValueError, match=r"--folds 4 divides .*; received dev_file = '"):
        prepare("folds = 5\nonly_folds = [2]\n", folds=4)


def test_the_file_of_a_fold_of_an_earlier_version_is_repeated_without_the_files_that_no_fold_reads(tmp_path):
    prepare = folds_of_files(tmp_path)
    _, corpus, settings = prepare("folds = 5\nonly_folds = [2]\n")
    assert (settings["folds"], settings["only_folds"]) == (5, [2])
    assert set(corpus.origin.settings) == {"dataset", "train_file"}
    assert prepare("folds = 5\nonly_folds = [2]\n", only_folds=[3])[2]["only_folds"] == [3]


def folds_of_files(folder):
    """Return a function that prepares a run by a ``run.toml`` with a dev and a test file."""
    for part in ("train", "dev", "test"):
        (folder / f"{part}.csv").write_text("text,label\n" + "fine film,up\ndull film,down\n" * 5)
    files = "".join(f'{part}_file = "{folder}/{part}.csv"\n' for part in ("train", "dev", "test"))

    def prepare(own, **options):
        (folder / "run.toml").write_text(f'model = "bilstm"\n{own}[data]\ndataset = "csv"\n{files}')
        return train.prepare(None, str(folder / "run.toml"), {"run_dir": str(folder / "run"), **options})

    return prepare


def test_a_column_may_be_named_null(tmp_path):
    (tmp_path / "run.toml").write_text('model = "bilstm"\n[data]\ntext_column = "null"\n[arguments]\nl2 = "null"\n')
    values = run_file.read_settings(tmp_path / "run.toml")
    assert (values["text_column"], values["l2"]) == ("null", None)


def test_the_recipe_and_vectors_that_were_chosen_are_named(tmp_path):
    demo = zoo.load_corpus("demo", task="language_model")
    text = text_of(tmp_path, demo, "stacked_lstm_lm", "zaremba2014_medium", clip_norm=None)
    values = tomllib.loads(text)
    assert (values["recipe"], values["arguments"]) == ("zaremba2014_medium", {"clip_norm": "null"})


@pytest.mark.parametrize(
    "value",
    [
        'caf\u00e9 "x" \\ \n\t\x00\x7f\u2028',
        True,
        -3,
        1e-05,
        1e300,
        [1, 2],
        ["a"],
        {"a b": 1.0, "c": {"d": [True]}},
        "",
    ],
)
def test_what_is_written_as_toml_is_read_as_it_was(value):
    assert tomllib.loads(toml_text.pair("a key", value)) == {"a key": value}


def test_a_file_name_that_is_no_unicode_is_left_out_with_a_comment(tmp_path):
    corpus = zoo.load_corpus("demo")
    object.__setattr__(corpus, "origin", Dataset("csv", options={"train_file": os.fsdecode(b"caf\xe9.csv")}))
    text = text_of(tmp_path, corpus)
    assert "# train_file cannot be written here; it was 'caf\\udce9.csv'." in text
    assert tomllib.loads(text)["data"] == {"dataset": "csv"}


def test_a_pipe_is_named_in_a_comment_as_it_cannot_be_read_again(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (line,) = run_file._pairs({"train_file": str(tmp_path / "pipe")})
    assert line.startswith("# train_file was ")
    assert "could be read only once" in line
