"""Sweeps with simulated trials: no process, no training, a score computed from the values."""

import json

import dense_lstm_zoo as zoo
from dense_lstm_zoo.search import trial as trials


class FakeProcess:
    """A trial that has ended the moment it began.

    Args:
        returncode: Its status, negative for a signal.
        words: Its last words.
    """

    def __init__(self, returncode=0, words=""):
        self.returncode, self._words = returncode, words

    def wait(self):
        return self.returncode

    def terminate(self):
        pass

    def last_words(self):
        return self._words

    def close(self):
        pass


def make_quick(monkeypatch):
    """Leave out what takes time and is tested elsewhere: models of every value, the corpus, pictures."""
    monkeypatch.setattr("dense_lstm_zoo.search.hypermodel.check_values", lambda *_: None)
    monkeypatch.setattr("dense_lstm_zoo.search.hypermodel.check_built", lambda *_: None)
    monkeypatch.setattr("dense_lstm_zoo.search.sweep._with_data", lambda sweep: (sweep, True))
    monkeypatch.setattr("dense_lstm_zoo.search.report._pictures", lambda *_: [])


def score_of(arguments):
    return 0.9 - abs(arguments.get("units", 6) - 6) / 10 - arguments.get("dropout", 0.0) / 100


def leave_result(folder):
    """Leave what a trial that went well leaves."""
    arguments = json.loads((folder / "spec.json").read_text())["arguments"]
    counts = {"parameters": 100, "encoder_parameters": 10 * arguments.get("units", 6)}
    result = {"dev_accuracy": score_of(arguments), **counts, "epochs": [1], "best_epochs": [1], "seconds": 1.0}
    (folder / "runs" / "seed1").mkdir(parents=True, exist_ok=True)
    (folder / "runs" / "seed1" / "manifest.json").write_text("{}")
    (folder / trials.RESULT).write_text(json.dumps(result))
    return FakeProcess()


def leave_test(folder):
    """Leave the scores of the test texts."""
    (folder / trials.TEST).write_text(json.dumps({"test_accuracy": {"mean": 0.5, "std": None, "runs": [0.5]}}))
    return FakeProcess()


def leave_runs(folder, score=0.5):
    """Leave what a trial of a table's row leaves: a result, and of each run the scores and the config."""
    spec = json.loads((folder / "spec.json").read_text())
    names = [f"seed{seed}" for seed in spec["seeds"]]
    measure = "perplexity" if spec["model"].endswith("_lm") else "accuracy"
    counts = {"parameters": 100, "encoder_parameters": 10}
    for name in names:
        run = folder / "runs" / name
        run.mkdir(parents=True, exist_ok=True)
        scores = {f"dev_{measure}": score, f"test_{measure}": score + int(name[4:]) / 100}
        ran = {"best_epoch": 2, "epochs": 3, "seconds": 60.0}
        (run / "metrics.json").write_text(json.dumps({**scores, **counts, **ran}))
        config = {"model": spec["model"], "arguments": spec["arguments"], "training": {"patience": 5}}
        (run / "config.json").write_text(json.dumps({**config, "versions": {"keras": "3", "numpy": "2"}}))
        (run / "manifest.json").write_text("{}")
    result = {f"dev_{measure}": score, "std": None, f"test_{measure}": score + 0.01, **counts, "seconds": 60.0}
    lists = {"epochs": [3] * len(names), "best_epochs": [2] * len(names), "runs": names}
    (folder / trials.RESULT).write_text(json.dumps({**result, **lists}))
    return FakeProcess()


def leave_trials(monkeypatch):
    """Make up trials. A test puts the ends of a trial's next runs into ``ends``. None, and all others, go well."""
    make_quick(monkeypatch)

    def start(folder, *, test=False, environment=None):
        start.calls.append((folder.name, test))
        ends = start.ends.get((folder.name, test), [])
        if ends and (end := ends.pop(0)) is not None:
            return end
        return leave_test(folder) if test else leave_result(folder)

    start.ends, start.calls = {}, []
    monkeypatch.setattr(trials, "start", start)
    return start


def sweep_rows(folder, **options):
    """A sweep's rows, and the winner's scores on the test texts."""
    searched = {"space": {"units": [4, 6, 8], "dropout": [0.1]}, "tuner": "grid"}
    result = zoo.tune("bilstm", "demo", folder, progress=False, **{**searched, **options})
    return result.trials[["trial", "status", "score", "units", "reason"]].to_dict("records"), result.test
