"""All sides of every comparison compute the same. Nothing here is timed."""

import dataclasses

import numpy as np
import pytest

from benchmarks.speed import (
    language_sides,
    measure,
    peers,
    pooling_sides,
    tagger_sides,
)
from benchmarks.speed.measure import Worker, WorkerError
from benchmarks.speed.networks import (
    Architecture,
    LanguageArchitecture,
    PoolingArchitecture,
    TaggerArchitecture,
)
from benchmarks.speed.sides import Side

SMALL = Architecture(num_dense_layers=2, dense_units=3, top_units=4, features=5, num_classes=3)
BATCH, TIME = 4, 6
# One step of Adam moves every weight by at most its learning rate: agreement must be far closer than that.
AFTER_A_STEP = 0.02 * peers.LEARNING_RATE
SMALL_LANGUAGE = LanguageArchitecture(
    num_layers=2, units=4, embedding_dim=3, vocab_size=30, dropout=0.0, batch=BATCH, time=TIME
)
SMALL_TAGGER = TaggerArchitecture(num_layers=4, units=4, features=5, num_tags=3, dropout=0.0, time=TIME)
SMALL_POOLING = PoolingArchitecture(num_lower=3, lower_width=4, top_width=6, num_classes=3)


def random_weights(side: Side, scale: float = 0.5) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.normal(scale=scale, size=w.shape).astype(np.float32) for w in side.weights()]


@pytest.fixture(scope="module")
def ours() -> dict[str, list[np.ndarray]]:
    """Our weights, their logits, and the weights after one training step."""
    side = peers.OurSide(SMALL)
    before = random_weights(side)
    side.set_weights(before)
    logits = side.logits(BATCH, TIME)
    side.first_step(BATCH, TIME)
    return {"before": before, "logits": [logits], "after": side.weights()}


@pytest.mark.slow
def test_stock_keras_computes_our_logits_and_our_training_step(ours):
    side = peers.StockSide(SMALL)
    side.set_weights(ours["before"])
    np.testing.assert_allclose(side.logits(BATCH, TIME), ours["logits"][0], atol=1e-5)
    side.first_step(BATCH, TIME)
    for mine, theirs, before in zip(ours["after"], side.weights(), ours["before"], strict=True):
        np.testing.assert_allclose(theirs, mine, atol=AFTER_A_STEP)
        assert np.any(mine != before)


@pytest.mark.slow
def test_pytorch_computes_our_logits_and_our_training_step(ours, tmp_path):
    with torch_worker() as worker:
        worker.ask("build", side="torch", architecture=SMALL.to_dict())
        logits, after = torch_step(worker, ours["before"], str(tmp_path / "arrays.npz"))
    np.testing.assert_allclose(logits, ours["logits"][0], atol=1e-5)
    for theirs, mine in zip(after, ours["after"], strict=True):
        np.testing.assert_allclose(theirs, mine, atol=AFTER_A_STEP)


def torch_worker() -> Worker:
    try:
        return Worker("torch")
    except WorkerError as error:
        if error.kind != "ModuleNotFoundError":
            raise
        pytest.skip(f"PyTorch is not installed here, nor in ${measure.TORCH_FOLDER}")


def torch_step(worker: Worker, weights: list[np.ndarray], path: str, method: str = "first_step", **arguments: int):
    """Return the logits of a side with these weights, and its weights after training."""
    np.savez(path, *weights)
    worker.ask("set_weights", path=path)
    worker.ask("save", method="logits", path=path, batch=BATCH, time=TIME)
    with np.load(path) as arrays:
        logits = arrays["arr_0"]
    worker.ask("run", method=method, batch=BATCH, time=TIME, **arguments)
    worker.ask("save", method="weights", path=path)
    with np.load(path) as arrays:
        return logits, [arrays[name] for name in arrays.files]


@pytest.fixture(scope="module")
def our_language_model() -> dict[str, list[np.ndarray]]:
    """Our weights, their logits, and the weights after two steps, the second from the state that the first ended in."""
    side = language_sides.OurLanguageModel(SMALL_LANGUAGE)
    before = random_weights(side, scale=1.0)
    side.set_weights(before)
    logits = side.logits(BATCH, TIME)
    side.train(BATCH, TIME, steps=1)
    return {"before": before, "logits": [logits], "after": side.weights()}


