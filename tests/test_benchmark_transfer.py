"""The comparison of training from scratch with training from a trained model: its subsets of the training texts."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks import heat_maps, pretraining_curves, transfer
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from tests import bundle_harness, text_encoder_harness

SPLIT = Split([f"text {i}" for i in range(200)], [0] * 150 + [1] * 48 + [2] * 2)


@pytest.mark.parametrize(("size", "counts"), [(100, {0: 75, 1: 24, 2: 1}), (3, {0: 1, 1: 1, 2: 1}), (200, None)])
def test_a_subset_has_every_label_in_its_share(size, counts):
    part = transfer.subset(SPLIT, size, seed=1)
    assert len(part) == size == len(set(part.texts))
    assert Counter(part.labels) == (counts or Counter(SPLIT.labels))
    label_of = dict(zip(SPLIT.texts, SPLIT.labels, strict=True))
    assert [label_of[text] for text in part.texts] == part.labels


def test_a_seed_draws_the_same_subset_and_another_seed_another_one():
    first, again, other = (transfer.subset(SPLIT, 50, seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("size", [2, 201])
def test_a_size_that_cannot_be_drawn_is_refused(size):
    with pytest.raises(ValueError, match=f"size must be from 3 to 200; received {size}"):
        transfer.subset(SPLIT, size, seed=1)


def test_every_size_has_the_same_dev_and_test_texts():
    corpus = Corpus("mine", ("a", "b"), Split([f"text {i}" for i in range(100)], [0, 1] * 50), None, None)
    small, full = (transfer.corpus_of(corpus, size, seed=2) for size in (10, None))
    assert (small.dev, small.test) == (full.dev, full.test)
    assert len(small.train) == 10
    assert len(full.train) == 81
    assert set(small.train.texts) < set(full.train.texts)


def test_the_picture_is_drawn(tmp_path):
    rows = [
        {"dataset": "trec", "start": start, "train_texts": texts, "accuracy_mean": 50 + texts, "accuracy_std": spread}
        for start, spread in (("from scratch", 1.5), ("from sst2", ""))
        for texts in (10, 40)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    transfer.draw(tmp_path / "rows.csv", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def made_up(model, corpus):
    """Return the result of ``transfer.run`` for a run that has not been trained."""
    metrics = {"test_accuracy": 0.5, "dev_accuracy": 0.6, "train_texts": len(corpus.train), "best_epoch": 2}
    config = {"model": model, "training": {"vectors": "zoo_600d"}, "versions": {}}
    return {"config": config, "metrics": {**metrics, "seconds": 1.0}}


def test_a_source_that_was_trained_again_at_the_same_path_has_runs_of_its_own(tmp_path, monkeypatch):
    folders = []

    def run(model, corpus, folder, settings):
        folders.append(folder.name)
        return made_up(model, corpus)

    monkeypatch.setattr(transfer, "run", run)
    monkeypatch.setattr(transfer, "RESULTS", tmp_path / "rows.csv")
    monkeypatch.setattr(transfer, "draw", lambda: None)
    source = ["--source", str(tmp_path / "source")]
    monkeypatch.setattr("sys.argv", ["transfer", *source, "--datasets", "demo", "--seeds", "1"])
    bundle = bundle_harness.bundle("bilstm")
    for number in (0.5, 0.25):
        bundle.model.set_weights([np.full(weights.shape, number) for weights in bundle.model.get_weights()])
        bundle.save(tmp_path / "source", overwrite=True)
        transfer.main()
    first, second = folders[: len(transfer.SIZES) * 2], folders[len(transfer.SIZES) * 2 :]
    assert set(first) & set(second) == {f"demo_{size}_from_scratch_seed1" for size in (100, 500, "all")}
    assert len(set(first) - set(second)) == len(set(second) - set(first)) == len(transfer.SIZES)
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert set(rows["start"]) == {"from scratch", "from source"}
    assert len(rows) == 2 * len(transfer.SIZES)  # the second source's rows replace the first one's


@pytest.mark.parametrize(
    ("sizes", "seeds", "message"),
    [
        ([None], 0, "--seeds must be an integer of at least 1; received 0"),
        ([None], 11, r"mine has no test texts .* --seeds must be at most 10; received 11"),
        ([None, 500], 1, "size must be from 2 to 81; received 500"),
    ],
)
def test_seeds_and_sizes_without_texts_are_refused_before_any_training(sizes, seeds, message):
    corpus = Corpus("mine", ("a", "b"), Split([f"text {i}" for i in range(100)], [0, 1] * 50), None, None)
    with pytest.raises(ValueError, match=message):
        transfer.check_parts({"mine": corpus}, sizes, seeds)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sizes", "100", "abc"], "--sizes takes numbers of training texts, and 'all'; received 'abc'."),
        (["--seeds", "0"], "--seeds must be an integer of at least 1; received 0."),
    ],
)
def test_a_curve_of_what_is_no_number_is_refused_on_one_line(words, message, tmp_path, monkeypatch):
    text_encoder_harness.encoder().save(tmp_path / "encoder")
    arguments = ["--encoder", str(tmp_path / "encoder"), "--datasets", "demo", *words]
    monkeypatch.setattr("sys.argv", ["pretraining_curves", *arguments])
    monkeypatch.setattr(transfer, "run", lambda *_: pytest.fail("a run began"))
    with pytest.raises(SystemExit) as stopped:
        pretraining_curves.main()
    assert str(stopped.value) == f"error: {message}"


def test_curves_of_pretraining_have_a_row_for_each_start_and_size(tmp_path, monkeypatch):
    trained = []

    def run(model, corpus, folder, settings):
        trained.append((model, len(corpus.train), settings.get("context"), settings.get("init_from"), settings["seed"]))
        return made_up(model, corpus)

    encoder = text_encoder_harness.encoder()
    encoder.save(tmp_path / "encoder")
    monkeypatch.setattr(transfer, "run", run)
    monkeypatch.setattr(pretraining_curves, "RESULTS", tmp_path / "rows.csv")
    monkeypatch.setattr(pretraining_curves, "PICTURE", tmp_path / "rows.png")
    arguments = ["--encoder", str(tmp_path / "encoder"), "--datasets", "demo", "--sizes", "20", "all", "--seeds", "2"]
    monkeypatch.setattr("sys.argv", ["pretraining_curves", *arguments, "--run-dir", str(tmp_path / "runs")])
    pretraining_curves.main()
    folder = str(tmp_path / "encoder")
    starts = [("dc_bilstm", None, None), ("dc_bilstm", folder, None), ("lm_classifier", None, folder)]
    expected = [
        (model, size, context, init, seed) for size in (20, 4000) for model, context, init in starts for seed in (1, 2)
    ]
    assert trained == expected
    rows = pd.read_csv(tmp_path / "rows.csv", keep_default_na=False)
    assert list(zip(rows["start"], rows["texts"].astype(str), strict=True)) == [
        (start, size) for size in ("20", "all") for start in ("from scratch", "context", "fine-tuned")
    ]
    assert rows["encoder"].tolist() == ["", *[encoder.sha256[:12]] * 2] * 2
    assert set(rows["command"]) == {"python -m benchmarks.pretraining_curves " + " ".join(arguments)}
    assert (tmp_path / "rows.png").is_file()


def test_a_curve_takes_its_row_of_all_texts_from_the_table_of_pretraining(tmp_path, monkeypatch):
    encoder = text_encoder_harness.encoder()
    encoder.save(tmp_path / "encoder")
    same = {"dataset": "demo", "recipe": "r", "settings": "", "vectors": "v", "protocol": "seeds 1 2"}
    same |= {"best_epochs": "1 2", "seconds_median": 3, "versions": "", "processor": "p", "command": "c"}
    rows_before = [
        {"start": "scratch", "model": "dc_bilstm", "encoder_sha256": "", "accuracy_mean": 50},
        {"start": "context", "model": "dc_bilstm", "encoder_sha256": encoder.sha256, "accuracy_mean": 60},
        {"start": "fine-tuned", "model": "lm_classifier", "encoder_sha256": "another", "accuracy_mean": 70},
    ]
    scores = {"accuracy_std": 1, "accuracies": "", "dev_accuracy_mean": 40}
    pd.DataFrame([{**same, **scores, **row} for row in rows_before]).to_csv(tmp_path / "whole.csv", index=False)
    monkeypatch.setattr(pretraining_curves, "WHOLE", tmp_path / "whole.csv")
    corpus = zoo.load_corpus("demo", "classification")

    def row(start, model, seeds=2):
        return pretraining_curves.of_all_texts(encoder, corpus, start, model, seeds)

    assert row("from scratch", "dc_bilstm")["accuracy_mean"] == "50"
    context = row("context", "dc_bilstm")
    assert (context["accuracy_mean"], context["texts"], context["train_texts"]) == ("60", "all", 4000)
    assert (context["settings"], context["encoder"]) == ("recipe=r", encoder.sha256[:12])
    assert row("fine-tuned", "lm_classifier") is None  # of another encoder
    assert row("context", "dc_bilstm", seeds=3) is None


@pytest.mark.slow
def test_heat_maps_have_a_row_for_each_word_and_a_picture_of_each_sentence(tmp_path, monkeypatch):
    small = {"num_dense_layers": 2, "dense_units": 4, "top_units": 6, "embedding_dim": 8, "epochs": 1}

    def run(model, corpus, folder, settings):
        zoo.train(model, corpus, folder, vectors=None, **small)
        return {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("config", "metrics")}

    monkeypatch.setattr(transfer, "run", run)
    monkeypatch.setattr(heat_maps, "SENTENCES", {"demo": "the soup was cold"})
    monkeypatch.setattr(heat_maps, "RESULTS", tmp_path / "heat_maps.csv")
    monkeypatch.setattr("sys.argv", ["heat_maps", "--datasets", "demo", "--run-dir", str(tmp_path / "runs")])
    heat_maps.main()
    rows = pd.read_csv(tmp_path / "heat_maps.csv")
    assert list(rows["token"]) == ["the", "soup", "was", "cold"]
    # A layer's shares sum to one: over the words, the least are below an even share and the greatest above it.
    assert rows["share_min"].sum() <= 4 <= rows["share_max"].sum()
    assert set(rows["label"]) <= {"negative", "positive"}
    assert set(rows["vectors"].isna()) == {True}  # trained without
    assert (tmp_path / "heat_map_demo.png").read_bytes().startswith(b"\x89PNG")
