"""Values of --dataset, and the errors for a missing or wrong one."""

import json

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.corpora.dataset import Dataset, forms
from dense_lstm_zoo.search import plan
from tests.cli_harness import output_of

TABLE = "text,label\nfine film,up\ndull film,down\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "error: Say what to train on: --dataset with a corpus's name (demo, trec"),
        (
            ["--dataset", "terc"],
            "error: Unknown corpus 'terc'. Did you mean 'trec'? Give --dataset with a corpus's name",
        ),
        (["--dataset", "mien.csv"], "mien.csv does not exist. Did you mean 'mine.csv' in that folder? Give --dataset"),
        (["--dataset", "empty"], "error: empty holds no training texts (it holds nothing). Give --dataset with"),
        (["--dataset", "twice"], "holds train.csv and train.tsv; name one of them with --train-file"),
        (
            ["--dataset", "mine.txt"],
            "give it with --train-file mine.txt --dataset. Accepted: csv, tsv, jsonl, parquet, xlsx.",
        ),
        (["--dataset", "mine.csv", "--train-file", "mine.csv"], "both name the texts; give one of them"),
        (["--dataset", "ptb"], "Corpus 'ptb' is for language_model, not for classification."),
    ],
)
def test_a_wrong_dataset_says_which_forms_there_are(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    for folder in ("empty", "twice"):
        (tmp_path / folder).mkdir()
    for name in ("mine.csv", "mine.txt", "twice/train.csv", "twice/train.tsv"):
        (tmp_path / name).write_text(TABLE)
    status, out, err = output_of(capsys, "train", "bilstm", *arguments, "--run-dir", "run")
    assert (status, out) == (2, "")
    assert message in err
    if "Give" in message or "Say" in message:
        for form in (
            "a corpus's name (demo, trec",
            "a file of your own (csv, tsv, jsonl, parquet, xlsx; such as mine.csv)",
            "train.csv",
        ):
            assert form in err


def test_a_file_and_a_folder_are_taken_as_they_are(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE)
    (tmp_path / "all").mkdir()
    for name in ("train.jsonl", "validation.jsonl", "notes.txt"):
        (tmp_path / "all" / name).write_text("")
    file, folder = str(tmp_path / "mine.csv"), str(tmp_path / "all")
    alone = Dataset("csv", "classification", {"train_file": file})
    assert Dataset.resolve(file, {"dev_file": None}, "classification") == alone
    of_folder = Dataset.resolve(folder, {"text_column": "said"}, "classification")
    assert of_folder.name == "jsonl"
    assert of_folder.options == {
        "train_file": f"{folder}/train.jsonl",
        "dev_file": f"{folder}/validation.jsonl",
        "text_column": "said",
    }
    assert Dataset.resolve("demo", {}, "tagging") == Dataset("demo", "tagging")
    assert Dataset.resolve("csv", {"train_file": file}, "classification") == alone
    assert Dataset.resolve(None, {"train_file": file}, "classification") == alone
    assert Dataset.resolve(alone, {}, "classification") is alone
    assert alone.title == "mine.csv"


def test_python_takes_a_file_and_a_folder_too(tmp_path):
    (tmp_path / "mine.csv").write_text("said" + TABLE.removeprefix("text"))
    (tmp_path / "train.csv").write_text(TABLE)
    (tmp_path / "test.csv").write_text("text,label\na dull film,down\n")
    for path in (tmp_path / "mine.csv", str(tmp_path / "mine.csv")):
        corpus = zoo.load_corpus(path, text_column="said")
        assert (corpus.train.texts, corpus.test) == (["fine film", "dull film"], None)
    corpus = zoo.load_corpus(tmp_path, "classification")
    assert (len(corpus.train), corpus.test.texts) == (2, ["a dull film"])
    assert corpus.origin.name == "csv"  # what run.toml says


def test_dev_and_test_files_are_read_as_their_names_say(write):
    train, lines = write(TABLE, "train.csv"), write([{"text": "a film", "label": "up"}], "dev.jsonl")
    corpus = zoo.load_corpus(train, dev_file=lines, test_file=write("text\tlabel\na, b\tdown\n", "test.tsv"))
    assert (corpus.dev.texts, corpus.test.texts) == (["a film"], ["a, b"])
    again = corpus.origin.load()
    assert again == corpus  # as run.toml repeats it
    plain = write(TABLE, "dev.txt")
    assert zoo.load_corpus(train, dev_file=plain).dev == corpus.train
    odd = write(TABLE, "train.jsonl")  # the format is given, as the names are wrong
    assert zoo.load_corpus("csv", train_file=odd, dev_file=write(TABLE, "dev.jsonl")).dev == corpus.train


def test_a_tagger_s_files_are_read_as_their_names_say(write):
    train, trees = write("X Dogs N\nX bark V\n\n" * 2, "train.conll"), write("(S (N Dogs) (V bark))\n", "dev.mrg")
    corpus = zoo.load_corpus(train, "tagging", token_column=1, dev_file=trees)
    assert (corpus.dev.tokens, corpus.dev.tags) == ([["Dogs", "bark"]], [["N", "V"]])
    assert corpus.columns == {"token_column": 1, "tag_column": -1}
    with pytest.raises(ValueError, match="token_column is for columns"):
        zoo.load_corpus(trees, "tagging", token_column=1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("terc", "Unknown corpus 'terc'. Did you mean 'trec'? Give a corpus's name (demo, trec"),
        ("mien.csv", "Did you mean 'mine.csv' in that folder? Give a corpus's name (demo, trec"),
        ("mine.txt", 'give it with load_corpus("csv", train_file=...). Accepted: csv, tsv, jsonl, parquet, xlsx.'),
        ("twice", "name one of them with train_file=."),
    ],
)
def test_python_says_which_forms_there_are(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "twice").mkdir()
    for path in ("mine.csv", "mine.txt", "twice/train.csv", "twice/train.tsv"):
        (tmp_path / path).write_text(TABLE)
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        zoo.train("bilstm", name, "run")
    assert message in str(error.value)
    assert "--" not in str(error.value)
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        zoo.tune("bilstm", name, "sweep")
    assert message in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_sweep_of_a_file_reads_it(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE)
    planned = plan.plan("bilstm", str(tmp_path / "mine.csv"), space={"units": [4, 5]})
    assert (planned.dataset, planned.data) == ("csv", {"train_file": str(tmp_path / "mine.csv")})


