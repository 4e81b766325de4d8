"""A trained language model: the results of a run, scores, continuations, next words, and the same when served."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense_lstm_zoo as zoo
from dense_lstm_zoo.exports.saved_model import graph_ops
from dense_lstm_zoo.language.batches import evaluation_windows
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary, SentenceToIds
from tests.bundle_harness import written_sizes
from tests.training_harness import small_demo
from tests.training_harness import train_language_model as train

TEXTS = [
    "the king reigns .",
    "",
    " \t",
    "qwerty the <unk> <eos> king",
    "the old king " * 70,
    "die Kön\u00adigin 😀",
    "a\u3000b\u0085c\x1cd",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A bundle and its folder. No test changes them."""
    folder = tmp_path_factory.mktemp("runs") / "language"
    return train(folder), folder


def log_p_by_hand(bundle, ids):
    """log p of each id given those before it, from one pass over the whole row, in float64."""
    logits = bundle.model(np.array([ids[:-1]], np.int32)).numpy()[0].astype(np.float64)
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return log_p[np.arange(len(ids) - 1), ids[1:]]


def sentence(bundle, text):
    words = bundle.vocabulary.words
    ids = [words.index(w) if w in words else bundle.vocabulary.unknown for w in text.split()]
    return [bundle.vocabulary.eos, *ids, bundle.vocabulary.eos]


def test_a_run_leaves_a_whole_bundle_that_loads_the_same(trained):
    bundle, folder = trained
    expected = "README.md config.json evaluation.json history.csv labels.json learning_curve.png manifest.json"
    expected += " metrics.json model.weights.h5 report.md run.toml train_texts.npy vocabulary.txt"
    assert sorted(f.name for f in folder.iterdir()) == expected.split()
    assert [f.name for f in folder.parent.iterdir()] == [folder.name]
    again = zoo.load(folder)
    assert again.score(TEXTS) == bundle.score(TEXTS)
    assert again.vocabulary == bundle.vocabulary
    assert len(bundle.vocabulary) == bundle.config["arguments"]["vocab_size"] == 90
    assert "dense_lstm_lm, demo: dev_perplexity=" in repr(again)
    card = (folder / "README.md").read_text()
    assert f"{bundle.metrics['test_perplexity']:.2f}" in card
    assert "bundle.generate(" in card


