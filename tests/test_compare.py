"""Two trained models compared: on the same texts with the intervals of chance, and run by run."""

import csv
import dataclasses
import json
import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.classification.analysis import macro_f1
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.comparing import sides
from dense_lstm_zoo.comparing.comparison import Comparison, Row
from dense_lstm_zoo.comparing.differences import Interval, bootstrap, mcnemar, paired_t
from dense_lstm_zoo.comparing.outcomes import OfClass, counts_of_classes, of_label_sets, of_labels
from dense_lstm_zoo.language import comparison as words_compared
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from tests.bundle_harness import LABELS, TAGS, bundle
from tests.cli_harness import output_of

TEXTS = ["the film was good", "it was bad !", "very long", "short , but good", "the film", "bad film", "", "café"] * 5
SPLIT = Split(TEXTS, [0, 1, 2, 0, 1, 2, 0, 1] * 5)


def other(name: str, seed: int = 3, **arguments) -> Bundle:
    """A bundle with other weights than ``bundle`` gives."""
    trained = bundle(name, **arguments)
    generator = np.random.default_rng(seed)
    trained.model.set_weights([generator.normal(0, 1, w.shape).astype(w.dtype) for w in trained.model.get_weights()])
    return trained


@pytest.fixture(scope="module")
def classifiers(tmp_path_factory):
    """Two classifiers in their folders."""
    folder = tmp_path_factory.mktemp("compared")
    return other("lstm").save(folder / "a"), other("lstm", seed=4).save(folder / "b")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    file = tmp_path_factory.mktemp("texts") / "test.csv"
    rows = zip(TEXTS, SPLIT.labels, strict=True)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        writer.writerows((text, LABELS[label]) for text, label in rows if text)
    return file


def rows_of(file):
    return list(csv.reader(file.read_text(encoding="utf-8").splitlines()))


def test_an_interval_is_that_of_texts_drawn_again_for_both_models_at_once():
    generator = np.random.default_rng(0)
    right = generator.integers(0, 3, 400)
    first = np.where(generator.random(400) < 0.8, right, generator.integers(0, 3, 400))
    second = np.where(generator.random(400) < 0.7, right, generator.integers(0, 3, 400))
    outcomes = of_labels(["x"] * 400, right, first, second, ["a", "b", "c"])
    intervals = outcomes.intervals(draws=4000, seed=1)
    each = [counts_of_classes(right, answers, 3) for answers in (first, second)]  # with a row of its own for each text
    for kind in (bool, np.float32):
        statistics = [counts.astype(kind) for counts in each]
        assert bootstrap(*statistics, outcomes.scores, draws=4000, seed=1) == intervals
    assert outcomes.of_model(0)["macro_f1"] == pytest.approx(macro_f1(right, first))
    # The same by drawing texts one by one, and scoring them as ``evaluate`` does.
    resampled = {"accuracy": [], "macro_f1": []}
    for _ in range(2000):
        texts = generator.integers(0, 400, 400)
        resampled["accuracy"].append((first == right)[texts].mean() - (second == right)[texts].mean())
        resampled["macro_f1"].append(macro_f1(right[texts], first[texts]) - macro_f1(right[texts], second[texts]))
    for name, differences in resampled.items():
        assert intervals[name].low == pytest.approx(np.quantile(differences, 0.025), abs=0.006)
        assert intervals[name].high == pytest.approx(np.quantile(differences, 0.975), abs=0.006)
    assert intervals["accuracy"].value == pytest.approx((first == right).mean() - (second == right).mean())
    hits, both = ((right == 1) & (first == 1)).sum(), (right == 1).sum() + (first == 1).sum()
    assert outcomes.of_model(0)[OfClass("b")] == pytest.approx(2 * hits / both)


