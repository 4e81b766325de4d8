"""Several seeds and folds: the data of each run, what is kept, and repeated calls."""

import contextlib
import fcntl
import json
import weakref

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.reports import command_line
from dense_lstm_zoo.training import protocol
from tests.training_harness import TINY, interrupted, small_demo

SETTINGS = {"epochs": 2, "batch_size": 50, "progress": False, **TINY}


def run(folder, **options):
    return zoo.run_protocol("bilstm", small_demo(), folder, **{**SETTINGS, **options})


@pytest.fixture(scope="module")
def folds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("protocol") / "folds"
    return run(folder, folds=3), folder


def test_every_run_has_a_seed_and_the_texts_of_its_fold(tmp_path, monkeypatch):
    runs = {}

    def train_alone(name, corpus, run_dir, *, seed, **training):
        runs[run_dir.name] = seed, corpus
        run_dir.mkdir(parents=True)
        (run_dir / "manifest.json").touch()

    metrics = {"best_epoch": 1, "epochs": 1, "seconds": 1.0, "dev_accuracy": 0.5, "test_accuracy": 0.5}
    monkeypatch.setattr(protocol, "_train_alone", train_alone)
    monkeypatch.setattr(protocol, "_metrics", lambda run: metrics)
    run(tmp_path / "runs", folds=3, seeds=2, seed=4)
    assert {name: seed for name, (seed, _) in runs.items()} == {
        f"fold0{fold}_seed{seed}": seed for fold in (1, 2, 3) for seed in (4, 5)
    }
    whole = small_demo()
    for name, (_, corpus) in runs.items():
        fold = whole.fold(int(name[4:6]), 3)
        assert (corpus.train, corpus.dev, corpus.test) == (fold.train, fold.dev, fold.test)
    tested = [text for fold in (1, 2, 3) for text in runs[f"fold0{fold}_seed4"][1].test.texts]
    assert sorted(tested) == sorted(whole.train.texts)


@pytest.mark.slow
def test_folds_test_every_training_text_once_and_the_corpus_own_test_set_never(folds):
    result, folder = folds
    assert sorted(p.name for p in folder.iterdir()) == [
        "fold01_seed1",
        "fold02_seed1",
        "fold03_seed1",
        "protocol.json",
        "runs.csv",
        "summary.txt",
    ]
    assert result.runs["test_texts"].tolist() == [100, 100, 100]
    assert result.runs["dev_texts"].tolist() == [20, 20, 20]
    assert result.runs["train_texts"].tolist() == [180, 180, 180]
    accuracies = [zoo.load(folder / f"fold0{k}_seed1").metrics["test_accuracy"] for k in (1, 2, 3)]
    assert result.mean == pytest.approx(np.mean(accuracies))
    assert result.std == pytest.approx(np.std(accuracies, ddof=1))
    assert pd.read_csv(folder / "runs.csv")["run"].tolist() == [f"fold0{k}_seed1" for k in (1, 2, 3)]
    assert f"test accuracy {result.mean:.4f} ± {result.std:.4f}" in (folder / "summary.txt").read_text()


@pytest.mark.slow
def test_a_repeated_call_trains_nothing_and_more_seeds_or_folds_are_added(folds, monkeypatch):
    result, folder = folds
    trained = []
    real = protocol.train
    monkeypatch.setattr(
        protocol, "train", lambda *args, **options: trained.append(args[2].name) or real(*args, **options)
    )
    again = run(folder, folds=3)
    pd.testing.assert_frame_equal(again.runs, result.runs)
    assert trained == []
    more = run(folder, folds=3, only_folds=[2], seeds=2)
    assert trained == ["fold02_seed2"]
    assert more.runs["run"].tolist() == ["fold02_seed1", "fold02_seed2"]
    assert more.runs["test_accuracy"][0] == result.runs["test_accuracy"][1]
    table = pd.read_csv(folder / "runs.csv")  # of all runs that are there
    assert table["run"].tolist() == ["fold01_seed1", "fold02_seed1", "fold02_seed2", "fold03_seed1"]
    assert table["fold"].tolist() == [1, 2, 2, 3]
    monkeypatch.chdir(folder.parent)
    run(folder.name, folds=3, only_folds=[2])
    assert (folder / "summary.txt").read_text().endswith(f"4 runs in {folder.name}\n")  # as the folder was named


