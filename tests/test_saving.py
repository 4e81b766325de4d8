"""Saving keeps the model even if figures and reports fail, and never shows scores of other weights."""

import dataclasses
import errno
import hashlib
import json
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import plots, report
from dense_lstm_zoo.classification import report as classification_report
from dense_lstm_zoo.classification.analysis import analyse
from dense_lstm_zoo.classification.bundle import ClassificationBundle
from dense_lstm_zoo.classification.corpus import Split
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.training.checkpoint import Checkpoint
from tests.bundle_harness import WORDS

NEEDED = (
    "config.json evaluation.json history.csv labels.json manifest.json metrics.json model.weights.h5 vocabulary.txt"
)
FOR_PEOPLE = ["README.md", "learning_curve.png", "report.md", "report.png"]
UGLY = [
    *(
        "$",
        "$x",
        r"$\frac{",
        r"\$5",
        "$a$ or $b$",
        "two\nlines",
        "tab\there",
        "nul\0",
        "long " * 400,
        "日本語",
        "שלום עולם",
    ),
    *(
        "\u202egnol",
        "<script>alert(1)</script>",
        "a|b\\|c",
        "`" * 90,
        "[x](javascript:alert(1))",
        "_hidden",
        "😀",
        "%s{0}",
    ),
]


def made(labels, texts=300):
    """An untrained classifier with scores of random predictions."""
    vocabulary = Vocabulary(WORDS)
    arguments = {"vocab_size": vocabulary.size, "num_classes": len(labels), "embedding_dim": 3, "units": 2}
    arguments |= {"kernel": "auto"}
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(len(labels)), texts)
    found = analyse([f"text {i}" for i in range(texts)], rng.integers(0, len(labels), texts), probabilities, labels)
    return ClassificationBundle(
        zoo.build("lstm", **arguments),
        {
            **{"task": "classification", "model": "lstm", "arguments": arguments, "text": {}},
            **{"training": {"dataset": "mine", "seed": 1}, "versions": {"dense-lstm-zoo": "0.1.0"}},
        },
        vocabulary,
        list(labels),
        {
            **{"test_accuracy": 0.625, "test_loss": 0.5, "test_texts": texts, "best_epoch": 1, "epochs": 2},
            **{"parameters": 100, "encoder_parameters": 50, "seconds": 1.0},
        },
        pd.DataFrame({"epoch": [1, 2], "loss": 0.5, "val_loss": 0.5, "accuracy": 0.5, "val_accuracy": [0.875, 0.5]}),
        {"split": "test", **found},
    )


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture(scope="module")
def plain():
    return made(["no", "yes"])


def same_weights(bundle, other):
    pairs = zip(bundle.model.get_weights(), other.model.get_weights(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def test_no_label_however_odd_stops_a_save_or_spoils_a_picture(tmp_path):
    bundle = made(UGLY)
    bundle.save(tmp_path / "run")
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), *FOR_PEOPLE])
    again = zoo.load(tmp_path / "run")
    assert again.labels == UGLY
    assert same_weights(again, bundle)


@pytest.mark.parametrize("classes", [300, 1500])
def test_many_classes_make_no_larger_picture_and_an_evaluation_that_grows_with_the_texts(tmp_path, classes):
    bundle = made([f"label {i}" for i in range(classes)], texts=2000)
    bundle.save(tmp_path / "run")
    picture = (tmp_path / "run" / "report.png").read_bytes()
    width, height = (int.from_bytes(picture[i : i + 4], "big") for i in (16, 20))  # PNG's header
    assert max(width, height) < 3000
    assert (tmp_path / "run" / "evaluation.json").stat().st_size < 1_000_000
    again = zoo.load(tmp_path / "run")
    assert again.evaluation == bundle.evaluation


def test_an_evaluation_of_many_classes_from_an_older_version_is_still_shown(tmp_path):
    bundle = made([f"label {i}" for i in range(120)])
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 2, (120, 120))
    counts[7, 9] = 50
    bundle.evaluation["confusion"] = counts.tolist()
    bundle.evaluation.pop("confusion_cells", None)
    bundle.save(tmp_path / "run")
    assert "| 50 | label 7 | label 9 |" in (tmp_path / "run" / "report.md").read_text()
    assert "report.png" in names(tmp_path / "run")


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def too_large(*_, **__):
    raise MemoryError("Unable to allocate 4.6 GiB")


def broken(*_, **__):
    raise RuntimeError("FreeType is\nbroken")