def test_answers_of_several_labels_differ_though_a_name_holds_a_bar():
    right, first, second = (np.array([row], bool) for row in ([1, 0, 0], [0, 0, 1], [1, 1, 0]))
    outcomes = of_label_sets(["x"], right, first, second, ["a", "b", "a|b"])
    assert (outcomes.right, outcomes.answers) == (["a"], (['["a|b"]'], ["a|b"]))


def test_the_file_of_the_texts_is_not_overwritten_with_their_differences(classifiers, labelled, tmp_path, capsys):
    file = tmp_path / "mine.csv"
    file.write_bytes(content := labelled.read_bytes())
    options = ("--output", file, "--overwrite")
    for texts in (("--test-file", file), ("--dataset", file)):
        assert "mine.csv is one of the files that are read" in refused(capsys, *classifiers, *texts, *options)
    assert file.read_bytes() == content


def test_equal_models_differ_by_nothing_and_a_class_that_nobody_has_is_not_scored():
    right = np.array([0, 1] * 30)
    outcomes = of_labels(["x"] * 60, right, right, right, ["a", "b", "unused"])
    intervals = outcomes.intervals(draws=100)
    assert intervals["accuracy"] == Interval(0, 0, 0)
    assert not intervals["accuracy"].is_apart
    assert outcomes.of_model(0)["macro_f1"] == 1
    assert intervals[OfClass("unused")].text(2) == "-"


def test_many_texts_and_classes_take_little_memory():
    generator = np.random.default_rng(0)
    right = generator.integers(0, 400, 100_000)
    first, second = (np.where(generator.random(len(right)) < 0.99, right, 0) for _ in range(2))
    outcomes = of_labels(["x"] * len(right), right, first, second, [str(i) for i in range(400)])
    assert outcomes.texts_by_kind.sum() == len(right)
    assert outcomes.statistics[0].nbytes < 20e6  # with a row for each text, 480 MB
    assert outcomes.of_model(0)["accuracy"] == pytest.approx((first == right).mean())


def test_many_texts_with_several_labels_take_little_memory():
    generator = np.random.default_rng(0)
    right, first, second = (generator.random((4000, 300)) < 0.01 for _ in range(3))
    tracemalloc.start()
    try:
        outcomes = of_label_sets(["x"] * len(right), right, first, second, [str(i) for i in range(300)])
        intervals = outcomes.intervals(draws=5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6  # as numbers, 170 MB
    numbers = [statistics.astype(np.float32) for statistics in outcomes.statistics]
    few = [statistics[:50] for statistics in numbers], [statistics[:50] for statistics in outcomes.statistics]
    by_numbers, by_booleans = (bootstrap(*each, outcomes.scores, draws=50) for each in few)
    assert str(by_numbers) == str(by_booleans)  # with NaN, for labels that no text has
    assert intervals["accuracy"].value == (first == right).all(axis=1).mean() - (second == right).all(axis=1).mean()


def test_the_same_seed_draws_the_same_texts():
    right = np.arange(100)[:, None] % 3 == 0, np.arange(100)[:, None] % 4 == 0
    statistics = [each.astype(float) for each in right]

    def interval(seed):
        return bootstrap(*statistics, lambda sums: {"accuracy": sums[:, 0] / 100}, draws=200, seed=seed)

    assert interval(1) == interval(1) != interval(2)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (9, 1), (30, 31), (200, 150)])
def test_mcnemar_is_the_exact_sign_test(first, second):
    count = first + second
    tail = sum(math.comb(count, k) for k in range(min(first, second) + 1)) / 2**count
    assert mcnemar(first, second) == pytest.approx(min(1, 2 * tail))
    assert mcnemar(first, second) == mcnemar(second, first)


