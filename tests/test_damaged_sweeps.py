"""Damaged, lost or foreign files of a sweep: read from their backups, or named. They are never taken for results."""

import json
import re
import shutil

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.storage.json_files import DamagedFileError
from tests.slow_cases import slow_pairs_but
from tests.sweep_harness import leave_trials
from tests.sweep_harness import sweep_rows as sweep


@pytest.fixture
def start(monkeypatch):
    return leave_trials(monkeypatch)


BAD = {
    "an empty object": b"{}",
    "truncated": b'{"model": "bi',
    "a list": b"[1, 2]",
    "empty": b"",
    "not UTF-8": b'{"model": "\xff"}',
    "a number": b"7",
    "nested": b"[" * 100_000,
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_damaged_states_are_read_from_their_backups_and_others_are_named(content, start, tmp_path):
    folder = tmp_path / "s"
    expected = sweep(folder)
    for name in ("oracle/oracle.json", "oracle/trial_0001/trial.json", "sweep.json"):
        (folder / name).write_bytes(content)
        assert sweep(folder) == expected
    assert json.loads((folder / "sweep.json").read_text())["model"] == "bilstm"  # mended
    for name in ("oracle/trial_0001/trial.json", "oracle/oracle.json", "sweep.json"):
        backup = (folder / f"{name}.bak").read_bytes()
        for path in (folder / name, folder / f"{name}.bak"):
            path.write_bytes(content)
        with pytest.raises(DamagedFileError, match=rf"s/{re.escape(name)} is damaged: .* to start over\.$"):
            sweep(folder)
        (folder / name).write_bytes(backup)
    assert sweep(folder) == expected


FILES = ("trials/0000/result.json", "trials/0000/spec.json", "trials/0001/test.json")
# Every kind of damage to one file, which all are read by the same function; and each file that is empty or missing.
QUICK = [*((FILES[0], kind) for kind in BAD), *((name, kind) for name in FILES for kind in ("empty", "missing"))]


@pytest.mark.parametrize(("name", "kind"), slow_pairs_but(QUICK, FILES, [*BAD, "missing"]))
def test_a_trials_damaged_file_is_named_and_once_deleted_as_it_says_the_sweep_goes_on(name, kind, start, tmp_path):
    folder = tmp_path / "s"
    expected = sweep(folder)
    (folder / name).unlink()
    if kind != "missing":
        (folder / name).write_bytes(BAD[kind])
    elif not name.endswith("spec.json"):  # the trial runs, or is scored, again
        assert sweep(folder) == expected
        return
    with pytest.raises(DamagedFileError, match=rf"{name} is damaged: .*\. Delete ") as error:
        sweep(folder)
    if "Delete the file" in str(error.value):
        (folder / name).unlink()
    else:
        assert f"Delete {(folder / name).parent} to" in str(error.value)
        shutil.rmtree((folder / name).parent)
    assert sweep(folder) == expected


@pytest.mark.parametrize(
    "name", ["sweep.json", "oracle/oracle.json", "trials/0000/result.json", "trials/0000/spec.json"]
)
def test_a_folder_in_the_place_of_a_file_is_named(name, start, tmp_path):
    folder = tmp_path / "s"
    expected = sweep(folder)
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises((OSError, DamagedFileError), match=name):
        sweep(folder)
    (folder / name).rmdir()
    (folder / name).write_bytes(content)
    assert sweep(folder) == expected


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"dev_accuracy": None}, "'dev_accuracy' is null"),
        ({"dev_accuracy": "0.9"}, "'dev_accuracy' is a string"),
        ({"dev_accuracy": True}, "'dev_accuracy' is a truth value"),
        ({"dev_accuracy": float("nan")}, "'dev_accuracy' is nan"),
        ({"dev_accuracy": 0.5, "epochs": 3}, "'epochs' is the number 3"),
        ({"dev_perplexity": 80.0}, "'dev_accuracy' is missing"),
        ({"reason": None}, "'reason' is null"),
    ],
)
def test_a_result_without_a_score_is_not_a_score(result, reason, start, tmp_path):
    sweep(tmp_path / "s")
    path = tmp_path / "s" / "trials" / "0000" / "result.json"
    complete = {"parameters": 1, "encoder_parameters": 1, "best_epochs": [1], "epochs": [1], "seconds": 1}
    path.write_text(json.dumps({**complete, **result}))
    with pytest.raises(DamagedFileError, match=f"0000/result.json is damaged: {reason}"):
        sweep(tmp_path / "s")


def test_an_oracles_state_of_other_values_is_damaged(start, tmp_path):
    expected = sweep(tmp_path / "s")
    path = tmp_path / "s" / "oracle" / "oracle.json"
    state = json.loads(path.read_text())
    for wrong in (
        {"end_order": "0000"},
        {"end_order": ["0007"]},
        {"ongoing_trials": {"tuner0": "0007"}},
        {"hyperparameters": {}},
        {"seed_state": "x"},
    ):
        path.write_text(json.dumps({**state, **wrong}))
        assert sweep(tmp_path / "s") == expected
    for name in (path, path.with_name("oracle.json.bak")):
        name.write_text(json.dumps({**state, "end_order": ["0007"]}))
    with pytest.raises(DamagedFileError, match=r"oracle\.json is damaged: it names trial '0007'"):
        sweep(tmp_path / "s")


def test_a_lost_state_is_not_begun_anew_over_the_trials_that_are_there(start, tmp_path):
    sweep(tmp_path / "s")
    for path in (tmp_path / "s" / "oracle").glob("oracle.json*"):
        path.unlink()
    with pytest.raises(DamagedFileError, match=r"oracle\.json is damaged: it is missing"):
        sweep(tmp_path / "s")
    shutil.rmtree(tmp_path / "s" / "oracle")
    spec = tmp_path / "s" / "trials" / "0000" / "spec.json"
    values = json.loads(spec.read_text())
    spec.write_text(json.dumps({**values, "values": {"units": 8, "dropout": 0.1}}))
    with pytest.raises(DamagedFileError, match=r"trials/0000 is damaged: it holds a trial with other values"):
        sweep(tmp_path / "s")


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_a_protocols_damaged_settings_are_named_before_any_training(content, tmp_path):
    path = tmp_path / "p" / "protocol.json"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"p/protocol\.json is damaged: "):
        zoo.run_protocol("bilstm", "demo", tmp_path / "p", seeds=1, epochs=1, progress=False)