@pytest.mark.slow
def test_an_interrupted_cross_validation_goes_on_in_its_fold_with_the_same_result(folds, tmp_path):
    result, _ = folds
    with interrupted(epoch=1, batch=1):
        run(tmp_path / "again", folds=3)
    assert sorted(p.name for p in (tmp_path / "again").iterdir()) == ["fold01_seed1.unfinished", "protocol.json"]
    assert run(tmp_path / "again", folds=3, only_folds=[1]).mean == result.runs["test_accuracy"][0]
    resumed = run(tmp_path / "again", folds=3)
    columns = ["run", "test_accuracy", "dev_accuracy", "test_loss", "best_epoch"]
    pd.testing.assert_frame_equal(resumed.runs[columns], result.runs[columns], check_exact=True)


@pytest.mark.slow
def test_seeds_use_the_corpus_own_splits_and_sum_up_without_test_texts_too(tmp_path, monkeypatch):
    models = []

    def remembering(*arguments, **options):
        bundle = zoo.train(*arguments, **options)
        models.append(weakref.ref(bundle.model))
        return bundle

    monkeypatch.setattr(protocol, "train", remembering)
    result = run(tmp_path / "seeds", seeds=2, seed=7)
    assert [model() for model in models] == [None, None]  # many runs must not hold many models
    assert result.runs["run"].tolist() == ["seed7", "seed8"]
    assert result.runs["test_texts"].tolist() == [70, 70]
    demo = small_demo()
    no_test = zoo.Corpus("mine", demo.label_names, demo.train, demo.dev, None)
    (tmp_path / "v.txt").write_text("soup" + " 0.1" * SETTINGS["embedding_dim"] + "\n")
    monkeypatch.chdir(tmp_path)
    for vectors in ("v.txt", tmp_path / "v.txt"):  # one file: the second call finds the first one's run
        settings = {**SETTINGS, "epochs": 1, "vectors": vectors}
        result = zoo.run_protocol("bilstm", no_test, tmp_path / "mine", **settings)
    assert len(models) == 3
    assert (result.measure, result.std) == ("dev_accuracy", None)
    assert "dev accuracy" in str(result)
    assert "±" not in str(result)


@pytest.mark.slow
def test_other_settings_are_refused_by_name_and_leave_the_runs_alone(folds):
    _, folder = folds
    before = (folder / "protocol.json").read_bytes()
    with pytest.raises(
        ValueError, match=r"holds runs with other settings: batch_size was 50 and is 40\. Choose another"
    ):
        run(folder, folds=3, batch_size=40)
    with pytest.raises(ValueError, match="folds was 3 and is 4"):
        run(folder, folds=4)
    assert (folder / "protocol.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds must be an integer of at least 2"),
        ({"seeds": 0}, "seeds must be"),
        ({"only_folds": [1]}, r"only_folds=\[1\] needs folds"),
        ({"folds": 3, "only_folds": [4]}, "from 1 to 3; received 4"),
        ({"folds": 3, "only_folds": []}, "empty"),
        ({"overwrite": True}, "takes no overwrite"),
        ({"recipe": "ding"}, "Unknown recipe"),
        ({"unitz": 3}, "Unknown argument of bilstm: 'unitz'"),
    ],
)
def test_bad_protocols_are_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        run(tmp_path / "run", **options)
    assert not list(tmp_path.iterdir())