def test_runs_have_students_interval_and_folds_a_wider_one():
    ours, theirs = [88.0, 87.5, 89.0, 90.0, 88.0], [87.0, 87.0, 88.5, 88.0, 87.5]
    plain = paired_t(ours, theirs)
    expected = scipy.stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (plain.low, plain.high) == pytest.approx((expected.low, expected.high))
    folds = paired_t(ours, theirs, folds=10)
    # Nadeau and Bengio 2003: a ninth of the training texts are tested on.
    assert (folds.high - folds.low) / (plain.high - plain.low) == pytest.approx(math.sqrt((1 / 5 + 1 / 9) / (1 / 5)))
    assert math.isnan(paired_t([1.0], [2.0]).low)
    assert math.isnan(paired_t([0.9, 0.92], [0.88, 0.9]).low)  # the same difference twice shows no spread
    assert paired_t([0.9, 0.8], [0.9, 0.8]) == Interval(0.0, 0.0, 0.0)
    for scores in ([math.nan, 1.0], [math.inf, 1.0], [math.inf, -math.inf]):
        assert paired_t(scores, [1.0, 2.0]).text(1) in ("-", "+inf")


def test_a_difference_of_a_few_texts_is_not_called_better():
    scores = [Row("accuracy", 0.904, 0.9, Interval(0.004, 0.001, 0.008))]
    shared = {"names": ("a", "b"), "models": ("lstm", "lstm"), "task": tasks.find("classification"), "dataset": "mine"}
    shared |= {"split": "test", "count": 1000, "unit": "texts", "scores": scores}
    few = Comparison(**shared, only_right=(4, 0), p_value=mcnemar(4, 0))
    assert few.verdict.endswith("only 4 texts tell the models apart (McNemar's exact test, p = 0.12).")
    assert "A has the better accuracy" in Comparison(**shared, only_right=(9, 1), p_value=mcnemar(9, 1)).verdict


def test_two_classifiers_are_compared_text_by_text(classifiers, tmp_path):
    first, second = map(zoo.load, classifiers)
    differing = tmp_path / "differ.csv"
    comparison = zoo.compare(*classifiers, SPLIT, draws=200, output=differing)
    scores = {row.name: row for row in comparison.scores}
    for name in ("accuracy", "macro_f1"):
        ours, theirs = (each.evaluate(SPLIT)[name] for each in (first, second))
        assert (scores[name].first, scores[name].second) == pytest.approx((ours, theirs))
        assert scores[name].difference.value == pytest.approx(ours - theirs)
    assert comparison.difference is comparison.scores[0].difference
    answers = [[answer.label for answer in each.predict(TEXTS)] for each in (first, second)]
    right = [LABELS[label] for label in SPLIT.labels]
    only = [0, 0]
    rows = []
    for text, label, a, b in zip(TEXTS, right, *answers, strict=True):
        only[0] += a == label != b
        only[1] += b == label != a
        if a != b:
            rows.append([text, label, a, b, "A" if a == label else "B" if b == label else ""])
    assert comparison.only_right == tuple(only)
    assert comparison.p_value == mcnemar(*only)
    assert rows_of(differing) == [["text", "right", "A", "B", "only_right"], *rows]
    assert len(rows) > 0
    assert [row.name for row in comparison.classes] == LABELS
    printed = str(comparison)
    assert "40 texts, test set of texts" in printed
    assert comparison.difference.text(4) in printed
    assert f"They answer {len(rows)} texts differently." in printed


def test_labels_in_another_order_are_the_same_labels(classifiers):
    turned = zoo.load(classifiers[0])
    turned.labels = [LABELS[i] for i in (2, 0, 1)]
    *other_weights, weights, biases = turned.model.get_weights()
    turned.model.set_weights([*other_weights, weights[:, [2, 0, 1]], biases[[2, 0, 1]]])
    comparison = zoo.compare(classifiers[0], turned, SPLIT, draws=100)
    assert comparison.only_right == (0, 0)
    assert comparison.texts == []


