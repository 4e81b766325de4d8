"""A trained tagger: the results of a run, sentences and token lists, scores, spans, serving, interruption."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import dense_lstm_zoo as zoo
from dense_lstm_zoo.tagging import report
from dense_lstm_zoo.tagging.analysis import analyse, schemes_of, span_scores
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus
from dense_lstm_zoo.tagging.vocabulary import build_tagging_vocabulary
from tests.bundle_harness import written_sizes
from tests.cli_harness import output_of
from tests.training_harness import small_demo
from tests.training_harness import train_tagger as train

SENTENCES = [
    "The old man saw her watch.",
    "",
    ["I", "like", "to", "light", "a", "light", "."],
    [],
    ["qwerty"],
    "😀 Zoë's 1984 " * 30,
    ["the"] * 2000,
    ["", " ", "a b"],
]


@pytest.fixture(scope="module", params=[True, pytest.param(False, marks=pytest.mark.slow)], ids=["crf", "softmax"])
def trained(request, tmp_path_factory):
    """A bundle and its folder. No test changes them."""
    folder = tmp_path_factory.mktemp("runs") / "tagger"
    return train(folder, crf=request.param, kernel="native"), folder


def test_a_run_leaves_a_whole_bundle_that_loads_the_same(trained):
    bundle, folder = trained
    expected = "README.md config.json evaluation.json history.csv labels.json learning_curve.png manifest.json"
    expected += " metrics.json model.weights.h5 report.md run.toml train_texts.npy vocabulary.txt"
    assert sorted(f.name for f in folder.iterdir()) == expected.split()
    again = zoo.load(folder)
    assert again.predict(SENTENCES) == bundle.predict(SENTENCES)
    assert again.vocabulary == bundle.vocabulary
    for variable in again.model.trainable_variables:  # those of a CRF among them
        assert not again.has_other_weights
        before = variable.numpy()
        variable.assign(before + 1)
        assert again.has_other_weights
        variable.assign(before)
    assert bundle.metrics["dev_accuracy"] == pytest.approx(bundle.history["val_accuracy"].max(), abs=1e-6)
    assert f"{bundle.metrics['test_tokens']:,} tokens of 70 sentences" in (folder / "README.md").read_text()
    assert "The most frequent confusions" in (folder / "report.md").read_text()


def test_every_token_has_a_tag_and_its_probability_whatever_else_is_tagged(trained):
    bundle, _ = trained
    for sentence, tagged in zip(SENTENCES, bundle.predict(SENTENCES), strict=True):
        if not isinstance(sentence, str):
            assert tagged.tokens == sentence
        assert len(tagged.tokens) == len(tagged.tags) == len(tagged.probabilities)
        assert set(tagged.tags) <= set(bundle.labels)
        assert all(0 < p <= 1 + 1e-6 for p in tagged.probabilities)
        (alone,) = bundle.predict([sentence])
        assert alone.tags == tagged.tags
        assert alone.probabilities == pytest.approx(tagged.probabilities, abs=1e-5)
    assert bundle.predict(SENTENCES[:1])[0].tokens == ["The", "old", "man", "saw", "her", "watch", "."]
    assert bundle.predict([]) == []
    assert next(bundle.predict_stream(iter(SENTENCES))).tags
    with pytest.raises(TypeError, match=r"received one string. Write \['a text'\]"):
        bundle.predict("a text")
    for wrong in (3, ["a", 3]):
        with pytest.raises(TypeError, match="must be strings or lists of strings; received"):
            bundle.predict([wrong])


def test_scores_are_those_of_the_predictions_and_unknown_tags_are_wrong(trained):
    bundle, _ = trained
    test = small_demo("tagging").test
    predicted = [tagged.tags for tagged in bundle.predict(test.tokens)]
    right = sum(
        a == b for gold, tags in zip(test.tags, predicted, strict=True) for a, b in zip(gold, tags, strict=True)
    )
    assert bundle.evaluate(test)["accuracy"] == pytest.approx(right / test.num_tokens)
    assert bundle.metrics["test_accuracy"] == pytest.approx(right / test.num_tokens)
    foreign = TaggedSplit([["the", "man"]], [["DET", "XYZ"]])
    with pytest.warns(UserWarning, match=r"1 of 2 tokens have tags that the model does not know .*wrong: XYZ\."):
        assert bundle.evaluate(foreign)["accuracy"] in (0.0, 0.5)
    with pytest.raises(ValueError, match="at least one sentence"):
        bundle.evaluate(TaggedSplit([], []))


SERVE = """
import json, sys
import numpy as np, tensorflow as tf, tensorflow_text
loaded, cases = tf.saved_model.load(sys.argv[1]), json.load(open(sys.argv[2]))
padded, flat, by_tokens = (loaded.signatures[name] for name in ("serving_default", "flat", "tokens"))

