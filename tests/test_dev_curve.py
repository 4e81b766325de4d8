"""Dev accuracy by batch: right values, no influence on training, complete after an interruption, drawn and printed."""

import shutil

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles.bundle import read_dev_curve
from dense_lstm_zoo.classification.dev_curve import DevCurve
from dense_lstm_zoo.cli import main
from tests.bundle_harness import seal
from tests.training_harness import interrupted, small_demo, train


@pytest.fixture(scope="module")
def curved(tmp_path_factory):
    """A run of six batches an epoch whose dev set is scored every second one."""
    folder = tmp_path_factory.mktemp("runs") / "curved"
    return train(folder, dev_every=2), folder


def test_the_curve_ends_each_epoch_at_its_dev_accuracy_and_leaves_the_training_alone(curved, run):
    bundle, folder = curved
    curve = bundle.dev_curve
    assert curve["batch"].tolist() == [2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert curve["epoch"].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    ends = curve[curve["batch"] % 6 == 0]["dev_accuracy"]
    np.testing.assert_allclose(ends, bundle.history["val_accuracy"], atol=1e-6)
    plain, _ = run  # the same settings without a curve
    columns = ["loss", "accuracy", "val_loss", "val_accuracy"]
    np.testing.assert_array_equal(bundle.history[columns], plain.history[columns])
    assert plain.dev_curve is None
    assert zoo.load(folder).dev_curve.equals(curve)
    assert (folder / "dev_curve.png").is_file()


@pytest.mark.slow
def test_an_interrupted_run_ends_with_the_same_curve(curved, tmp_path):
    with interrupted(epoch=1, batch=4):
        train(tmp_path / "run", dev_every=2)
    assert train(tmp_path / "run", dev_every=2).dev_curve.equals(curved[0].dev_curve)


def test_rows_that_were_written_after_the_saved_state_are_scored_again(tmp_path):
    curve = DevCurve(tmp_path, 2, lambda: 0.5)
    curve.set_params({"steps": 6})
    curve.on_epoch_begin(0)
    for batch in range(4):
        curve.on_train_batch_end(batch)
        if batch == 1:
            state = curve.save()
    curve.save()  # by a process that was killed before it wrote the state
    resumed = DevCurve(tmp_path, 2, lambda: 0.75)
    resumed.set_params({"steps": 6})
    resumed.on_epoch_begin(0)
    resumed.resume(state)
    resumed.on_train_batch_end(2)
    resumed.on_train_batch_end(3)
    resumed.save()
    assert read_dev_curve(tmp_path).to_numpy().tolist() == [[1, 2, 0.5], [1, 4, 0.75]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("epoch,step\n1,2\n", "its columns are not epoch, batch and dev_accuracy"),
        ("epoch,batch,dev_accuracy\n1,9\x1b[2J,0.5\n", "could not convert"),
        ("epoch,batch,dev_accuracy\n1,2,high\n", "could not convert"),
        ("epoch,batch,dev_accuracy\n1,2,\n", "it holds numbers that are not finite"),
    ],
)
def test_a_strangers_curve_is_checked(tmp_path, content, reason):
    (tmp_path / "dev_curve.csv").write_text(content)
    with pytest.raises(zoo.BundleError, match=rf"dev_curve\.csv is damaged: {reason}"):
        read_dev_curve(tmp_path)


@pytest.mark.slow
def test_a_run_does_not_take_the_curve_of_one_that_it_overwrites(tmp_path):
    with interrupted(epoch=1, batch=4):
        train(tmp_path / "run", dev_every=2)
    assert train(tmp_path / "run", epochs=1, overwrite=True).dev_curve is None
    assert not (tmp_path / "run" / "dev_curve.csv").exists()


def test_the_command_compares_runs(curved, run, tmp_path, capsys):
    bundle, folder = curved
    picture = tmp_path / "curves.svg"
    assert main(["curves", str(folder), "--output", str(picture)]) == 0
    lines = capsys.readouterr().out.splitlines()
    best = bundle.dev_curve.loc[bundle.dev_curve["dev_accuracy"].idxmax()]
    assert lines[1:] == [f"{folder}\t18\t{best['dev_accuracy']:.4f}\t{int(best['batch'])}"]
    assert picture.read_bytes().startswith(b"<?xml")
    assert main(["curves", str(run[1])]) == 2
    assert "has no learning curve by batch; train it with --dev-every 1" in capsys.readouterr().err


def test_a_run_with_fewer_batches_than_its_dev_every_has_nothing_to_compare(run, tmp_path, capsys):
    copy = tmp_path / "short"
    shutil.copytree(run[1], copy)
    (copy / "dev_curve.csv").write_text("epoch,batch,dev_accuracy\n")
    seal(copy)
    assert main(["curves", str(copy)]) == 2
    assert "trained for fewer batches than its --dev-every; give 1 to train it again" in capsys.readouterr().err


def test_bad_values_are_refused_before_any_work(tmp_path):
    with pytest.raises(ValueError, match="dev_every must be an integer of at least 1; received 0"):
        train(tmp_path / "run", dev_every=0)
    with pytest.raises(ValueError, match="dev_every is not an option for tagging; received 2"):
        zoo.train("bilstm_tagger", "demo", tmp_path / "run", dev_every=2)
    assert small_demo().dev is not None
    assert not list(tmp_path.iterdir())