def test_models_of_several_labels_are_compared_by_their_label_sets():
    first, second = (other("bilstm", seed=seed, labels="several") for seed in (3, 4))
    second.labels = [LABELS[i] for i in (2, 0, 1)]
    several = Split(TEXTS, [[0], [1, 2], []] * 13 + [[0, 1]])
    comparison = zoo.compare(first, second, several, draws=100)
    assert comparison.scores[0].name == "micro_f1"
    expected = [compared.evaluate(several, label_names=LABELS)["micro_f1"] for compared in (first, second)]
    assert (comparison.scores[0].first, comparison.scores[0].second) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"several labels per text, and .* one: they cannot be compared"):
        zoo.compare(first, other("bilstm"), several)


def test_the_command_prints_the_same_as_text_and_as_json(classifiers, labelled, tmp_path, capsys):
    arguments = ("compare", *classifiers, "--test-file", labelled, "--draws", 200)
    status, out, err = output_of(capsys, *arguments, "--output", tmp_path / "differ.csv")
    assert (status, err) == (0, "")
    assert "35 texts, test set of test.csv" in out
    assert "McNemar's exact test p = " in out
    status, out, _ = output_of(capsys, *arguments, "--format", "json")
    row = json.loads(out)
    assert status == 0
    assert row["texts"] == 35
    assert row["scores"][0]["score"] == "accuracy"
    assert row["differing"] == len((tmp_path / "differ.csv").read_text(encoding="utf-8").splitlines()) - 1
    status, _, err = output_of(capsys, *arguments, "--output", tmp_path / "differ.csv")
    assert status == 2
    assert "already exists" in err