def test_the_epoch_with_the_lowest_dev_perplexity_is_kept_and_test_is_scored_as_the_papers_do(trained):
    bundle, folder = trained
    history = bundle.history
    assert bundle.metrics["best_epoch"] == history["epoch"][history["val_perplexity"].idxmin()]
    assert bundle.metrics["dev_perplexity"] == pytest.approx(history["val_perplexity"].min(), rel=1e-5)
    test = small_demo("language_model").test
    ids = bundle.vocabulary.encode(test)
    by_keras = bundle.model.evaluate(evaluation_windows(ids).dataset, verbose=0, return_dict=True)["perplexity"]
    assert bundle.metrics["test_perplexity"] == pytest.approx(by_keras, rel=1e-5)
    assert not bundle.has_other_weights  # the state that an evaluation carries along is no weight
    edges = [-(-i * (len(ids) - 1) // 10) for i in range(11)]
    rows = [log_p_by_hand(bundle, ids[a : b + 1]) for a, b in itertools.pairwise(edges)]
    by_hand = np.exp(-np.concatenate(rows).mean())
    assert bundle.metrics["test_perplexity"] == pytest.approx(by_hand, rel=1e-5)
    assert bundle.metrics["test_tokens"] == len(ids) - 1 == sum(map(len, rows))
    unknown = sum(word not in bundle.vocabulary.words for line in test for word in line.split())
    assert bundle.metrics["test_unknown_words"] == unknown > 0
    assert f"{unknown:,} are unknown words" in (folder / "report.md").read_text()
    bands = bundle.evaluation["by_rank"]
    assert [(band["from"], band["to"]) for band in bands] == [(1, 10), (11, 90)]
    total = sum(band["tokens"] * np.log(band["perplexity"]) for band in bands)
    assert np.exp(total / bundle.metrics["test_tokens"]) == pytest.approx(by_hand, rel=1e-5)


def test_a_score_is_the_log_probability_of_the_sentence_and_its_end_whatever_else_is_scored(trained):
    bundle, _ = trained
    for text, score in zip(TEXTS, bundle.score(TEXTS), strict=True):
        ids = sentence(bundle, text)
        expected = log_p_by_hand(bundle, ids)
        assert score.text == text
        assert score.log_probability == pytest.approx(expected.sum(), rel=1e-5)
        assert score.perplexity == pytest.approx(np.exp(-expected.mean()), rel=1e-5)
        assert (score.tokens, score.unknown_words) == (len(ids) - 1, ids.count(bundle.vocabulary.unknown))
        assert bundle.score([text])[0].log_probability == pytest.approx(score.log_probability, rel=1e-5)
    assert bundle.score([]) == []
    assert next(bundle.score_stream(iter(TEXTS))).text == TEXTS[0]
    with pytest.raises(TypeError, match=r"received one string. Write \['a text'\]"):
        bundle.score("a text")
    with pytest.raises(TypeError, match=r"received 3 \(int\)"):
        bundle.score(["a", 3])


@given(st.lists(st.text(max_size=12), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_sentences_have_the_ids_that_training_gives_lines(lines):
    words = LanguageVocabulary.from_text([*lines, "a b"], max_size=5)
    rows = SentenceToIds(words.words)([line.encode("utf-8", "replace") for line in lines]).to_list()
    for line, row in zip(lines, rows, strict=True):
        line = line.encode("utf-8", "replace").decode()
        by_training = words.encode([line]).tolist() if line.strip() else [words.eos]
        assert row == [words.eos, *by_training]


@pytest.mark.slow
def test_models_of_several_widths_are_scored_in_one_process(trained, tmp_path):
    # Programs shared by all widths tell no width: what a loop carries has to know its own.
    for units in (3, 7):
        other = train(tmp_path / str(units), units=units, epochs=1)
        assert other.score(TEXTS)[0].tokens == 5
    assert trained[0].evaluate(small_demo("language_model").test)["perplexity"] == trained[0].metrics["test_perplexity"]


def test_the_likeliest_continuation_carries_the_state_as_reading_everything_anew_does(trained):
    bundle, _ = trained
    for prompt in ("the king", "", "the old king " * 30):
        ids = sentence(bundle, prompt)[:-1]
        start = len(ids)
        for _ in range(8):
            logits = bundle.model(np.array([ids], np.int32)).numpy()[0, -1]
            logits[bundle.vocabulary.unknown] = -np.inf
            ids.append(int(logits.argmax()))
        words = [bundle.vocabulary.words[i] for i in ids[start:]]
        settings = {"max_tokens": 8, "stop_at_line_end": False}
        continuation = bundle.generate(prompt, temperature=0, **settings)
        assert (
            continuation.text.replace("\n", " <eos> ").split()
            == words[: len(continuation.text.replace("\n", " x ").split())]
        )
        assert continuation == bundle.generate(prompt, top_k=1, **settings)
        assert continuation.log_probability == pytest.approx(log_p_by_hand(bundle, ids)[start - 1 :].sum(), rel=1e-4)


@pytest.mark.slow
def test_draws_follow_seed_temperature_and_the_models_probabilities(trained):
    bundle, _ = trained
    texts = {bundle.generate("the", 12, seed=seed).text for seed in range(6)}
    assert len(texts) > 3
    assert bundle.generate("the", 12, seed=3) == bundle.generate("the", 12, seed=3)
    log_p = {word: np.log(p) for word, p in bundle.next_words("the", 90)}
    words_of_draws = [bundle.generate("the", 1, seed=seed, stop_at_line_end=False).text for seed in range(300)]
    assert "<unk>" not in words_of_draws
    word = max((w for w in log_p if not w.startswith("<")), key=log_p.get)
    share = np.exp(log_p[word]) / (1 - np.exp(log_p["<unk>"]))
    assert words_of_draws.count(word) / 300 == pytest.approx(share, abs=4 * np.sqrt(share / 300))
    colder = [bundle.generate("the", 1, seed=seed, temperature=0.2).text for seed in range(50)]
    assert colder.count(word) / 50 > words_of_draws.count(word) / 300
    top = {w for w, _ in bundle.next_words("the", 4)} - {"<unk>"}
    assert {bundle.generate("the", 1, seed=s, top_k=2).text for s in range(30)} <= top | {""}
    assert "<unk>" in [bundle.generate("the", 1, seed=s, allow_unknown=True).text for s in range(60)]
    for arguments, message in (
        ({"max_tokens": 0}, "max_tokens must be"),
        ({"temperature": -1}, "temperature must be"),
        ({"top_k": 0}, "top_k must be"),
        ({"seed": -1}, "seed must be"),
    ):
        with pytest.raises(ValueError, match=message):
            bundle.generate("the", **arguments)


def test_next_words_are_the_likeliest_with_their_probabilities(trained):
    bundle, _ = trained
    logits = bundle.model(np.array([sentence(bundle, "the old")[:-1]], np.int32)).numpy()[0, -1].astype(np.float64)
    shares = np.exp(logits) / np.exp(logits).sum()
    top_words = bundle.next_words("the old", 3)
    assert [word for word, _ in top_words] == [bundle.vocabulary.words[i] for i in np.argsort(-shares)[:3]]
    assert [p for _, p in top_words] == pytest.approx(np.sort(shares)[::-1][:3].tolist(), rel=1e-5)
    assert sum(p for _, p in bundle.next_words("the old", 1000)) == pytest.approx(1)
    with pytest.raises(ValueError, match="k must be"):
        bundle.next_words("the", 0)


SERVE = """
import json, sys
import tensorflow as tf
folder, texts = sys.argv[1], json.load(open(sys.argv[2]))
loaded = tf.saved_model.load(folder)
score, step = loaded.signatures["score"], loaded.signatures["step"]
names = [name for name in step.structured_input_signature[1] if name != "token_ids"]
words = open(folder + "/assets.extra/vocabulary.txt", encoding="utf-8").read().split("\\n")[:-1]
states = {name: tf.zeros((1, 6)) for name in names}
for word in ("<eos>", "the", "old"):
    outputs = step(token_ids=tf.constant([[words.index(word)]]), **states)
    states = {name: outputs[name] for name in names}
print(json.dumps({
    "scores": {name: value.numpy().tolist() for name, value in score(text=tf.constant(texts)).items()},
    "alone": [score(text=tf.constant([text]))["log_probability"].numpy().tolist()[0] for text in texts],
    "empty": {name: list(value.shape) for name, value in score(text=tf.constant([], tf.string)).items()},
    "next": tf.exp(outputs["log_probabilities"])[0, -1].numpy().tolist(),
    "words": words, "names": sorted(names), "imported": "dense_lstm_zoo" in sys.modules,
}))
"""


@pytest.mark.slow
def test_a_fresh_process_without_the_package_scores_and_steps_as_python_does(trained, tmp_path):
    bundle, _ = trained
    folder = bundle.export(tmp_path / "export" / "1")
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    run = subprocess.run(
        [sys.executable, "-c", SERVE, folder, tmp_path / "texts.json"], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    served, expected = json.loads(run.stdout), bundle.score(TEXTS)
    assert not served["imported"]
    for name in ("log_probability", "perplexity", "tokens"):
        assert served["scores"][name] == pytest.approx([getattr(score, name) for score in expected], rel=1e-4)
    assert served["alone"] == pytest.approx(served["scores"]["log_probability"], rel=1e-4)
    assert set(map(tuple, served["empty"].values())) == {(0,)}
    assert served["names"] == ["state_1_c", "state_1_h", "state_2_c", "state_2_h"]
    by_word = dict(bundle.next_words("the old", 90))
    assert served["next"] == pytest.approx([by_word[word] for word in served["words"]], abs=1e-5)
    assert not {op for op in graph_ops(folder) if "Xla" in op}
    assert written_sizes(folder) == sorted(w.size for w in bundle.network.get_weights())
    with pytest.raises(FileExistsError, match="already exists"):
        bundle.export(folder)