def test_the_folder_of_a_bundle_is_refused(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").touch()
    with pytest.raises(FileExistsError, match="run is a bundle; choose another folder for several runs"):
        run(tmp_path / "run", seeds=2)


@pytest.mark.slow
def test_a_fold_that_diverged_is_not_counted(tmp_path):
    run(tmp_path / "run", epochs=1)
    bundle = zoo.load(tmp_path / "run" / "seed1")
    bundle.metrics["diverged"] = "The loss became nan."
    bundle.save(tmp_path / "run" / "seed1", overwrite=True)
    with pytest.raises(ArithmeticError, match=r"seed1: The loss became nan"):
        run(tmp_path / "run", epochs=1)


@pytest.mark.slow
def test_the_command_line_runs_a_protocol(tmp_path, capsys):
    from dense_lstm_zoo.cli import main

    table = tmp_path / "mine.csv"
    table.write_text(
        "text,label\n" + "".join(f"it was {w} {i},{y}\n" for i in range(12) for w, y in (("a", 0), ("b", 1)))
    )
    command = ["train", "bilstm", "--dataset", "csv", "--train-file", str(table), "--run-dir", str(tmp_path / "run")]
    command += ["--units", "3", "--embedding-dim", "5", "--epochs", "1", "--folds", "2"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "run 2 of 2: fold02_seed1" in out
    assert json.loads((tmp_path / "run" / "protocol.json").read_text())["folds"] == 2
    config = zoo.load(tmp_path / "run" / "fold02_seed1").config
    assert config["training"]["fold"] == [2, 2]
    assert "--train-file mine.csv --folds 2 --only-folds 2 " in command_line.of(config)
    assert main([*command, "--only-folds", "3"]) == 2
    assert "only_folds must be from 1 to 2; received 3" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 2
    assert "takes no overwrite" in capsys.readouterr().err


def test_a_run_that_could_not_be_scored_is_told_and_is_not_joined_by_runs_with_other_settings(
    tmp_path, monkeypatch, request
):
    bundle = zoo.load(request.getfixturevalue("run")[1])
    bundle.metrics = {name: value for name, value in bundle.metrics.items() if not name.startswith(("dev_", "test_"))}

    def save_only(name, corpus, run_dir, **options):
        bundle.save(run_dir)
        raise ValueError("could not be scored")

    monkeypatch.setattr(protocol, "_train_alone", save_only)
    with pytest.raises(ValueError, match="could not be scored"):
        run(tmp_path / "runs", seeds=2)
    with pytest.raises(ValueError, match=r"runs/seed1 is a run without scores: .* Delete it, and the same call"):
        run(tmp_path / "runs", seeds=2)
    with pytest.raises(ValueError, match="batch_size was 50 and is 40"):
        run(tmp_path / "runs", seeds=2, batch_size=40)
    assert not list(protocol.finished_runs(tmp_path / "runs"))


@pytest.mark.parametrize("name", ["seed1/manifest.json", "fold02_seed3/manifest.json", "runs.csv", "summary.txt"])
def test_runs_and_results_that_no_protocol_wrote_are_neither_adopted_nor_replaced(tmp_path, name):
    file = tmp_path / "runs" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    with pytest.raises(FileExistsError, match=rf"runs holds {name.split('/')[0]} but no protocol\.json, so that"):
        run(tmp_path / "runs")
    assert [path.read_text() for path in (tmp_path / "runs").rglob("*.*") if path.is_file()] == ["mine"]


def test_the_settings_are_there_before_a_run_ends_and_go_if_none_has_begun(tmp_path, monkeypatch):
    sizes = []

    def train_alone(name, corpus, run_dir, **options):
        sizes.append(json.loads((run_dir.parent / "protocol.json").read_text())["batch_size"])
        if begins:
            run_dir.with_name("seed1.unfinished").mkdir()
            run_dir.with_name("seed1.unfinished").joinpath("state.json").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(protocol, "_train_alone", train_alone)
    for begins in (False, True):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "new" / "runs")
        assert (tmp_path / "new").exists() == begins
    with pytest.raises(ValueError, match="batch_size was 50 and is 40"):
        run(tmp_path / "new" / "runs", batch_size=40)
    assert sizes == [50, 50]
    begins = False
    (tmp_path / "other" / "seed1.unfinished").mkdir(parents=True)  # of another command: it may have other settings
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["seed1.unfinished"]


def test_two_processes_with_other_settings_do_not_share_a_new_folder(tmp_path, monkeypatch):
    ours, theirs = ({"model": "bilstm", "dataset": "demo", "batch_size": size} for size in (40, 50))
    with protocol._claim(tmp_path / "runs", ours):
        with pytest.raises(ValueError, match="batch_size was 40 and is 50"), protocol._claim(tmp_path / "runs", theirs):
            pytest.fail("it trained")
        assert json.loads((tmp_path / "runs" / "protocol.json").read_text()) == ours
    real = protocol.files.new_file

    @contextlib.contextmanager
    def new_file(path, mode):
        with real(path, mode) as file:
            yield file
        path.write_text(json.dumps(theirs))  # both write it at the same time
        stack.enter_context(protocol._locked(path, fcntl.LOCK_SH))

    monkeypatch.setattr(protocol.files, "new_file", new_file)
    with (
        contextlib.ExitStack() as stack,
        pytest.raises(ValueError, match="batch_size was 50 and is 40"),
        protocol._claim(tmp_path / "others", ours),
    ):
        pytest.fail("it trained")


def test_settings_that_a_kill_left_without_a_run_are_replaced(tmp_path):
    ours, theirs = ({"model": "bilstm", "dataset": "demo", "batch_size": size} for size in (40, 50))
    (tmp_path / "seed1.unfinished").mkdir()
    (tmp_path / "seed1.unfinished" / "lock").touch()
    (tmp_path / "protocol.json").write_text(json.dumps(theirs))
    with protocol._claim(tmp_path, ours):
        assert json.loads((tmp_path / "protocol.json").read_text()) == ours
    for name in ("runs.csv", "seed1.unfinished/state.json"):  # the bundles of a table may be gone
        (tmp_path / name).touch()
        with pytest.raises(ValueError, match="batch_size was 40 and is 50"), protocol._claim(tmp_path, theirs):
            pytest.fail("it trained")
        (tmp_path / name).unlink()


def test_a_process_that_is_interrupted_early_leaves_the_settings_that_another_uses(tmp_path):
    shared = {"model": "bilstm", "dataset": "demo", "folds": 2}

    def begin(other):
        with protocol._claim(tmp_path / "runs", shared):
            other.enter_context(protocol._claim(tmp_path / "runs", shared))
            raise KeyboardInterrupt

    with contextlib.ExitStack() as other:
        with pytest.raises(KeyboardInterrupt):
            begin(other)
        assert json.loads((tmp_path / "runs" / "protocol.json").read_text()) == shared


def test_settings_without_effect_are_no_other_settings(tmp_path):
    path = tmp_path / "protocol.json"
    shared = {"model": "bilstm", "dataset": "demo", "batch_size": 40}
    idle = {"tensorboard": False, "pause_after": 3, "recipe": None, "checkpoint_minutes": 3}
    with protocol._claim(tmp_path, {**shared, "recipe": None}):
        pass
    protocol._check_settings(tmp_path, {**shared, **idle})
    path.write_text(json.dumps({**shared, **idle}))  # as older versions wrote it
    protocol._check_settings(tmp_path, shared)
    (tmp_path / "seed1").mkdir()
    (tmp_path / "seed1" / "manifest.json").touch()
    with pytest.raises(ValueError, match="batch_size was 40 and is 50"):
        protocol._check_settings(tmp_path, {**shared, "batch_size": 50})


@pytest.mark.parametrize(
    ("only", "error", "message"),
    [
        ([1, 1], ValueError, r"only_folds names a fold twice: \[1, 1\]"),
        (1, TypeError, r"only_folds must be a list, such as \[1, 2\]; received 1"),
        ("12", TypeError, "received '12'"),
    ],
)
def test_folds_are_a_list_without_repeats(only, error, message, tmp_path):
    with pytest.raises(error, match=message):
        zoo.run_protocol("bilstm", "demo", tmp_path / "run", folds=3, only_folds=only)
    assert not (tmp_path / "run").exists()


def test_runs_of_several_labels_per_text_are_compared_by_micro_f1(tmp_path):
    shared = {"run": ["seed1", "seed2"], "best_epoch": 1, "epochs": 2, "seconds": 1.0, "dev_accuracy": [0.1, 0.2]}
    scored = {**shared, "dev_micro_f1": [0.5, 0.6], "test_accuracy": [0.2, 0.4], "test_micro_f1": [0.7, 0.8]}
    result = protocol.ProtocolResult(pd.DataFrame(scored), tmp_path, tasks.find("classification"))
    assert (result.measure, result.mean) == ("test_micro_f1", pytest.approx(0.75))
    assert "dev 0.5000   test 0.7000   1 s" in str(result)
    assert "test micro_f1 0.7500 ± 0.0707 (standard deviation), 2 runs" in str(result)
    one = protocol.ProtocolResult(pd.DataFrame(shared), tmp_path, tasks.find("classification"))
    assert one.measure == "dev_accuracy"
    assert "dev accuracy 0.1500" in str(one)
