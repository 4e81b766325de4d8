"""Training language models: schedules, files, interruption, bad input, the command line."""

import csv
import json
import shutil

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.data.text_file import TextFile
from dense_lstm_zoo.language.bundle import LanguageModelBundle
from dense_lstm_zoo.language.corpus import LanguageCorpus
from tests.cli_harness import output_of
from tests.training_harness import interrupted, sizes, small_demo
from tests.training_harness import train_language_model as train


@pytest.fixture(scope="module")
def text_files(tmp_path_factory):
    """The small corpus as files of a user's own."""
    folder, corpus = tmp_path_factory.mktemp("files"), small_demo("language_model")
    for part in ("train", "dev", "test"):
        (folder / f"{part}.txt").write_text("\n".join(getattr(corpus, part)) + "\n")
    return folder


@pytest.fixture(scope="module")
def run_dir(text_files):
    """A bundle that the command line trained on text files."""
    files = [f"--{part}-file={text_files / part}.txt" for part in ("train", "dev", "test")]
    size = ["--num-layers", "2", "--units", "6", "--embedding-dim", "5", "--dropout", "0.2", "--epochs", "2"]
    size += ["--batch-size", "5", "--num-steps", "12", "--max-words", "90", "--seed", "5", "--quiet"]
    arguments = ["train", "dense_lstm_lm", "--dataset", "text", *files, "--run-dir", str(text_files / "run"), *size]
    assert main(arguments) == 0
    return text_files / "run"