@pytest.mark.parametrize("failure", [full_disk, too_large, broken], ids=lambda f: f.__name__)
def test_a_picture_that_fails_is_told_in_one_line_and_the_bundle_is_whole(plain, tmp_path, monkeypatch, failure):
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", failure)
    with pytest.warns(UserWarning, match=r"report\.png") as told:
        plain.save(tmp_path / "run")
    (warning,) = (found for found in told if found.category is UserWarning)
    assert "learning_curve.png" in str(warning.message)
    assert len(str(warning.message).splitlines()) == 1
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), "README.md", "report.md"])
    assert same_weights(zoo.load(tmp_path / "run"), plain)


@pytest.mark.parametrize("writer", ["model_card", "markdown"])
def test_a_card_or_report_that_fails_is_told_and_the_bundle_is_whole(plain, tmp_path, monkeypatch, writer):
    monkeypatch.setattr(report if writer == "model_card" else classification_report, writer, broken)
    with pytest.warns(UserWarning, match="FreeType is broken"):
        plain.save(tmp_path / "run")
    missing = {"model_card": "README.md", "markdown": "report.md"}[writer]
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), *(set(FOR_PEOPLE) - {missing})])
    assert same_weights(zoo.load(tmp_path / "run"), plain)


def test_a_picture_half_written_on_a_full_disk_is_not_left(plain, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def half(self, file, **_):
        file.write(b"\x89PNG")
        full_disk()

    monkeypatch.setattr(Figure, "savefig", half)
    with pytest.warns(UserWarning, match="No space left on device"):
        plain.save(tmp_path / "run")
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), "README.md", "report.md"])


def test_without_matplotlib_there_are_no_pictures_and_no_warning(plain, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plain.save(tmp_path / "run")
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), "README.md", "report.md"])


