"""The frontier: peers that are trained, saved and served in processes of their own, beside our presets."""

import dataclasses
import itertools
import json
import re
import sys

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks.frontier import __main__ as frontier
from benchmarks.frontier import data, figure, peer, peers, table

pytestmark = pytest.mark.usefixtures("real_pictures")

EASY = ([f"it is good {i}" for i in range(20)] + [f"it is bad {i}" for i in range(20)], ["good"] * 20 + ["bad"] * 20)


def rows_of(tmp_path, monkeypatch, *arguments):
    path = tmp_path / "results" / "frontier.csv"
    monkeypatch.setattr(frontier, "RESULTS", path)
    monkeypatch.setattr(frontier.tables, "update_pages", lambda: None)
    frontier.main(["--peers-python", sys.executable, "--repeats", "3", *arguments])
    return pd.read_csv(path, keep_default_na=False)


@pytest.mark.slow
def test_peers_are_trained_saved_and_served_in_fresh_processes(tmp_path, monkeypatch, capsys):
    names = ("tf-idf + logistic regression", "NB-SVM")
    rows = rows_of(tmp_path, monkeypatch, "--datasets", "demo", "--peers", *names)
    assert list(rows["model"]) == list(names)
    assert rows["test_accuracy"].min() > 60
    assert all(rows["settings"].str.match(r"C=[\d.]+$"))
    assert (rows[["p50_ms_1", "p50_ms_32", "start_s", "peak_mb", "disk_mb"]] > 0).all(axis=None)
    assert all("scikit-learn=" in versions for versions in rows["versions"])
    assert (tmp_path / "results" / "frontier.png").stat().st_size > 5000
    assert "demo NB-SVM: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tf-idf + logistic regression", "NB-SVM"])
def test_a_peer_predicts_the_same_after_loading(name, tmp_path):
    model = peers.PEERS[name]()
    model.fit(EASY, EASY)
    model.save(tmp_path)
    again = peers.PEERS[name]()
    again.load(tmp_path)
    assert model.predict(["good it", "bad it"]) == again.predict(["good it", "bad it"]) == ["good", "bad"]


def test_a_peer_that_fails_is_named_with_its_error():
    with pytest.raises(RuntimeError, match=r"^nobody: KeyError: 'nobody'$"):
        frontier.run_peer("serve", "nobody", sys.executable, folder="", texts=[], repeats=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--peers", "fasttext"], "Did you mean 'fastText'"),
        (["--peers-python", "missing/python"], "--peers-python: missing/python does not exist."),
        (["--datasets", "demmo"], "Did you mean 'demo'"),
    ],
)
def test_a_wrong_request_fails_before_any_work(arguments, message, monkeypatch):
    monkeypatch.setattr(frontier, "run_peer", lambda *positional, **request: pytest.fail("work was done"))
    with pytest.raises(SystemExit, match=message):
        frontier.main(["--peers-python", sys.executable, "--datasets", "demo", *arguments])


def teacher_folder(path, fold=None):
    scores = {"dev_accuracy": 0.9541, "test_accuracy": 0.958}
    about = {"dataset": "trec", "fold": fold, "encoder": "E", "epochs": 3, "sources": ["train"], **scores}
    (path / "model").mkdir(parents=True)
    (path / "model" / "weights").write_bytes(bytes(2**21))
    (path / "state.pt").write_bytes(bytes(2**23))  # of the training, and not served
    (path / "scores.json").write_text(json.dumps(about))
    return path


def test_a_teacher_has_the_scores_of_its_folder_and_the_size_of_what_is_served(tmp_path, monkeypatch):
    requests = []
    monkeypatch.setattr(frontier, "run_peer", lambda *words, **rest: requests.append((words, rest)) or {"p50_ms_1": 7})
    folder = teacher_folder(tmp_path / "teacher")
    row = frontier.teacher_row(folder, "python", {"test": (["why ?"], ["DESC"])}, repeats=3)
    assert requests == [
        (("serve", "fine-tuned transformer", "python"), {"folder": str(folder), "texts": ["why ?"], "repeats": 3})
    ]
    assert (row["model"], row["kind"], row["dev_accuracy"], row["test_accuracy"]) == ("E, fine-tuned", "", 95.41, 95.8)
    assert (row["disk_mb"], row["p50_ms_1"]) == (2.0, 7)


def test_a_teacher_of_other_texts_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(frontier, "run_peer", lambda *positional, **request: pytest.fail("work was done"))
    monkeypatch.setattr(data, "fold_of", {"trec": 1}.get)
    command = ["--peers-python", sys.executable, "--datasets", "demo"]
    with pytest.raises(SystemExit, match=r"teacher is a teacher of trec, which is not"):
        frontier.main([*command, "--teachers", str(teacher_folder(tmp_path / "teacher"))])
    with pytest.raises(SystemExit, match=r"fold_2 is a teacher of trec, fold 2, not of trec, fold 1, whose test texts"):
        frontier.main([*command, "trec", "--teachers", str(teacher_folder(tmp_path / "fold_2", fold=2))])
    with pytest.raises(SystemExit, match=r"nowhere holds no scores.json; name a folder of"):
        frontier.main([*command, "--teachers", str(tmp_path / "nowhere")])


