import gc
import weakref

import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo.classification.batches import TrainingBatches, evaluation_batches, predict_rows
from dense_lstm_zoo.data.batching import (
    generated,
    pad,
    padded_length,
    plan_batches,
    plan_predictions,
    program_length,
)
from dense_lstm_zoo.language.batches import TokenWindows
from tests import model_harness as harness

LENGTHS = np.random.default_rng(0).integers(1, 40, 997)
ROWS = [np.full(n, i + 1, np.int32) for i, n in enumerate(LENGTHS)]  # a row's content tells which text it is


def contents(dataset):
    return [(ids, labels) for ids, labels in dataset.as_numpy_iterator()]


def test_no_text_is_cut_and_every_text_comes_once_with_its_label():
    batches = TrainingBatches(ROWS, range(997), batch_size=50, seed=1)
    texts_of_batches = []
    for ids, labels in contents(batches.dataset):
        for row, label in zip(ids, labels, strict=True):
            assert row[row > 0].tolist() == ROWS[label].tolist()
            assert not row[len(ROWS[label]) :].any()
            texts_of_batches.append(int(label))
    assert sorted(texts_of_batches) == list(range(997))


def test_shapes_are_few_batches_full_and_padding_little():
    shapes = [ids.shape for ids, _ in contents(TrainingBatches(ROWS, range(997), batch_size=50, seed=1).dataset)]
    assert len(shapes) == 20
    assert sum(batch == 50 for batch, _ in shapes) == 19
    assert {time for _, time in shapes} <= {4, 6, 8, 12, 16, 24, 32, 40}
    assert LENGTHS.sum() / sum(batch * time for batch, time in shapes) > 0.75


def test_very_long_texts_get_small_batches_and_the_count_does_not_depend_on_the_order():
    lengths = [5] * 300 + [3000] * 30 + [100_000] * 2
    plan = plan_batches(lengths, 100)
    assert sorted(np.concatenate(plan).tolist()) == list(range(332))
    padded = [len(batch) * padded_length(max(lengths[i] for i in batch)) for batch in plan]
    assert [len(batch) for batch, tokens in zip(plan, padded, strict=True) if tokens > 65_536] == [1, 1]
    assert max(len(batch) for batch in plan) == 100
    shuffled = [plan_batches(lengths, 100, np.random.default_rng(seed)) for seed in range(5)]
    assert {len(batches) for batches in shuffled} == {len(plan)}


def test_a_batch_of_long_texts_has_as_few_texts_as_its_tokens_allow():
    batches = TrainingBatches(ROWS, range(997), batch_size=50, seed=1, max_tokens=400)
    sizes = [ids.size for ids, _ in contents(batches.dataset)]
    assert max(sizes) <= 400 < 50 * max(LENGTHS)
    labels = [label for _, labels in contents(batches.dataset) for label in labels.tolist()]
    assert sorted(labels) == list(range(997))


def test_order_depends_on_seed_and_epoch_alone():
    def order(seed, epoch):
        batches = TrainingBatches(ROWS, range(997), batch_size=50, seed=seed)
        batches.on_epoch_begin(epoch)
        return np.concatenate([labels for _, labels in contents(batches.dataset)]).tolist()

    first = order(seed=1, epoch=0)
    assert order(seed=1, epoch=0) == first
    assert order(seed=1, epoch=1) != first
    assert order(seed=2, epoch=0) != first
    lengths = LENGTHS[first]
    assert (np.diff(lengths[::50]) < 0).any()  # batches do not come from short to long


def test_the_lengths_of_batches_and_of_programs_hold_every_text_with_little_padding():
    for n in range(1, 5000):
        assert n <= padded_length(n) <= program_length(n)
        assert n <= 4 or program_length(n) < 1.5 * n
        assert n <= 32 or padded_length(n) < n + max(8, n / 8)
    assert len({program_length(n) for n in range(1, 5000)}) == 22
    assert len({padded_length(n) for n in range(1, 5000)}) == 61