@pytest.mark.slow
def test_text_files_train_the_weights_that_the_same_lines_in_memory_do(run_dir, tmp_path):
    from_memory = train(tmp_path / "run", epochs=2)
    for ours, theirs in zip(zoo.load(run_dir).network.get_weights(), from_memory.network.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_the_learning_rate_follows_the_recipe_or_what_is_asked(tmp_path):
    bundle = train(tmp_path / "run", epochs=3, learning_rate=0.5, learning_rate_decay=0.5, decay_after=2)
    assert bundle.history["learning_rate"].tolist() == pytest.approx([0.5, 0.5, 0.25])
    training = bundle.config["training"]
    assert (training["num_steps"], training["batch_size"], training["decay_after"]) == (12, 5, 2)


@pytest.mark.slow
def test_the_average_of_the_weights_is_what_is_scored_and_kept_and_a_run_resumed_elsewhere_has_it_too(tmp_path):
    settings = {"average": 0.9, "softmax": "tied", "weight_dropout": 0.3, "optimizer": "adam", "learning_rate": 0.01}
    uninterrupted = train(tmp_path / "whole", **settings)
    plain = train(tmp_path / "plain", **settings | {"average": None})
    assert uninterrupted.history["loss"].tolist() == plain.history["loss"].tolist()
    assert uninterrupted.history["val_perplexity"].tolist() != plain.history["val_perplexity"].tolist()
    assert uninterrupted.metrics["dev_perplexity"] == pytest.approx(
        uninterrupted.history["val_perplexity"].min(), rel=1e-5
    )
    with interrupted(epoch=2, batch=1):
        train(tmp_path / "run", **settings)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run.unfinished").rename(tmp_path / "elsewhere" / "run.unfinished")  # as to another machine
    resumed = train(tmp_path / "elsewhere" / "run", **settings)
    for ours, theirs in zip(resumed.network.get_weights(), uninterrupted.network.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_short_schedule_has_the_papers_arguments_and_says_so():
    for wiring, perplexity in (("dense", 80.4), ("stacked", 100.9)):
        short, full = (zoo.get_recipe(f"godin2017_{wiring}_200x2{end}") for end in ("_30_epochs", ""))
        assert short.models == full.models
        assert (short.epochs, short.learning_rate_decay, short.decay_after) == (30, 0.85, 6)
        assert short.expected == {"ptb": perplexity}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dataset": "trec"}, "Corpus 'trec' is for classification, not for language_model. Accepted: demo, "),
        ({"dataset": "pbt"}, "Unknown corpus 'pbt'. Did you mean 'ptb'"),
        ({"dataset": zoo.load_corpus("demo")}, "needs a LanguageCorpus of text; received Corpus"),
        ({"dataset": LanguageCorpus("mine", ["a b"], None, None)}, "mine has no dev text"),
        ({"dataset": LanguageCorpus("mine", ["a b"], ["a"], None)}, "5 streams of 12 steps need at least 65 tokens"),
        ({"oov": "unk"}, "oov is not an option for language_model; received 'unk'"),
        ({"max_words": 1}, "max_words must be an integer of at least 2; received 1"),
        ({"min_count": 0}, "min_count must be"),
        ({"num_steps": 0}, "num_steps must be"),
        ({"decay_after": 0}, "decay_after must be"),
        ({"recipe": "godin2017_stacked_200x2"}, "is for stacked_lstm_lm, not for 'dense_lstm_lm'"),
        ({"vocab_size": 9}, "vocab_size is derived from the data"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", **arguments)
    assert not list(tmp_path.iterdir())


def test_classifiers_refuse_running_text_and_its_options(tmp_path):
    with pytest.raises(ValueError, match="Corpus 'ptb' is for language_model, not for classification"):
        zoo.train("bilstm", "ptb", tmp_path / "run")
    with pytest.raises(ValueError, match="needs a Corpus of labelled texts; received LanguageCorpus"):
        zoo.train("bilstm", small_demo("language_model"), tmp_path / "run")
    with pytest.raises(ValueError, match="num_steps is not an option for classification; received 35"):
        zoo.train("bilstm", "demo", tmp_path / "run", num_steps=35)
    with pytest.raises(ValueError, match="folds=3 needs a corpus of labelled texts; demo is not one"):
        zoo.run_protocol("dense_lstm_lm", small_demo("language_model"), tmp_path / "run", folds=3)


@pytest.mark.slow
def test_several_seeds_have_a_mean_perplexity(tmp_path):
    settings = {
        "epochs": 1,
        "batch_size": 5,
        "num_steps": 12,
        "max_words": 90,
        "progress": False,
        **sizes("language_model"),
    }
    result = zoo.run_protocol("stacked_lstm_lm", small_demo("language_model"), tmp_path / "run", seeds=2, **settings)
    perplexities = [zoo.load(tmp_path / "run" / f"seed{i}").metrics["test_perplexity"] for i in (1, 2)]
    assert result.measure == "test_perplexity"
    assert result.mean == pytest.approx(np.mean(perplexities))
    assert f"test perplexity {np.mean(perplexities):.2f} ± {np.std(perplexities, ddof=1):.2f} (stand" in str(result)


@pytest.mark.slow
def test_the_command_line_scores_continues_and_evaluates(run_dir, text_files, capsys, tmp_path):
    bundle = zoo.load(run_dir)
    texts = ["the king reigns .", ""]
    expected = bundle.score(texts)
    _, out, _ = output_of(capsys, "score", run_dir, *texts)
    assert out.splitlines() == [f"{s.log_probability:.4f}\t{s.perplexity:.2f}\t{s.text}" for s in expected]
    _, out, _ = output_of(capsys, "score", run_dir, *texts, "--format", "jsonl")
    assert [json.loads(line)["tokens"] for line in out.splitlines()] == [5, 1]
    _, out, _ = output_of(capsys, "score", run_dir, *texts, "--format", "csv")
    assert out.splitlines()[0] == "text,log_probability,perplexity,tokens,unknown_words"
    (tmp_path / "in.csv").write_text("id,text,tokens\n7,the king reigns .,x\n")
    _, out, _ = output_of(capsys, "score", run_dir, "--file", tmp_path / "in.csv")
    head, row = csv.reader(out.splitlines())
    assert head[:4] == ["id", "text", "tokens", "predicted_log_probability"]
    assert row[:3] == ["7", "the king reigns .", "x"]
    assert float(row[3]) == pytest.approx(expected[0].log_probability, abs=1e-5)
    _, out, _ = output_of(capsys, "next-words", run_dir, "the old", "-k", "2")
    assert out.splitlines() == [f"{p:.4f}\t{word}" for word, p in bundle.next_words("the old", 2)]
    _, out, _ = output_of(capsys, "generate", run_dir, "the king", "--seed", "4", "--count", "2", "--max-tokens", "6")
    assert out.splitlines() == [f"the king {bundle.generate('the king', 6, seed=s).text}".strip() for s in (4, 5)]
    _, out, _ = output_of(capsys, "evaluate", run_dir, "--test-file", text_files / "test.txt")
    perplexity, tokens = bundle.metrics["test_perplexity"], bundle.metrics["test_tokens"]
    assert out.startswith(f"test perplexity {perplexity:.2f}, {tokens:,} tokens, ")
    _, out, _ = output_of(capsys, "evaluate", run_dir, "--dataset", "demo", "--report", tmp_path / "report")
    assert "test perplexity" in out
    assert "By frequency" in (tmp_path / "report" / "report.md").read_text()


def test_commands_for_another_task_say_which_to_use(run_dir, capsys):
    status, _, err = output_of(capsys, "predict", run_dir, "a")
    assert status == 2
    commands = "use score, generate or next-words"
    assert err == f"error: {run_dir} is for language_model, not for classification or tagging: {commands}.\n"
    assert output_of(capsys, "generate", run_dir, "--count", "0")[2] == (
        "error: count must be an integer of at least 1; received 0.\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "train.txt is empty"),
        (b" \n\n", "train.txt is empty"),
        (b"one\n", "has only one line, so none can be held out"),
        (b"one\ntwo\n", "20 streams of 35 steps need at least 720 tokens; received 2"),
        (b"caf\xe9\nb\n", r"train.txt, line 1 is not utf-8"),
    ],
)
def test_a_file_that_cannot_be_trained_on_is_one_plain_line(tmp_path, capsys, content, message):
    (tmp_path / "train.txt").write_bytes(content)
    run = ["train", "stacked_lstm_lm", "--dataset", "text", "--run-dir", tmp_path / "run", "--quiet"]
    status, _, err = output_of(capsys, *run, "--train-file", tmp_path / "train.txt")
    assert status == 2
    assert message in err
    assert len(err.splitlines()) == 1
    assert [f.name for f in tmp_path.iterdir()] == ["train.txt"]


@pytest.mark.slow
def test_a_line_of_100_000_words_is_trained_on_and_scored(tmp_path):
    line = "the cat sat on the mat " * 16_667
    corpus = LanguageCorpus("long", [line], ["the cat sat"], None)
    bundle = train(tmp_path / "run", dataset=corpus, epochs=1, batch_size=50, num_steps=500, dropout=0.0)
    assert "test_perplexity" not in bundle.metrics
    score = bundle.score([line])[0]
    assert score.tokens == 100_003
    assert score.perplexity < 6


def test_the_encoded_text_of_files_is_gone_at_the_end_of_a_run(tmp_path):
    demo = small_demo("language_model")
    for part in ("train", "dev"):
        (tmp_path / f"{part}.txt").write_text("\n".join(getattr(demo, part)) + "\n")
    corpus = LanguageCorpus("mine", TextFile(tmp_path / "train.txt"), TextFile(tmp_path / "dev.txt"), None)
    options = {"units": 4, "embedding_dim": 4, "batch_size": 5, "num_steps": 12, "epochs": 1, "progress": False}
    zoo.train("stacked_lstm_lm", corpus, tmp_path / "run", **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.txt", "run", "train.txt"]


@pytest.mark.slow
def test_a_model_whose_test_file_goes_during_the_training_is_saved_without_scores(tmp_path):
    class Remove(keras.callbacks.Callback):
        def on_train_end(self, logs=None):
            (tmp_path / "test.txt").unlink()

    demo = small_demo("language_model")
    (tmp_path / "test.txt").write_text("\n".join(demo.test) + "\n")
    corpus = LanguageCorpus("mine", demo.train, demo.dev, TextFile(tmp_path / "test.txt"))
    options = {"units": 4, "embedding_dim": 4, "batch_size": 5, "num_steps": 12, "epochs": 1, "progress": False}
    with pytest.raises(ValueError, match=r"run, but could not be scored: .*test\.txt does not exist"):
        zoo.train("stacked_lstm_lm", corpus, tmp_path / "run", callbacks=[Remove()], **options)
    bundle = zoo.load(tmp_path / "run")
    assert "test_perplexity" not in bundle.metrics
    assert bundle.metrics["epochs"] == 1
    assert not (tmp_path / "run.unfinished").exists()


@pytest.mark.slow
def test_a_model_is_saved_though_the_folder_around_it_is_removed_at_the_end(tmp_path, monkeypatch):
    writes, write = [], LanguageModelBundle._write

    def write_and_remove(self, folder, *options):
        writes.append(folder)
        write(self, folder, *options)
        if len(writes) == 1:
            shutil.rmtree(tmp_path / "runs")

    monkeypatch.setattr(LanguageModelBundle, "_write", write_and_remove)
    train(tmp_path / "runs" / "mine", epochs=1)
    assert zoo.load(tmp_path / "runs" / "mine").metrics["epochs"] == 1
    assert len(writes) == 2