def test_the_test_of_a_corpus_is_its_first_fold_or_its_own_texts(monkeypatch):
    corpora = {"whole": zoo.load_corpus("demo"), "parts": dataclasses.replace(zoo.load_corpus("demo"), test=None)}
    monkeypatch.setattr(data.zoo, "load_corpus", lambda name, task: corpora[name])
    assert [data.fold_of(name) for name in corpora] == [None, 1]


def test_parts_are_lists_of_texts_or_tokens_with_names_of_labels_or_tags():
    texts, labels = data.parts_of("demo")["train"]
    assert isinstance(texts[0], str)
    assert isinstance(labels[0], str)
    tokens, tags = data.parts_of("demo", "tagging")["test"]
    assert [len(each) for each in tokens[:20]] == [len(each) for each in tags[:20]]
    assert peer.accuracy(tags, tags) == 100


def test_presets_are_found_by_their_corpus():
    assert frontier.presets_of("trec") == ["dc_bilstm_trec"]
    assert frontier.presets_of("demo") == []


@pytest.mark.slow
def test_a_presets_dev_accuracy_is_the_one_it_was_chosen_by(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(frontier.tables.ROOT / "presets" / "dense_lstm_zoo_presets"))
    # The preset of CR was chosen on dev texts of another seed: those of the frontier were among its training texts.
    parts = {"dev": (["superb"], ["positive"]), "test": (["A smart and sweet comedy."], ["positive"])}
    rows = list(frontier.our_rows("dc_bilstm_cr", parts, tmp_path, repeats=2))
    assert [(row["kind"], row["dev_accuracy"]) for row in rows] == [("SavedModel", 92.35), ("ONNX", 92.35)]
    assert [row["test_accuracy"] for row in rows] == [100, 100]


def test_the_table_names_what_no_other_beats(tmp_path, monkeypatch):
    shared = {"dataset": "trec", "dev_accuracy": 1, "p99_ms_1": 9, "p50_ms_32": 1, "start_s": 1, "peak_mb": 2000}
    shared |= {"train_s": "", "versions": "a=1", "command": "c", "processor": "P", "cores": 2, "settings": ""}
    costs = [("slow", "", 90, 5, 50), ("dc_bilstm_trec", "ONNX", 92, 2, 40), ("quick", "", 80, 1, 1)]
    names = ("model", "kind", "test_accuracy", "p50_ms_1", "disk_mb")
    (tmp_path / "results").mkdir()
    rows = [{**shared, **dict(zip(names, cost, strict=True))} for cost in costs]
    pd.DataFrame(rows).to_csv(tmp_path / "results" / "frontier.csv", index=False)
    monkeypatch.setattr(table, "ROOT", tmp_path)
    lines = table.frontier().splitlines()
    assert [line.split(" | ")[1] for line in lines[2:5]] == ["`dc_bilstm_trec`, ONNX", "slow", "quick"]
    assert [line.rstrip(" |").split(" | ")[-1] for line in lines[2:5]] == ["time and size", "-", "time and size"]
    assert "2,000" in lines[2]


def test_the_front_holds_equal_scores_once():
    assert figure.front([(1, 80), (2, 80), (2, 90), (3, 85)]) == [(1, 80), (2, 90)]


def test_every_model_of_a_panel_is_named_and_no_name_covers_another(tmp_path, monkeypatch):
    panels, name_points = [], figure._name_points
    monkeypatch.setattr(figure, "_name_points", lambda axes, *rest: panels.append(axes) or name_points(axes, *rest))
    copy = tmp_path / "frontier.csv"
    copy.write_bytes((table.ROOT / "results" / "frontier.csv").read_bytes())
    figure.draw(copy)
    rows = pd.read_csv(copy, keep_default_na=False)
    assert len(panels) == 2 * rows["dataset"].nunique()
    assert sum(len(axes.texts) for axes in panels) == 2 * (rows["kind"] != "SavedModel").sum()
    panels[0].figure.draw_without_rendering()  # in the size of a point that the panels have
    for axes in panels:
        boxes = [name.get_window_extent() for name in axes.texts]
        assert not any(first.overlaps(second) for first, second in itertools.combinations(boxes, 2))


def test_the_overview_names_every_point_and_is_the_one_that_is_committed(tmp_path):
    results = table.ROOT / "results"
    copy = tmp_path / "frontier.csv"
    copy.write_bytes((results / "frontier.csv").read_bytes())
    figure.draw_overview(copy)
    picture = (tmp_path / "frontier_sst2.svg").read_text(encoding="utf-8")
    words = re.findall(r"<text[^>]*>([^<]+)</text>", picture)
    assert {"fastText", "NB-SVM", "MiniLM", "dc_bilstm_sst2", "bilstm_sst2"} <= set(words)
    committed = (results / "frontier_sst2.svg").read_text(encoding="utf-8")
    assert re.findall(r"<text[^>]*>([^<]+)</text>", committed) == words