def test_batches_know_how_many_of_their_tokens_are_real():
    batches = TrainingBatches(ROWS, range(997), batch_size=50, seed=1)
    padded = sum(ids.size for ids, _ in contents(batches.dataset))
    assert batches.real_share == pytest.approx(LENGTHS.sum() / padded, abs=0.01)
    long = TrainingBatches([np.ones(n, np.int32) for n in range(20, 160)], [0] * 140, batch_size=8, seed=1)
    assert long.real_share > 0.9


def test_evaluation_batches_hold_every_text_in_order_of_length():
    batches = contents(evaluation_batches(ROWS, range(997), batch_size=100))
    assert sorted(np.concatenate([labels for _, labels in batches]).tolist()) == list(range(997))
    assert [ids.shape[1] for ids, _ in batches] == sorted(ids.shape[1] for ids, _ in batches)


def test_predictions_come_back_in_the_order_of_the_texts():
    model = harness.tiny("bilstm")
    rows = [row[row > 0] for row in harness.ids(9, 12)[:8]]
    alone = [np.asarray(model(row[None]))[0] for row in rows]
    shapes = []
    together = predict_rows(lambda ids: shapes.append(ids.shape) or model(ids), rows * 13)
    np.testing.assert_allclose(together, alone * 13, atol=1e-5)
    longest = sorted(map(len, rows * 13))
    assert shapes == [(52, longest[51]), (52, longest[-1])]  # no padding beyond the longest row


@pytest.mark.parametrize("seed", range(5))
def test_batches_of_predictions_are_few_and_neither_small_nor_large_nor_wide(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, rng.choice([20, 300, 5000]), rng.integers(40, 1500)).tolist()
    plan = plan_predictions(lengths)
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(lengths)))
    longest = [max(lengths[i] for i in indices) for indices in plan]
    assert longest == sorted(longest)
    for indices, length in zip(plan, longest, strict=True):
        assert len(indices) <= 96
        assert len(indices) == 1 or length * len(indices) <= 65_536
        assert len(indices) >= 40 or length * 80 > 65_536
        assert len(indices) < 80 or length * len(indices) <= 8192


def test_a_few_predictions_are_one_batch_and_no_text_is_left_over_for_a_batch_of_its_own():
    assert [len(plan_predictions([9] * n)) for n in (0, 1, 39, 96, 97)] == [0, 1, 1, 1, 2]
    assert sorted(len(indices) for indices in plan_predictions([9] * 97)) == [48, 49]


def test_without_shuffling_every_index_comes_once():
    plan = plan_batches([3, 9, 1, 5], batch_size=3)
    assert [p.tolist() for p in plan] == [[0, 2, 3], [1]]
    assert pad([np.array([7, 8]), np.array([9])]).tolist() == [[7, 8, 0, 0], [9, 0, 0, 0]]


def test_texts_without_labels_and_no_texts_are_refused():
    for rows, labels in (([], []), (ROWS[:2], [0])):
        with pytest.raises(ValueError, match="one label each"):
            TrainingBatches(rows, labels, batch_size=2, seed=1)
    with pytest.raises(ValueError, match="batch_size must be an integer of at least 1"):
        TrainingBatches(ROWS[:1], [0], batch_size=0, seed=1)


def test_data_for_fit_are_not_tuned_as_the_end_of_an_epoch_would_wait_for_the_tuning_thread():
    rows, labels = ROWS[:9], range(9)
    datasets = [
        TrainingBatches(rows, labels, batch_size=3, seed=1).dataset,
        evaluation_batches(rows, labels),
        TokenWindows(np.arange(1, 50), np.array([0]), np.array([40]), num_steps=5).dataset,
    ]
    for dataset in datasets:
        assert dataset.options().autotune.enabled is False


def test_texts_go_with_their_dataset_and_no_sooner():
    class Rows(list):
        pass

    def dataset_of(rows):
        return generated(lambda: iter(rows), tf.TensorSpec((1,), tf.int32), len(rows)).prefetch(2)

    rows = Rows(np.array([[1], [2], [3]], np.int32))
    texts, batches = weakref.ref(rows), iter(dataset_of(rows))
    del rows
    gc.collect()
    assert [int(batch[0]) for batch in batches] == [1, 2, 3]
    del batches
    gc.collect()
    assert texts() is None