@pytest.mark.slow
def test_stock_keras_computes_our_language_model_and_its_training_steps(our_language_model):
    before, after = our_language_model["before"], our_language_model["after"]
    side = language_sides.StockLanguageModel(SMALL_LANGUAGE)
    side.set_weights(before)
    for _ in range(2):  # what was asked for before leaves no state behind
        np.testing.assert_allclose(side.logits(BATCH, TIME), our_language_model["logits"][0], atol=1e-5)
    side.train(BATCH, TIME, steps=1)
    assert_equal_weights(side.weights(), after)
    # These gradients are longer than the clipping norm (5.6 in the first step): each step moves by the norm.
    moves = np.concatenate([(mine - start).ravel() for mine, start in zip(after, before, strict=True)])
    assert language_sides.CLIP_NORM < np.linalg.norm(moves) <= 2 * language_sides.CLIP_NORM


def test_pytorch_computes_our_language_model_and_its_training_steps(our_language_model, tmp_path):
    with torch_worker() as worker:
        for dropout in (0.0, 0.6):
            architecture = dataclasses.replace(SMALL_LANGUAGE, dropout=dropout)
            worker.ask("build", side="torch", architecture=architecture.to_dict(), network="language_model")
            weights, path = our_language_model["before"], str(tmp_path / "arrays.npz")
            logits, after = torch_step(worker, weights, path, "train", steps=1)
            np.testing.assert_allclose(logits, our_language_model["logits"][0], atol=1e-5)
            if dropout == 0:
                assert_equal_weights(after, our_language_model["after"])
            else:
                assert np.abs(after[-1] - our_language_model["after"][-1]).max() > 0.01


def assert_equal_weights(weights: list[np.ndarray], expected: list[np.ndarray], atol: float = 1e-4) -> None:
    for theirs, mine in zip(weights, expected, strict=True):
        np.testing.assert_allclose(theirs, mine, atol=atol)


def test_both_keras_language_models_drop_out_in_training_alone():
    architecture = dataclasses.replace(SMALL_LANGUAGE, dropout=0.6)
    ids, _ = language_sides.random_windows(architecture, BATCH, TIME)
    for make in (language_sides.OurLanguageModel, language_sides.StockLanguageModel):
        side = make(architecture)
        same = [side.model(side.inputs(ids[0], is_first=True), training=True).numpy() for _ in range(2)]
        assert np.abs(same[0] - same[1]).max() > 0
        np.testing.assert_array_equal(side.logits(BATCH, TIME), side.logits(BATCH, TIME))


@pytest.mark.slow
def test_the_cell_in_a_keras_rnn_computes_our_tagger_and_its_training_step():
    ours, stock = (make(SMALL_TAGGER) for make in (tagger_sides.OurTagger, tagger_sides.StockTagger))
    before = random_weights(ours, scale=1.0)
    for side in (ours, stock):
        side.set_weights(before)
    np.testing.assert_allclose(stock.logits(BATCH, TIME), ours.logits(BATCH, TIME), atol=1e-5)
    features, _, _ = tagger_sides.random_sentences(SMALL_TAGGER, BATCH, TIME)
    lengths = np.array([6, 3, 1, 5], np.int32)
    logits = [side.model([features, lengths]).numpy() for side in (ours, stock)]
    for row, length in enumerate(lengths):  # both honour the lengths
        np.testing.assert_allclose(logits[0][row, :length], logits[1][row, :length], atol=1e-5)
    for side in (ours, stock):
        side.first_step(BATCH, TIME)
    assert_equal_weights(stock.weights(), ours.weights(), atol=1e-6)
    assert all(np.any(after != start) for after, start in zip(ours.weights(), before, strict=True))


@pytest.mark.slow
def test_a_loop_over_the_layers_computes_our_pooling_and_its_training_step():
    ours, plain = (make(SMALL_POOLING) for make in (pooling_sides.OurPooling, pooling_sides.PlainPooling))
    before = random_weights(ours, scale=1.0)
    for side in (ours, plain):
        side.set_weights(before)
        assert_equal_weights(side.weights(), before, atol=0)
    np.testing.assert_allclose(plain.logits(BATCH, TIME), ours.logits(BATCH, TIME), atol=1e-5)
    for side in (ours, plain):
        side.first_step(BATCH, TIME)
    assert_equal_weights(plain.weights(), ours.weights(), atol=2e-5)
    assert all(np.any(after != start) for after, start in zip(ours.weights(), before, strict=True))


def test_both_keras_sides_ignore_what_is_past_the_length():
    features, _, _ = peers.random_batch(SMALL, BATCH, TIME)
    lengths = np.array([6, 3, 1, 5], np.int32)
    other = features.copy()
    for row, length in zip(other, lengths, strict=True):
        row[length:] = 9
    sides = [peers.OurSide(SMALL), peers.StockSide(SMALL)]
    sides[1].set_weights(sides[0].weights())
    logits_of_sides = [side.model([x, lengths]).numpy() for side in sides for x in (features, other)]
    for logits in logits_of_sides[1:]:
        np.testing.assert_allclose(logits, logits_of_sides[0], atol=1e-6)