def test_each_task_has_its_own_example():
    assert "(text; such as mine.txt)" in forms("language_model")
    assert "such as mine.conll)" in forms("tagging")


def test_evaluate_writes_json_and_takes_a_file_or_folder_as_dataset(run, tmp_path, capsys):
    (tmp_path / "test.csv").write_text("text,label\nA fine film .,positive\nA dull film .,negative\n")
    _, text, _ = output_of(capsys, "evaluate", run[1], "--test-file", tmp_path / "test.csv")
    status, out, err = output_of(capsys, "evaluate", run[1], "--dataset", tmp_path / "test.csv", "--format", "json")
    assert (status, err) == (0, "")
    scores = json.loads(out)
    assert {name: scores[name] for name in ("bundle", "model", "dataset", "split", "texts")} == {
        "bundle": str(run[1]),
        "model": "bilstm",
        "dataset": "test.csv",
        "split": "test",
        "texts": 2,
    }
    score = f"accuracy {scores['accuracy']:.4f}, macro F1 {scores['macro_f1']:.4f}"
    assert text == f"test {score}, loss {scores['loss']:.4f}, 2 texts\n"
    (tmp_path / "train.csv").write_text("text,label\nA fine film .,positive\n")
    status, folder, _ = output_of(capsys, "evaluate", run[1], "--dataset", tmp_path, "--format", "json")
    assert (status, json.loads(folder)) == (0, scores)
    status, _, err = output_of(capsys, "evaluate", run[1], "--dataset", tmp_path, "--split", "dev")
    assert status == 2
    assert "holds no dev texts; name a file with --dev-file" in err


def test_null_reaches_a_model_s_argument(monkeypatch, tmp_path):
    options_of_train = {}
    monkeypatch.setattr(zoo, "train", lambda model, corpus, **options: options_of_train.update(options))
    arguments = ["--clip-norm", "null", "--dataset", "demo", "--run-dir", str(tmp_path / "run")]
    assert main(["train", "dense_lstm_lm", *arguments]) == 0
    assert options_of_train["clip_norm"] is None
    assert "optimizer" not in options_of_train
