"""A tagger's training: class weights in the loss, what "balanced" is, and tags in no scheme."""

import functools
import json
import re

import numpy as np
import pytest
import tensorflow as tf
from sklearn.utils.class_weight import compute_class_weight

import dense_lstm_zoo as zoo
from dense_lstm_zoo.tagging.assembly import SentenceLoss
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus
from dense_lstm_zoo.tagging.job import TaggingJob
from dense_lstm_zoo.training.class_weights import check_loss
from tests.cli_harness import output_of

TOKENS = [["the", "cat", "ran"], ["a", "dog", "sat", "down"], ["go"]] * 8
TAGS = [["O", "B-N", "B-V"], ["O", "B-N", "B-V", "I-V"], ["B-V"]] * 8
PART = TaggedSplit(TOKENS, TAGS)
CORPUS = TaggingCorpus("mine", PART, TaggedSplit(TOKENS[:3], TAGS[:3]), None)
TINY = {"epochs": 1, "vectors": "none", "units": 3, "embedding_dim": 4, "num_layers": 1, "progress": False}
train = functools.partial(zoo.train, "bilstm_tagger", CORPUS)


def test_the_loss_of_a_token_is_multiplied_by_its_weight():
    rng = np.random.default_rng(3)
    tags = np.array([[0, 2, 1, -1], [1, -2, -1, -1]])
    logits, weights = rng.normal(size=(2, 4, 3)).astype("float32"), np.array([0.5, 3.0, 2.0, 1, 1], np.float32)
    log_p = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    first = -(0.5 * log_p[0, 0, 0] + 2 * log_p[0, 1, 2] + 3 * log_p[0, 2, 1]) / 3
    second = -3 * log_p[1, 0, 1]
    loss = float(SentenceLoss()(tags, logits, weights[tags]))
    assert loss == pytest.approx((first + second) / 2, rel=1e-5)
    assert float(SentenceLoss()(tags, logits, np.ones((2, 4)))) == pytest.approx(float(SentenceLoss()(tags, logits)))
    by_sentence = float(SentenceLoss()(tags, logits, tf.constant([2.0, 0.0])))  # as Keras has it
    assert by_sentence == pytest.approx(-2 * (log_p[0, 0, 0] + log_p[0, 1, 2] + log_p[0, 2, 1]) / 3 / 2, rel=1e-5)


def options_of(**options):
    from dense_lstm_zoo.tasks import find

    return find("tagging").resolve({"vectors": None, **options}, seed=1)


def test_balanced_weights_are_those_of_scikit_learn():
    job = TaggingJob(CORPUS, options_of(class_weights="balanced"))
    flat = [tag for tags in TAGS for tag in tags]
    expected = compute_class_weight("balanced", classes=np.array(job.labels), y=flat)
    np.testing.assert_allclose(list(job.tag_weights.values()), expected)
    weights = TaggingJob(CORPUS, options_of(class_weights={"B-N": 3})).tag_weights
    assert weights == {0: 3.0, 1: 1.0, 2: 1.0, 3: 1.0}
    rare = TaggingJob(CORPUS, options_of(class_weights={"RARE": 5}, min_tag_count=10)).tag_weights
    assert rare[3] == 5.0


def test_tags_in_no_scheme_are_named_before_the_training():
    assert TaggingJob(CORPUS, options_of()).cautions() == {}
    mixed = TaggedSplit([["a", "b", "c"]], [["B-X", "L-X", "E-X"]])
    caution = TaggingJob(
        TaggingCorpus("mixed", TaggedSplit([*mixed.tokens, ["d"]], [*mixed.tags, ["O"]]), PART, None), options_of()
    )
    assert caution.cautions()["no_spans"].startswith(
        "Spans will not be scored. The tags mix schemes: no scheme has B, E, L"
    )


def mean_loss(bundle, part, weights):
    """Return the weighted cross-entropy, over the tokens of a sentence, then over sentences, from probabilities."""
    losses = []
    for row, tags in zip(bundle.probabilities(part.tokens), part.tags, strict=True):
        own = [row[i, bundle.labels.index(tag)] for i, tag in enumerate(tags)]
        losses.append(np.mean([-np.log(p) * weights.get(tag, 1) for p, tag in zip(own, tags, strict=True)]))
    return np.mean(losses)


@pytest.mark.slow
def test_weights_change_the_training_loss_but_not_the_dev_loss(tmp_path):
    still = {"learning_rate": 1e-9, "dropout": 0.0, "window_dropout": 0.0}
    weights = {"B-N": 3.0, "I-V": 0.5}
    bundle = train(tmp_path / "run", class_weights=weights, **TINY, **still)
    assert bundle.history["loss"][0] == pytest.approx(mean_loss(bundle, PART, weights), rel=1e-4)
    assert bundle.history["val_loss"][0] == pytest.approx(mean_loss(bundle, CORPUS.dev, {}), rel=1e-4)
    assert mean_loss(bundle, PART, weights) != pytest.approx(mean_loss(bundle, PART, {}), rel=0.1)
    assert bundle.config["training"]["class_weights"] == weights
    assert zoo.load(tmp_path / "run").predict(TOKENS[:2]) == bundle.predict(TOKENS[:2])
    with pytest.raises(ValueError, match="crf=True has none"):  # the arguments of the trained model are those of a run
        check_loss("balanced", {**bundle.config["arguments"], "crf": True})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"class_weights": {"B-n": 2}}, "Unknown tag in class_weights: 'B-n'. Did you mean 'B-V' or 'B-N'"),
        ({"class_weights": "balance"}, "Unknown value of class_weights: 'balance'. Did you mean 'balanced'"),
        ({"class_weights": {"O": 0}}, r"class_weights\['O'\] must be a finite number above 0; received 0"),
        ({"class_weights": {"O": -1.0}}, r"class_weights\['O'\] must be a finite number above 0; received -1.0"),
        ({"class_weights": "balanced", "crf": True}, "crf=True has none: it trains on the probability of whole seq"),
    ],
)
def test_bad_weights_are_refused_before_anything_is_written(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", **TINY, **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_command_line_takes_weights(tmp_path, capsys):
    lines = ["\n".join(map(" ".join, zip(*pair, strict=True))) for pair in zip(TOKENS, TAGS, strict=True)]
    (tmp_path / "mine.conll").write_text("\n\n".join(lines) + "\n")
    files = [f"--{part}-file={tmp_path / 'mine.conll'}" for part in ("train", "dev")]
    size = ["--units", "3", "--embedding-dim", "4", "--num-layers", "1", "--epochs", "1", "--vectors", "none"]
    command = ["train", "bilstm_tagger", *files, *size, "--run-dir", tmp_path / "run"]
    status, _, err = output_of(capsys, *command, "--class-weights", '{"B-X": 2}')
    assert (status, "Unknown tag in class_weights: 'B-X'. Did you mean 'B-" in err) == (2, True)
    assert output_of(capsys, *command, "--class-weights", '{"B-N": 2}')[0] == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["training"]["class_weights"] == {"B-N": 2}
    _, out, _ = output_of(capsys, "evaluate", tmp_path / "run", "--test-file", tmp_path / "mine.conll")
    assert re.search(r"span F1 [01]\.\d{4} \(precision [01]\.\d{4}, recall [01]\.\d{4}\)", out)
    arguments = ["--test-file", tmp_path / "mine.conll", "--format", "json"]
    row = json.loads(output_of(capsys, "evaluate", tmp_path / "run", *arguments)[1])
    assert [(span["label"], span["texts"]) for span in row["spans"]] == [("N", 16), ("V", 24)]
