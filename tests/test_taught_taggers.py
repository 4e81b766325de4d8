"""Taggers that learn from probabilities: the loss, with and without a CRF, and runs that end as they should."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.classification.calibration import softmax
from dense_lstm_zoo.layers.crf import CRF
from dense_lstm_zoo.tagging import distillation
from dense_lstm_zoo.tagging.assembly import SentenceLoss
from dense_lstm_zoo.tagging.batches import TaggedExamples
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from dense_lstm_zoo.tagging.job import TaggingJob
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary
from tests.model_harness import TAGS, tiny_arguments
from tests.training_harness import interrupted, small_demo

TINY = {"vectors": "none", "units": 3, "embedding_dim": 4, "num_layers": 1, "epochs": 1, "progress": False}


def soft_demo(labelled=0.5):
    """The demo corpus with probabilities that favour the right tags, of which a part are given too."""
    corpus = small_demo("tagging")
    names = corpus.tag_names[::-1]
    generator = np.random.default_rng(3)
    matrices = []
    for tags in corpus.train.tags:
        logits = generator.normal(size=(len(tags), len(names)))
        logits[np.arange(len(tags)), [names.index(tag) for tag in tags]] += 3
        matrices.append(softmax(logits))
    own = [tags if i < labelled * len(matrices) else None for i, tags in enumerate(corpus.train.tags)]
    soft = {"probabilities": matrices, "tag_names": names, "teachers": ("an oracle",)}
    return dataclasses.replace(corpus, train=TaggedSplit(corpus.train.tokens, own, **soft))


def cross_entropy(teacher, log_p):
    return -(teacher * log_p).sum(axis=-1)


@pytest.mark.parametrize(("temperature", "hard_weight"), [(1.0, 0.0), (2.5, 0.0), (4.0, 0.3), (1.0, 1.0)])
def test_the_loss_is_the_mean_over_tokens_then_over_sentences_without_padding(temperature, hard_weight):
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(2, 4, 3)).astype(np.float32)
    shares, lengths, tags = softmax(generator.normal(size=(2, 4, 3)) * 2), (3, 1), ([0, 2, 1], None)
    batch, expected = np.full((2, 4, 4), 7.0, np.float32), []
    batch[:, :, 0] = -1
    for row, (length, own) in enumerate(zip(lengths, tags, strict=True)):
        own_tags = np.array(own or [-2] * length)
        batch[row, :length] = distillation.targets(own_tags, shares[row, :length], temperature)
        total = 0.0
        for i in range(length):
            teacher = shares[row, i] ** (1 / temperature) / (shares[row, i] ** (1 / temperature)).sum()
            soft = cross_entropy(teacher, np.log(softmax(logits[row, i : i + 1] / temperature)[0])) * temperature**2
            weight = 0.0 if own is None else hard_weight
            hard = 0.0 if own is None else -np.log(softmax(logits[row, i : i + 1])[0, own[i]])
            total += (1 - weight) * soft + weight * hard
        expected.append(total / length)
    loss = distillation.TaughtSentenceLoss(temperature, hard_weight)
    assert float(loss(batch, logits)) == pytest.approx(np.mean(expected), 1e-5)
    assert float(loss(batch, logits, np.full((2, 4), 3.0))) == pytest.approx(3 * np.mean(expected), 1e-5)
    hard_tags = np.array([[0, 2, 1, -1], [1, -1, -1, -1]])
    assert float(loss(hard_tags, logits)) == pytest.approx(float(SentenceLoss()(hard_tags, logits)), 1e-6)
    metric = distillation.Agreement()
    metric.update_state(batch, np.where(batch[:, :, 1:] == batch[:, :, 1:].max(axis=2, keepdims=True), 5.0, 0.0))
    assert (float(metric.result()), float(metric.count)) == (1.0, 4.0)


def test_the_marginals_of_a_crf_have_logarithms_with_the_gradient_of_all_sequences():
    generator = np.random.default_rng(1)
    crf = CRF(2)
    for weight in crf.weights:
        weight.assign(generator.normal(size=weight.shape))
    potentials, lengths = tf.constant(generator.normal(size=(1, 4, 2)), tf.float32), tf.constant([3])
    teacher = softmax(generator.normal(size=(3, 2)))

    def by_hand(scores):
        every = list(itertools.product(range(2), repeat=3))
        totals = []
        for tags in every:
            total = crf.start[tags[0]] + crf.end[tags[2]] + sum(scores[0, i, tag] for i, tag in enumerate(tags))
            totals.append(total + sum(crf.transitions[a, b] for a, b in itertools.pairwise(tags)))
        log_p = tf.nn.log_softmax(tf.stack(totals))
        with_tag = [[[n for n, tags in enumerate(every) if tags[i] == k] for k in range(2)] for i in range(3)]
        return tf.stack([[tf.reduce_logsumexp(tf.gather(log_p, n)) for n in places] for places in with_tag])

    values, gradients = [], []
    for log_marginals in (by_hand, lambda scores: crf.log_marginals(scores, lengths)[0, :3]):
        with tf.GradientTape() as tape:
            tape.watch(potentials)
            value = -tf.reduce_sum(teacher * log_marginals(potentials))
        values.append(float(value))
        gradients.append(tape.gradient(value, [potentials, *(weight.value for weight in crf.weights)]))
    assert values[0] == pytest.approx(values[1], 1e-5)
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_array_equal(crf.log_marginals(potentials, lengths)[0, 3], [0, 0])


def test_a_batch_has_the_columns_of_the_model_and_weights_by_probability():
    split = TaggedSplit(
        [["a", "b"], ["c"]], [None, ["X"]], probabilities=[[[0.25, 0.75], [1, 0]], None], tag_names=["Y", "X"]
    )
    ids = TaggingVocabulary(("a", "b", "c"), "abc").tokens_to_ids()
    _, targets, weights = TaggedExamples(ids, split, {"X": 0, "Y": 1}, {0: 1.0, 1: 3.0}).collate(np.array([0, 1]))
    assert targets.shape == (2, 4, 3)
    assert targets[0, :3].tolist() == [[-2, 0.75, 0.25], [-2, 0, 1], [-1, 0, 0]]
    assert targets[1, 0].tolist() == [0, 1, 0]
    assert weights[0].tolist() == [1.5, 3, 1, 1]


def test_a_crf_learns_by_its_marginals():
    model = zoo.build("bilstm_tagger", **tiny_arguments("bilstm_tagger"), crf=True)
    distillation.compile_student(model, 1.0, 0.0)
    generator = np.random.default_rng(2)
    for weight in model.crf.weights:
        weight.assign(generator.normal(size=weight.shape))
    shares = softmax(generator.normal(size=(2, TAGS)))
    batch = np.zeros((1, 4, 1 + TAGS), np.float32)
    batch[0, :, 0], batch[0, :2] = -1, distillation.targets(np.array([-2, -2]), shares)
    ids = {name: np.zeros((1, 4, *x.shape[2:]), np.int32) for name, x in model.core.input.items()}
    ids["token_ids"][0, :2] = 2, 3
    potentials = model(ids)
    marginals = model.crf.marginals(potentials, np.array([2])).numpy()[0, :2]
    expected = cross_entropy(shares, np.log(marginals)).mean()
    assert float(model.compute_loss(ids, batch, potentials)) == pytest.approx(expected, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("crf", [False, True])
def test_every_kind_of_output_learns_what_its_teacher_knows(crf, tmp_path):
    settings = {**TINY, "units": 20, "embedding_dim": 20, "optimizer": "adam", "learning_rate": 0.01}
    settings |= {"batch_size": 8, "epochs": 6}
    bundle = zoo.train("bilstm_tagger", soft_demo(0), tmp_path / "run", crf=crf, temperature=2.0, **settings)
    assert bundle.metrics["test_accuracy"] > 0.7


SOFT = {"temperature": 2.0, "hard_weight": 0.25, "class_weights": {"NOUN": 2.0}, "epochs": 2}


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    folder = tmp_path_factory.mktemp("student") / "run"
    return zoo.train("bilstm_tagger", soft_demo(), folder, **{**TINY, **SOFT}), folder


@pytest.mark.slow
def test_an_interrupted_student_ends_with_the_same_weights(student, tmp_path):
    options = {**TINY, **SOFT}
    with interrupted(epoch=1, batch=2):
        zoo.train("bilstm_tagger", soft_demo(), tmp_path / "run", **options)
    with pytest.raises(ValueError, match=r"temperature was 2\.0 and is 3\.0"):
        zoo.train("bilstm_tagger", soft_demo(), tmp_path / "run", **{**options, "temperature": 3.0})
    again = zoo.train("bilstm_tagger", soft_demo(), tmp_path / "run", **options)
    for one, other in zip(student[0].model.get_weights(), again.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_run_goes_on_with_the_same_probabilities_alone():
    corpus, other = soft_demo(), soft_demo()
    assert TaggingJob.fingerprint(corpus) == TaggingJob.fingerprint(other)
    other.train.probabilities[0][:] = 1 / len(other.train.tag_names)
    assert TaggingJob.fingerprint(corpus) != TaggingJob.fingerprint(other)


def test_a_student_remembers_its_teacher(student):
    bundle, folder = student
    training = bundle.config["training"]
    assert training["taught_by"] == {"teachers": ["an oracle"], "texts": 300, "labelled": 150}
    assert (training["temperature"], training["hard_weight"]) == (2.0, 0.25)
    assert "Taught by an oracle: soft labels for 300 training texts" in (folder / "README.md").read_text()
    assert "temperature = 2.0" in (folder / "run.toml").read_text()
    assert bundle.history["loss"].iloc[1] < bundle.history["loss"].iloc[0]
    assert "taught_dev" not in bundle.metrics
    assert type(bundle.model.loss) is SentenceLoss  # learns from tags again
    with pytest.raises(ValueError, match="evaluate needs tags; some sentences have soft labels alone"):
        bundle.evaluate(soft_demo().train)


def test_dev_without_true_tags_is_said_to_be_agreement():
    options = tasks.find("tagging").resolve({"vectors": None}, seed=1)
    job = TaggingJob(dataclasses.replace(soft_demo(0), dev=None, test=None), options)
    assert len(job.corpus.dev) == 30
    assert "how often the model agrees with its teacher" in job.cautions()["taught_dev"]
    assert "taught by an oracle: probabilities of 14 labels for 270 training texts, 0 of which" in job.summary()


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        (
            {},
            {"temperature": 2.0},
            r"temperature=2.0 is for training texts with soft labels \(a file NAME.probabilities",
        ),
        ({}, {"hard_weight": 1.5}, "hard_weight must be a number from 0 to 1"),
        ({"test": True}, {}, "demo's test texts have soft labels; scores need a label for each"),
    ],
)
def test_options_and_parts_are_checked_before_any_work(changes, options, message, tmp_path):
    corpus = small_demo("tagging")
    changes = {part: soft_demo(0).train for part in changes}
    with pytest.raises(ValueError, match=message):
        zoo.train("bilstm_tagger", dataclasses.replace(corpus, **changes), tmp_path / "run", **TINY, **options)
    assert not (tmp_path / "run").exists()