def plain(outputs):
    outputs = {name: value.numpy() for name, value in outputs.items()}
    return {
        "tokens": np.char.decode(outputs["tokens"].astype(bytes), "utf-8").tolist(),
        "tags": np.char.decode(outputs["tags"].astype(bytes), "utf-8").tolist(),
        "probabilities": outputs["probabilities"].tolist(),
        "row_lengths": outputs["row_lengths"].tolist(),
    }

lists = cases["lists"]
tokens = tf.constant([token for tokens in lists for token in tokens])
print(json.dumps({
    "padded": plain(padded(text=tf.constant(cases["texts"]))),
    "text": plain(flat(text=tf.constant(cases["texts"]))),
    "lists": plain(by_tokens(tokens=tokens, row_lengths=tf.constant([len(t) for t in lists], tf.int64))),
    "none": plain(flat(text=tf.constant([], tf.string))),
    "no_rows": {name: list(x.shape) for name, x in padded(text=tf.constant([], tf.string)).items()},
    "imported": "dense_lstm_zoo" in sys.modules,
}))
"""


@pytest.mark.slow
def test_a_fresh_process_without_the_package_tags_as_python_does(trained, tmp_path):
    bundle, _ = trained
    folder = bundle.export(tmp_path / "export" / "1")
    cases = {
        "texts": [s for s in SENTENCES if isinstance(s, str)],
        "lists": [s for s in SENTENCES if not isinstance(s, str)],
    }
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    run = subprocess.run(
        [sys.executable, "-c", SERVE, folder, tmp_path / "cases.json"], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    served = json.loads(run.stdout)
    assert not served["imported"]
    for name, sentences in (("text", cases["texts"]), ("lists", cases["lists"])):
        expected = bundle.predict(sentences)
        assert served[name]["tokens"] == [t for tagged in expected for t in tagged.tokens]
        assert served[name]["tags"] == [t for tagged in expected for t in tagged.tags]
        assert served[name]["row_lengths"] == [len(tagged.tokens) for tagged in expected]
        shares = [p for tagged in expected for p in tagged.probabilities]
        assert served[name]["probabilities"] == pytest.approx(shares, abs=1e-4)
    assert written_sizes(folder) == sorted(w.size for w in bundle.model.get_weights())
    assert served["none"] == {"tokens": [], "tags": [], "probabilities": [], "row_lengths": []}
    assert served["no_rows"] == {"tokens": [0, 1], "tags": [0, 1], "probabilities": [0, 1], "row_lengths": [0]}
    rows, expected = served["padded"], bundle.predict(cases["texts"])
    longest = max(len(tagged.tokens) for tagged in expected)
    assert rows["row_lengths"] == [len(tagged.tokens) for tagged in expected]
    for i, sentence in enumerate(expected):
        padding = longest - len(sentence.tokens)
        assert rows["tokens"][i] == [*sentence.tokens, *[""] * padding]
        assert rows["tags"][i] == [*sentence.tags, *[""] * padding]
        assert rows["probabilities"][i] == pytest.approx([*sentence.probabilities, *[0] * padding], abs=1e-4)


def test_gates_are_the_means_of_the_encoders_and_can_be_drawn(trained, tmp_path, capsys):
    bundle, folder = trained
    gates = bundle.gates("The old man saw her watch.")
    assert gates.tokens == ["The", "old", "man", "saw", "her", "watch", "."]
    assert gates.layers == [3]
    assert gates.values.shape == (1, 2, 7)
    encoder = bundle.network.get_layer("encoder")
    for d, cell in enumerate(encoder.cells[2]):  # with closed gates there is nothing to see
        kernel, recurrent, bias = cell.get_weights()
        closed_gate = [kernel.copy(), recurrent.copy(), bias.copy()]
        closed_gate[0][:, 16:], closed_gate[1][:, 16:], closed_gate[2][16:] = 0, 0, -3
        cell.set_weights(closed_gate)
        np.testing.assert_allclose(bundle.gates(["saw", "her"]).values[0, d], 1 / (1 + np.exp(3)), atol=1e-5)
        cell.set_weights([kernel, recurrent, bias])
    status, out, _ = output_of(capsys, "gates", folder, "The old man saw her watch.", "--output", tmp_path / "g.png")
    assert status == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["token", "forward 3", "backward 3"]
    assert [row[0] for row in rows[1:]] == gates.tokens
    assert [float(row[2]) for row in rows[1:]] == pytest.approx(gates.values[0, 1].tolist(), abs=6e-4)
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="at least one token"):
        bundle.gates("")
    assert "must end in .png, .svg or .pdf" in output_of(capsys, "gates", folder, "a", "--output", "g.txt")[2]


@pytest.mark.slow
def test_rare_tags_become_one_and_are_always_wrong(tmp_path):
    corpus = small_demo("tagging")
    bundle = train(tmp_path / "run", dataset=corpus, min_tag_count=200, epochs=1)
    counts = {tag: sum(tags.count(tag) for tags in corpus.train.tags) for tag in corpus.tag_names}
    frequent_tags = {tag for tag, count in counts.items() if count >= 200}
    assert set(bundle.labels) == frequent_tags | {"RARE"}
    predicted = [tagged.tags for tagged in bundle.predict(corpus.test.tokens)]
    pairs = [p for gold, tags in zip(corpus.test.tags, predicted, strict=True) for p in zip(gold, tags, strict=True)]
    assert bundle.metrics["test_accuracy"] == pytest.approx(np.mean([a == b and a in frequent_tags for a, b in pairs]))
    assert bundle.history["val_accuracy"].max() == pytest.approx(bundle.metrics["dev_accuracy"], abs=1e-6)


def test_words_and_their_vectors(tmp_path):
    lines = ["the 0.1 0.2", "cat 0.3 0.4", "zebra 0.5 0.6", "9999 0.7 0.8"]
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    sentences = [["The", "cat", "saw", "once"], ["the", "Cat", "saw", "1984"]]
    words = build_tagging_vocabulary(sentences, vectors=tmp_path / "v.txt")
    vocabulary = words.vocabulary
    assert vocabulary.words == ("the", "cat", "saw", "9999", "zebra")  # "once" is seen once and has no vector
    assert vocabulary.num_frozen_words == 1
    np.testing.assert_allclose(words.matrix[[2, 3, 5, 6]], [[0.1, 0.2], [0.3, 0.4], [0.7, 0.8], [0.5, 0.6]])
    np.testing.assert_allclose(words.matrix[1], [0.4, 0.5])
    assert words.matrix[4].any()
    assert (words.coverage.types, words.coverage.types_with_vector) == (5, 3)
    assert sorted(vocabulary.chars) == sorted(set("TheCatsawonce1984"))
    with pytest.raises(ValueError, match="has a vector for none of the 1 words"):
        build_tagging_vocabulary([["quark"]], vectors=tmp_path / "v.txt")


def test_every_word_of_a_vocabulary_is_looked_up_as_itself(tmp_path):
    (tmp_path / "v.txt").write_text("the 1 2\n10 3 4\n½ 5 6\n... 7 8\nnever 9 10\n")
    odd = ["…", "½", "™", "２０", "co\u00adop", "ß", "\u00ad"]
    words = build_tagging_vocabulary([[*odd, "the"], [*odd, "The"]], vectors=tmp_path / "v.txt").vocabulary
    assert words.words == ("...", "9⁄9", "tm", "99", "coop", "ss", "the", "never")
    ids = words.tokens_to_ids()(tf.ragged.constant([list(words.words), odd]))["token_ids"].to_list()
    assert ids == [list(range(2, 10)), [2, 3, 4, 5, 6, 7, 1]]


BIO = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]


@given(st.lists(st.lists(st.tuples(st.sampled_from(BIO), st.sampled_from(BIO)), min_size=1, max_size=8), min_size=1))
@settings(max_examples=100, deadline=None)
def test_spans_are_counted_as_seqeval_counts_them(sentences):
    seqeval = pytest.importorskip("seqeval.metrics")
    gold, predicted = ([[pair[i] for pair in sentence] for sentence in sentences] for i in (0, 1))
    scores, rows = span_scores(gold, predicted, schemes_of(BIO, gold))
    options = {"zero_division": 0}
    assert scores["precision"] == pytest.approx(seqeval.precision_score(gold, predicted, **options))
    assert scores["recall"] == pytest.approx(seqeval.recall_score(gold, predicted, **options))
    assert scores["f1"] == pytest.approx(seqeval.f1_score(gold, predicted, **options))
    each = seqeval.f1_score(gold, predicted, average=None, **options)  # of labels that are in either, sorted
    assert [row["f1"] for row in rows] == pytest.approx(each.tolist())


def test_spans_are_scored_by_label_and_only_for_tags_that_mark_spans():
    sentence = TaggedSplit([["a", "b"]], [["S-X", "O"]])
    assert analyse(sentence, [["S-X", "O"]], ["B-X", "E-X", "O", "S-X"])[0]["f1"] == 1.0
    split = TaggedSplit([["a", "b", "c", "d"]], [["B-NP", "I-NP", "O", "B-VP"]])
    scores, analysis = analyse(split, [["B-NP", "I-NP", "B-VP", "B-VP"]], ["B-NP", "I-NP", "B-VP", "O"])
    assert scores == {
        "accuracy": 0.75,
        "texts": 1,
        "tokens": 4,
        "precision": pytest.approx(2 / 3),
        "recall": 1.0,
        "f1": 0.8,
    }
    assert analysis["spans"] == [
        {"label": "NP", "precision": 1.0, "recall": 1.0, "f1": 1.0, "texts": 1},
        {"label": "VP", "precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3), "texts": 1},
    ]
    text = report.markdown({**analysis, "split": "test"}, "mine")
    assert "## By span\n\n| label | precision % |" in text
    assert "| VP | 50.0 | 100.0 | 66.7 | 1 |" in text
    iob1, bilou = [["I-NP", "I-NP", "O", "I-VP"]], ["B-NP", "L-NP", "U-VP", "O"]  # each in its own scheme
    other = analyse(TaggedSplit(split.tokens, iob1), [["B-NP", "L-NP", "O", "U-VP"]], bilou)[0]
    assert (other["accuracy"], other["f1"]) == (0.25, 1.0)
    scores, analysis = analyse(split, split.tags, ["B-NP", "I-NP", "L-NP", "E-NP", "O"])
    assert "f1" not in scores
    assert "spans" not in analysis
    assert analysis["no_spans"].startswith("The tags mix schemes: no scheme has B, E, I, L together.")
    text = report.markdown({**analysis, "split": "test"}, "mine")
    assert "## Spans\n\nNot scored. The tags mix schemes: no scheme has B, E, I, L together." in text
    scores, analysis = analyse(split, split.tags, ["B-NP", "LOC-I", "O"])
    assert "not all written in one way" in analysis["no_spans"]
    wrong = TaggedSplit([["a", "b"]], [["B-NP", "NP"]])
    reason = analyse(wrong, [["B-NP", "O"]], ["B-NP", "I-NP", "O"])[1]["no_spans"]
    assert reason.startswith("The right tags cannot be read as spans.")
    assert "no_spans" not in analyse(TaggedSplit([["a"]], [["N"]]), [["N"]], ["N", "V"])[1]
    scores, analysis = analyse(split, [["B-NP", "I-NP", "B-VP", "B-VP"]], ["B-NP", "I-NP", "B-VP", "O"])
    example = {"words": ["a", "b", "c", "d"], "position": 2, "is_cut": [False, False]}
    assert analysis["confusions"] == [{"right": "O", "predicted": "B-VP", "tokens": 1, "examples": [example]}]
    (row,) = (row for row in analysis["tags"] if row["label"] == "B-VP")
    assert (row["precision"], row["recall"], row["texts"]) == (0.5, 1.0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dataset": "trec"}, "Corpus 'trec' is for classification, not for tagging"),
        ({"dataset": TaggingCorpus("mine", TaggedSplit([["a"]], [["X"]]), None, None)}, "mine has no dev sentences"),
        ({"num_steps": 3}, "num_steps is not an option for tagging"),
        ({"min_tag_count": 0}, "min_tag_count must be"),
        ({"min_tag_count": 10**6}, "leaves no tag"),
        ({"num_tags": 3}, "num_tags is derived from the data"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_span_whose_tag_the_model_does_not_know_is_missed(tmp_path):
    sentences, tags = [["the", "old", "cat", "ran"]] * 40, [["B-NP", "I-NP", "I-NP", "B-VP"]] * 40
    train_split = TaggedSplit(sentences, [*tags[:-1], ["B-NP", "I-NP", "I-NP", "O"]])
    test = TaggedSplit([["the", "old", "cat", "ran"]], [["B-LOC", "I-LOC", "O", "B-VP"]])
    corpus = TaggingCorpus("mine", train_split, test, test)
    with pytest.warns(UserWarning, match="B-LOC"):
        bundle = train(tmp_path / "run", dataset=corpus, min_tag_count=2, epochs=2)
    assert set(bundle.labels) == {"B-NP", "I-NP", "B-VP", "RARE"}
    with pytest.warns(UserWarning, match="B-LOC"):
        again = bundle.evaluate(test)
    assert bundle.metrics["test_f1"] == pytest.approx(again["f1"])
    assert bundle.metrics["test_recall"] == pytest.approx(again["recall"])
    assert bundle.metrics["test_recall"] in (0, 0.5)


def test_a_corpus_with_one_tag_is_refused_with_the_option_to_change(tmp_path):
    split = TaggedSplit([["a", "b"]] * 4, [["_", "_"]] * 4)
    with pytest.raises(ValueError, match=r"mine has one tag, '_', for all 8 tokens of train.*--tag-column"):
        train(tmp_path / "run", dataset=TaggingCorpus("mine", split, split, None))
    assert not (tmp_path / "run").exists()