def refused(capsys, *arguments) -> str:
    """Expect one line of error from the command."""
    status, out, err = output_of(capsys, "compare", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


def test_what_cannot_be_compared_is_refused_before_any_model_is_loaded(
    classifiers, labelled, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("dense_lstm_zoo.bundles.bundle.read", lambda *_, **__: pytest.fail("a model is loaded"))
    first, second = classifiers
    assert "are the same model" in refused(capsys, first, first, "--test-file", labelled)
    assert "no test texts that are known" in refused(capsys, first, second)
    assert "dev_file would not be read: the test texts" in refused(capsys, first, second, "--dev-file", labelled)
    assert "text_column would not be read" in refused(capsys, first, second, "--text-column", "body")
    fewer = other("lstm")
    fewer.labels = ["maybe", *LABELS[1:]]
    fewer.save(tmp_path / "fewer")
    message = refused(capsys, first, tmp_path / "fewer", "--test-file", labelled)
    assert "different labels" in message
    tagger = other("bilstm_tagger").save(tmp_path / "tagger")
    assert "for classification, " in refused(capsys, first, tagger, "--test-file", labelled)
    foreign = other("lstm", seed=9)
    foreign.config["training"]["dataset"] = "trec"
    foreign.save(tmp_path / "foreign")
    message = refused(capsys, first, tmp_path / "foreign")
    assert "was trained on 'none'" in message
    assert "on 'trec'" in message
    assert "--test-file FILE" in message
    assert "is not a folder" in refused(capsys, first, tmp_path / "absent")
    assert "draws" in refused(capsys, first, second, "--test-file", labelled, "--draws", 3)
    with pytest.raises(ValueError, match="Did you mean 'test_file'"):
        zoo.compare(first, second, test_fil=labelled)


def with_run_file(folder, **data):
    lines = [f"{name} = {json.dumps(value)}" for name, value in data.items() if name not in ("folds", "only_folds")]
    top = [f"{name} = {json.dumps(value)}" for name, value in data.items() if name in ("folds", "only_folds")]
    (folder / "run.toml").write_text("\n".join([*top, "[data]", *lines]) + "\n", encoding="utf-8")


def test_runs_on_a_users_file_are_compared_on_the_test_file_that_both_recorded(labelled, tmp_path, capsys):
    folders = []
    for name, seed in (("a", 3), ("b", 4)):
        trained = other("lstm", seed)
        trained.config["training"]["dataset"] = "csv"
        folders.append(trained.save(tmp_path / name))
    assert "no test texts that are known" in refused(capsys, *folders)
    for folder in folders:
        with_run_file(folder, dataset="csv", train_file="train.csv", test_file=str(labelled))
    assert zoo.compare(*folders, draws=100).count == 35
    with_run_file(folders[1], dataset="csv", train_file="train.csv", test_file=str(tmp_path / "other.csv"))
    message = refused(capsys, *folders)
    assert "texts must be the same" in message
    assert "other.csv" in message
    with_run_file(folders[1], dataset="csv", train_file="train.csv", test_file=str(labelled), text_column="body")
    assert "trained with the defaults, " in (message := refused(capsys, *folders))
    assert "with text_column='body'" in message
    for fold, folder in enumerate(folders, start=1):
        with_run_file(folder, dataset="csv", train_file=str(labelled), folds=5, only_folds=[fold])
    assert "fold 1 of 5" in refused(capsys, *folders)
    with_run_file(folders[1], dataset="csv", train_file=str(labelled), folds=5, only_folds=[1])
    corpus = zoo.load_corpus("csv", train_file=str(labelled)).fold(1, 5)
    comparison = zoo.compare(*folders, draws=100)
    assert comparison.count == len(corpus.test)
    assert comparison.dataset == "fold 1 of 5 of csv"


def test_runs_on_a_file_in_place_of_a_corpus_own_training_texts_are_compared_on_the_files(tmp_path):
    def texts(split):
        return sides.read_texts(*map(sides.Side.open, folders), None, split, {})[1]

    demo, files = zoo.load_corpus("demo", task="classification"), [tmp_path / "mine.csv", tmp_path / "other.csv"]
    rows = [f"my own text {i},{name}" for i in range(10) for name in demo.label_names]
    for file in files:
        file.write_text("\n".join(["text,label", *rows]))
    folders = []
    for name, seed in (("a", 3), ("b", 4)):
        trained = other("lstm", seed)
        trained.config["training"] |= {"dataset": "demo", "files": {"train_file": "mine.csv"}, "fold": [1, 5]}
        folders.append(trained.save(tmp_path / name))
    for unsure in ("test", "train"):  # without run.toml
        with pytest.raises(ValueError, match=f"have no {unsure} texts that are known"):
            texts(unsure)
    for folder in folders:
        with_run_file(folder, dataset="demo", train_file=str(files[0]), folds=5, only_folds=[1])
    fold = zoo.load_corpus("demo", train_file=files[0]).fold(1, 5)
    assert (texts("test").texts, texts("train").texts) == (fold.test.texts, fold.train.texts)
    with pytest.raises(ValueError, match="A fold has no dev set"):
        texts("dev")
    with_run_file(folders[1], dataset="demo", train_file=str(files[1]), folds=5, only_folds=[1])
    with pytest.raises(ValueError, match=r"a has those of .*mine\.csv, .*b those of .*other\.csv"):
        texts("test")
    for folder, own in zip(folders, ({}, {"text_column": "text"}), strict=True):
        with_run_file(folder, dataset="demo", train_file=str(files[0]), **own)
    with pytest.raises(ValueError, match=r"trained with the defaults, .*b with text_column='text'"):
        texts("train")
    with_run_file(folders[1], dataset="demo", train_file=str(files[0]))
    assert texts("train").texts == [row.partition(",")[0] for row in rows]
    assert texts("test") == demo.test  # the corpus's own


def test_a_model_that_was_trained_on_the_texts_is_named(classifiers):
    from dense_lstm_zoo.bundles.text_hashes import hash_texts

    first, second = map(zoo.load, classifiers)
    second = dataclasses.replace(second, train_texts=hash_texts([["the", "film", "was", "good"]]))
    (note,) = zoo.compare(first, second, SPLIT, draws=100).notes
    assert note.startswith("B was trained on texts of them: 5 of ")


def test_taggers_are_compared_by_tokens_spans_and_sentences():
    first, second = other("bilstm_tagger"), other("bilstm_tagger", seed=8)
    spans = ["O", "B-X", "I-X", "B-Y", "I-Y", "O2", "B-Z"]
    for tagger in (first, second):
        tagger.labels = [tag if tag != "O2" else "I-Z" for tag in spans][:TAGS]
    tags = first.labels
    split = TaggedSplit([["the", "film", "was"], ["good"], ["it", "was"]] * 6, [tags[:3], tags[:1], tags[1:3]] * 6)
    comparison = zoo.compare(first, second, split, draws=100)
    values = {row.name: (row.first, row.second) for row in comparison.scores}
    for name in ("accuracy", "f1"):
        assert values[name] == pytest.approx((first.evaluate(split)[name], second.evaluate(split)[name]))
    by_label = [{row["label"]: row["f1"] for row in tagger.assess(split)[1]["spans"]} for tagger in (first, second)]
    for row in comparison.classes:  # a label that a model neither has nor predicts has no F1
        for value, scores in zip((row.first, row.second), by_label, strict=True):
            assert value == pytest.approx(scores[row.name]) if row.name in scores else np.isnan(value)
    assert {row.name for row in comparison.classes} == {label for scores in by_label for label in scores}
    is_right = [
        [answer.tags == gold for answer, gold in zip(tagger.predict(split.tokens), split.tags, strict=True)]
        for tagger in (first, second)
    ]
    only_first = sum(a and not b for a, b in zip(*is_right, strict=True))
    assert comparison.only_right[0] == only_first
    assert comparison.unit == "sentences"
    stranger = other("bilstm_tagger")
    stranger.labels = [f"N{i}" for i in range(TAGS)]
    with pytest.raises(ValueError, match="no tag in common"):
        zoo.compare(first, stranger, split)


def test_language_models_of_the_same_words_are_compared_line_by_line(tmp_path):
    first, second = other("stacked_lstm_lm"), other("stacked_lstm_lm", seed=8)
    lines = ["the film was good", " ", "it was bad !", "very long", "the café"] * 4
    comparison = zoo.compare(first, second, lines, draws=200, output=tmp_path / "lines.csv")
    (row,) = comparison.scores
    expected = first.evaluate(lines)["perplexity"], second.evaluate(lines)["perplexity"]
    assert (row.first, row.second) == pytest.approx(expected, rel=1e-5)
    assert row.difference.low < row.difference.value < row.difference.high
    assert (comparison.count, comparison.unit, comparison.p_value) == (16, "lines", None)
    better = "A" if row.first < row.second else "B"
    assert f"{better} has the better perplexity" in comparison.verdict or "may be chance" in comparison.verdict
    rows = rows_of(tmp_path / "lines.csv")
    assert rows[0] == ["text", "A", "B"]
    assert len(rows) == 17
    tokens = first.evaluate(lines)["tokens"]
    total = sum(float(cells[1]) for cells in rows[1:])
    assert math.exp(-total / tokens) == pytest.approx(row.first, rel=1e-4)


def test_lines_are_told_apart_in_both_directions():
    lines = ["the film", "it was <eos> bad", "good"]  # some files write the ends of sentences
    for direction in ("forward", "backward"):
        model = other("stacked_lstm_lm")
        model.vocabulary = dataclasses.replace(model.vocabulary, direction=direction)
        outcomes = words_compared.outcomes(model, model, lines)
        assert outcomes.texts == (lines if direction == "forward" else lines[::-1])
        # The first token of the stream is read only.
        assert outcomes.statistics[0][:, 1].tolist() == ([2, 5, 2] if direction == "forward" else [1, 5, 3])


def test_perplexities_of_other_words_are_not_compared():
    first, second = other("stacked_lstm_lm"), other("stacked_lstm_lm", seed=8)
    second.vocabulary = dataclasses.replace(second.vocabulary, words=("zebra", *second.vocabulary.words[1:]))
    with pytest.raises(ValueError, match="only one of the models knows"):
        zoo.compare(first, second, ["the film"])
    second.config["arguments"]["vocab_size"] = 99
    with pytest.raises(ValueError, match=r"knows 16 words, .* 99"):
        zoo.compare(first, second, ["the film"])


def runs(folder, model, accuracies, *, folds=None, dataset="mine"):
    """A folder of runs with these test accuracies, by seed or by fold. On dev they are right twice as often."""
    for number, accuracy in enumerate(accuracies, start=1):
        trained = other("lstm", seed=number)
        trained.metrics = {"test_accuracy": accuracy, "test_macro_f1": accuracy / 2, "test_texts": 9}
        trained.metrics |= {"dev_accuracy": 2 * accuracy, "dev_texts": 9}
        trained.save(folder / (f"fold{number:02}_seed1" if folds else f"seed{number}"))
    shared = {"model": model, "dataset": dataset, "data_sha256": "1", "folds": folds}
    (folder / "protocol.json").write_text(json.dumps(shared))
    return folder


def test_folders_of_runs_are_compared_seed_by_seed(tmp_path, capsys):
    first = runs(tmp_path / "a", "lstm", [0.8, 0.9, 0.85])
    second = runs(tmp_path / "b", "bilstm", [0.7, 0.8, 0.8, 0.1])
    comparison = zoo.compare(first, second)
    assert comparison.difference == paired_t([0.8, 0.9, 0.85], [0.7, 0.8, 0.8])
    assert [row.name for row in comparison.scores] == ["accuracy", "macro_f1"]
    assert comparison.notes == ["Runs without a partner are left out: seed4."]
    assert comparison.models == ("lstm", "bilstm")
    on_dev = zoo.compare(first, second, split="dev")
    assert (on_dev.split, on_dev.difference) == ("dev", paired_t([1.6, 1.8, 1.7], [1.4, 1.6, 1.6]))
    assert "no scores of their training texts" in refused(capsys, first, second, "--split", "train")
    status, out, _ = output_of(capsys, "compare", first, second)
    assert status == 0
    assert "3 runs, test set of mine" in out
    assert "a single one" in refused(capsys, first, second / "seed1")
    assert "leave out the texts" in refused(capsys, first, second, "--output", tmp_path / "x.csv")
    assert "the same folder" in refused(capsys, first, tmp_path / "b" / ".." / "a")
    lonely = runs(tmp_path / "lonely", "bilstm", [0.8])
    assert "two runs with the same seeds" in refused(capsys, first, lonely)
    elsewhere = runs(tmp_path / "c", "bilstm", [0.8, 0.9], dataset="trec")
    assert "differ in their corpus (mine and trec)" in refused(capsys, first, elsewhere)


def test_runs_with_a_score_that_is_not_finite_say_nothing_of_chance(tmp_path, capsys):
    first = runs(tmp_path / "a", "lstm", [0.8, math.nan])
    second = runs(tmp_path / "b", "bilstm", [0.7, 0.8])
    assert json.loads((first / "seed2" / "metrics.json").read_text())["test_accuracy"] is None
    assert zoo.compare(first, second).verdict == "Nothing is known of chance in the difference of accuracy."
    status, out, _ = output_of(capsys, "compare", first, second, "--format", "json")
    assert (status, json.loads(out)["scores"][0]["first"]) == (0, None)


def test_folders_of_folds_have_the_corrected_interval(tmp_path):
    first = runs(tmp_path / "a", "lstm", [0.8, 0.9], folds=5)
    second = runs(tmp_path / "b", "bilstm", [0.7, 0.85], folds=5)
    comparison = zoo.compare(first, second)
    assert comparison.difference == paired_t([0.8, 0.9], [0.7, 0.85], folds=5)
    with pytest.raises(ValueError, match=r"or two runs, such as .*a/fold01_seed1"):
        zoo.compare(first, second / "fold01_seed1")
    assert any("Nadeau and Bengio" in note for note in comparison.notes)