def test_ctrl_c_while_a_picture_is_drawn_goes_through_and_leaves_a_whole_bundle(plain, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(plots, "learning_curve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        plain.save(tmp_path / "run")
    assert same_weights(zoo.load(tmp_path / "run"), plain)


def test_the_users_own_matplotlib_is_left_alone_and_cannot_break_the_pictures(plain, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"text.usetex": True, "axes.formatter.use_mathtext": True}):
        before = dict(matplotlib.rcParams)
        plain.save(tmp_path / "run")
        assert dict(matplotlib.rcParams) == before
    assert set(FOR_PEOPLE) <= set(names(tmp_path / "run"))
    assert not [name for name in sys.modules if name.startswith("matplotlib.backends.backend_tk")]


@pytest.mark.slow
def test_a_process_killed_while_it_draws_leaves_a_whole_bundle(tmp_path):
    script = f"""
    import os, signal
    from dense_lstm_zoo import plots
    from tests.test_saving import made
    plots.learning_curve = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    made(["no", "yes"]).save({str(tmp_path / "run")!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(zoo.load(tmp_path / "run").predict(["the film was good"])) == 1


def sealed_by_an_older_version(folder):
    """Write the manifest as version 0.1.0 did: every file is in it."""
    sums = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.iterdir() if f.name != "manifest.json"}
    body = json.dumps({"format": 2, "sha256": sums}, indent=2, sort_keys=True, ensure_ascii=False)
    seal = hashlib.sha256(body.encode()).hexdigest()
    (folder / "manifest.json").write_text(f"{body}\nsha256 of the above: {seal}\n")


@pytest.mark.parametrize("older", [False, True], ids=["now", "older"])
def test_what_is_for_people_may_be_edited_and_deleted_but_not_what_the_model_needs(plain, tmp_path, older):
    folder = plain.save(tmp_path / "run")
    if older:
        sealed_by_an_older_version(folder)
    (folder / "README.md").write_text("my own card")
    (folder / "report.md").unlink()
    (folder / "report.png").write_bytes(b"")
    (folder / "my notes.txt").write_text("mine")
    assert same_weights(zoo.load(folder), plain)
    (folder / "metrics.json").write_text("{}")
    with pytest.raises(zoo.BundleError, match=r"metrics\.json"):
        zoo.load(folder)


SCORES = ("0.6250", "0.875", "test_accuracy")


def trained_further(bundle, tmp_path):
    ids = np.ones((4, 3), np.int32)
    bundle.model.fit(ids, np.zeros(4, np.int32), epochs=1, verbose=0)


def given_other_weights(bundle, tmp_path):
    bundle.model.set_weights([weight + 1 for weight in bundle.model.get_weights()])


def one_weight_set(bundle, tmp_path):
    variable = bundle.model.trainable_variables[-1]
    variable.assign(variable + 1e-6)


def weights_loaded(bundle, tmp_path):
    other = made(["no", "yes"])
    given_other_weights(other, tmp_path)
    other.model.save_weights(tmp_path / "other.weights.h5")
    bundle.model.load_weights(tmp_path / "other.weights.h5")


def another_model(bundle, tmp_path):
    other = made(["no", "yes"])
    given_other_weights(other, tmp_path)
    bundle.model = other.model


CHANGES = [(trained_further, True), (given_other_weights, True), (one_weight_set, False)]
CHANGES += [(weights_loaded, False), (another_model, False)]


@pytest.mark.parametrize(("change", "loaded"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
def test_weights_that_changed_are_saved_without_the_scores_of_others(tmp_path, change, loaded):
    bundle = made(["no", "yes"])
    if loaded:
        bundle = zoo.load(bundle.save(tmp_path / "first"))
    change(bundle, tmp_path)
    with pytest.warns(UserWarning, match=r"saved without scores: its weights have changed .*bundle\.rescore"):
        bundle.save(tmp_path / "run")
    again = zoo.load(tmp_path / "run")
    assert same_weights(again, bundle)
    assert again.metrics == {"parameters": 100, "encoder_parameters": 50, "changed": again.metrics["changed"]}
    assert again.evaluation == {}
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), "README.md"])
    shown = [repr(again), *((tmp_path / "run" / name).read_text() for name in ("README.md", "metrics.json"))]
    assert not [score for score in SCORES for text in shown if score in text]
    again.save(tmp_path / "again")  # there is nothing left to take away, and so no warning
    assert zoo.load(tmp_path / "again").metrics == again.metrics


def test_weights_that_are_scored_or_set_to_what_they_were_keep_their_scores(tmp_path):
    bundle = zoo.load(made(["no", "yes"]).save(tmp_path / "first"))
    before = bundle.model.get_weights()
    given_other_weights(bundle, tmp_path)
    bundle.model.set_weights(before)
    bundle.predict(["the film", ""])
    bundle.save(tmp_path / "run")
    assert zoo.load(tmp_path / "run").metrics["test_accuracy"] == 0.625
    assert "0.6250" in (tmp_path / "run" / "README.md").read_text()


def test_scored_again_the_bundle_has_the_scores_of_its_weights(tmp_path):
    bundle = made(["no", "yes"])
    given_other_weights(bundle, tmp_path)
    test = Split(["the film was good", "bad", "very long", "it"], [0, 0, 1, 0])
    predicted = [found.label for found in bundle.predict(test.texts)]
    right = np.mean([bundle.labels[y] == label for y, label in zip(test.labels, predicted, strict=True)])
    bundle.rescore(test=test)
    bundle.save(tmp_path / "run")
    again = zoo.load(tmp_path / "run")
    assert (again.metrics["test_accuracy"], again.metrics["test_texts"]) == (right, 4)
    assert again.metrics == bundle.metrics
    assert "best_epoch" not in again.metrics
    assert np.sum(again.evaluation["confusion"]) == 4
    card = (tmp_path / "run" / "README.md").read_text()
    assert f"{right:.4f} (4 texts)" in card
    assert "0.6250" not in card


def test_a_score_that_is_no_number_stops_no_save(plain, tmp_path):
    metrics = {**plain.metrics, "test_loss": float("inf"), "dev_loss": float("nan")}
    dataclasses.replace(plain, metrics=metrics).save(tmp_path / "run")
    found = zoo.load(tmp_path / "run").metrics
    assert np.isnan([found["test_loss"], found["dev_loss"]]).all()
    assert json.loads((tmp_path / "run" / "metrics.json").read_text(), parse_constant=pytest.fail)["test_loss"] is None


def test_an_epoch_of_infinite_perplexity_is_written_and_a_better_one_follows_it(tmp_path):
    model = made(["no", "yes"]).model

    def checkpoint():
        found = Checkpoint(tmp_path / "state", {}, 3, monitor="val_perplexity", higher_is_better=False)
        found.set_model(model)
        return found

    with checkpoint() as first:
        first.on_epoch_end(0, {"loss": 120.0, "val_perplexity": float("inf")})
    json.loads((tmp_path / "state" / "state.json").read_text(), parse_constant=pytest.fail)
    with checkpoint() as second:
        assert (second.epochs, second.best_epoch) == (1, 1)
        second.resume(model)
        second.on_epoch_end(1, {"loss": 6.0, "val_perplexity": 400.0})
        assert second.best_epoch == 2
