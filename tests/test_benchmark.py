"""The benchmark measures what it claims: correct statistics, complete rows, clear errors. Nothing here is timed."""

import contextlib
import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.speed import (
    __main__ as speed,
)
from benchmarks.speed import (
    language_sides,
    measure,
    peers,
    pooling_sides,
    rows,
    runs,
    tagger_sides,
    worker,
)
from benchmarks.speed.bench import bench
from benchmarks.speed.figure import draw
from benchmarks.speed.measure import Worker, WorkerError
from benchmarks.speed.networks import LanguageArchitecture
from benchmarks.speed.runs import GROUPS
from benchmarks.speed.sides import Side
from benchmarks.speed.table import table as table_of
from benchmarks.speed.texts import TextSide
from benchmarks.speed.workloads import COLUMNS, SCALING, TARGETS, Settings
from dense_lstm_zoo.measuring import turns
from tests.test_peers import BATCH, SMALL, SMALL_LANGUAGE, SMALL_POOLING, SMALL_TAGGER, TIME

pytestmark = pytest.mark.usefixtures("real_pictures")


class InProcess:
    """A worker without a process of its own."""

    def __init__(self, name: str):
        self.name, self.versions = name, {name: "1"}

    def ask(self, do: str, **arguments: object) -> object:
        key = {} if do == "matmul_gflops" else {"key": self.name}
        return worker.REQUESTS[do](**key, **arguments)


@pytest.mark.slow
def test_every_network_has_a_row_and_a_wrong_copy_of_the_weights_stops_it(monkeypatch):
    @contextlib.contextmanager
    def start_sides(settings: Settings, names: tuple[str, ...]):
        yield {name: InProcess(name) for name in names if name != "torch"}

    monkeypatch.setattr(runs, "start_sides", start_sides)
    monkeypatch.setattr(runs, "PEAK_SIZE", 256)
    settings = Settings.quick(repeats=1, block_seconds=0.001, language_model=SMALL_LANGUAGE)
    row, bfloat16 = GROUPS["language_model"](settings)
    assert (row["name"], row["batch"], row["peer"], row["unit"]) == ("language_model", BATCH, "keras", "training step")
    assert (bfloat16["name"], bfloat16["peer"]) == ("language_model_bfloat16", "keras")
    for measurements in (row, bfloat16):
        assert min(measurements[column] for column in ("ours_ms", "peer_ms", "ratio", "peak_gflops")) > 0
    assert float(row["max_difference"]) < 1e-5 < float(bfloat16["max_difference"]) < rows.BFLOAT16_TOLERANCE
    assert rows.targets("language_model", LanguageArchitecture().batch, "keras") == {"floor": 1.5, "aim": 1.7}

    large = dataclasses.replace(SMALL_LANGUAGE, vocab_size=300, sampled_softmax=100)
    (sampled,) = GROUPS["sampled_softmax"](Settings.quick(block_seconds=0.001, sampled_softmax=(large,)))
    assert (sampled["name"], sampled["rate_unit"]) == ("language_model_300_words", "tokens/s")
    assert sampled["ours_rate"] == round(1e3 * large.batch * large.time / sampled["ours_ms"])

    taggers = Settings.quick(repeats=1, block_seconds=0.001, taggers=((SMALL_TAGGER, (1, 2)),))
    measurements = list(GROUPS["tagger"](taggers))
    assert [(row["name"], row["batch"], row["peer"]) for row in measurements] == [
        ("tagger_4", n, "keras") for n in (1, 2)
    ]
    for architecture, batches in Settings().taggers:
        assert all(rows.targets(f"tagger_{architecture.units}", batch, "keras")["floor"] for batch in batches)

    poolings = Settings.quick(repeats=1, block_seconds=0.001, batches=(2, 1), pooling=SMALL_POOLING)
    assert [(row["name"], row["batch"], row["peer"]) for row in GROUPS["pooling"](poolings)] == [
        ("pooling", 2, "keras")
    ]

    halves = Settings.quick(repeats=1, block_seconds=0.001, batches=(2, 1), architecture=SMALL)
    monkeypatch.setattr(runs.machine, "has_bfloat16", lambda: False)
    assert not list(GROUPS["bfloat16"](halves))
    monkeypatch.setattr(runs.machine, "has_bfloat16", lambda: True)
    measurements = list(GROUPS["bfloat16"](halves))
    assert [(row["name"], row["batch"], row["peer"]) for row in measurements] == [
        ("train_bfloat16", 2, "keras"),
        ("train_bfloat16", 2, "float32"),
    ]
    assert all(1e-6 < float(row["max_difference"]) < rows.BFLOAT16_TOLERANCE for row in measurements)

    copy = language_sides.StockLanguageModel.set_weights

    def mix_up(side: Side, weights: list[np.ndarray]) -> None:
        copy(side, [*weights[:5], weights[5].T.reshape(weights[5].shape), *weights[6:]])

    monkeypatch.setattr(language_sides.StockLanguageModel, "set_weights", mix_up)
    with pytest.raises(RuntimeError, match="logits of keras differ from ours"):
        next(GROUPS["language_model"](settings))


@pytest.mark.slow
def test_training_takes_one_untimed_step_and_those_it_is_asked_for():
    side = peers.OurSide(SMALL)
    assert side.train(BATCH, TIME, steps=3) > 0
    assert int(side.model.optimizer.iterations.numpy()) == 4


@pytest.mark.slow
def test_the_text_sides_agree_on_raw_texts_and_train_two_epochs():
    small = {"num_dense_layers": 1, "dense_units": 2, "top_units": 3, "embedding_dim": 4}
    ours, stock = (TextSide(side, "demo", 250, overrides=small) for side in ("ours", "keras"))
    assert ours.sizes() == stock.sizes() == {"texts": 250, "tokens": sum(map(len, ours.rows))}
    stock.set_weights(ours.weights())
    np.testing.assert_allclose(stock.probabilities(), ours.probabilities(), atol=1e-5)
    for side in (ours, stock):
        first, second = side.epochs()
        assert min(first, second) > 0
        # 250 texts are two batches of at most 200, whichever way they are padded.
        assert int(side.model.optimizer.iterations.numpy()) == 4
        for method in (side.predict_texts, side.encode_texts, side.iterate_batches):
            assert method(1) > 0


def test_every_text_is_in_the_stock_batches_once_with_its_label():
    side = TextSide("keras", "demo", 230)
    pairs = [
        (tuple(row[row > 0]), label) for ids, labels in side._padded_batches() for row, label in _rows(ids, labels)
    ]
    assert sorted(pairs) == sorted((tuple(row), label) for row, label in zip(side.rows, side.labels, strict=True))


def _rows(ids, labels):
    return zip(ids.numpy(), labels.numpy(), strict=True)


class FakeClock:
    """Time goes on only while something runs."""

    def __init__(self):
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float):
        def step() -> None:
            self.now += seconds

        return step


def test_statistics_are_right_on_a_fake_clock():
    clock, log = FakeClock(), []
    slow_down = iter([1, 1, 1, 2, 1])  # the machine is slow in the fourth round, for both
    factor = {"now": 1}

    def measure_ours() -> float:
        factor["now"] = next(slow_down)
        log.append("ours")
        return measure.seconds_a_step(clock.takes(0.010 * factor["now"]), 7, clock)

    def measure_peer() -> float:
        log.append("peer")
        return measure.seconds_a_step(clock.takes(0.030 * factor["now"]), 3, clock)

    values = turns.take_turns({"ours": measure_ours, "peer": measure_peer}, 5)
    assert log == ["ours", "peer"] * 5
    np.testing.assert_allclose(values["ours"], [0.01, 0.01, 0.01, 0.02, 0.01])
    cells = rows.times(values["ours"], values["peer"])
    assert cells == pytest.approx(
        {
            "repeats": 5,
            "ours_ms": 10,
            "ours_spread_ms": 0,
            "peer_ms": 30,
            "peer_spread_ms": 0,
            "ratio": 3,
            "ratio_low": 3,
            "ratio_high": 3,
        }
    )


def test_spreads_are_quartiles_and_ratios_are_paired():
    ours, peer = [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 8.0, 9.0, 4.0, 5.0]
    assert turns.spread(ours) == (3.0, 2.0)
    paired = sorted(p / o for o, p in zip(ours, peer, strict=True))  # 1 1 2 3 4
    assert turns.compare(ours, peer) == {"ratio": paired[2], "ratio_low": paired[1], "ratio_high": paired[3]}


def test_the_work_of_a_step_is_counted_from_the_weights():
    def in_matrices(weights: list[np.ndarray]) -> int:
        return sum(w.size for w in weights if w.ndim == 2)

    # An encoder's softmax does not count, nor does a table of words.
    classifier = in_matrices(peers.OurSide(SMALL).weights()[:-2])
    language_model = in_matrices(language_sides.OurLanguageModel(SMALL_LANGUAGE).weights()[1:])
    tagger = in_matrices(tagger_sides.OurTagger(SMALL_TAGGER).weights()[:-2])
    pooling = pooling_sides.OurPooling(SMALL_POOLING).weights()[0].size
    sizes = (SMALL, classifier), (SMALL_LANGUAGE, language_model), (SMALL_TAGGER, tagger), (SMALL_POOLING, pooling)
    for architecture, matrices in sizes:
        assert architecture.matrix_weights == matrices
        words = (1 + TIME) / 2 if architecture is SMALL_POOLING else TIME  # its sentences have 1 to TIME words
        assert architecture.gigaflops("train", BATCH, TIME) == pytest.approx(6 * matrices * BATCH * words / 1e9)
        assert architecture.gigaflops("predict", BATCH, TIME) == pytest.approx(2 * matrices * BATCH * words / 1e9)


@pytest.mark.slow
def test_a_measured_row_has_every_column_and_is_written_and_shown(tmp_path):
    settings = {"architecture": SMALL, "batches": (2,), "repeats": 2, "block_seconds": 0.001, "torch": False}
    reports: list[dict] = []
    frame = bench(only=["predict"], quick=True, report=reports.append, **settings)
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == len(reports) == 1
    row = frame.iloc[0]
    empty = {column for column in COLUMNS if row[column] == ""}
    # This batch size has no target, this group no corpus, no rate of its own and no memory; the kernel is the default.
    assert empty == {
        *("corpus", "floor", "aim", "kernel", "ours_rate", "peer_rate", "rate_unit"),
        *("ours_mb", "ours_spread_mb", "peer_mb", "peer_spread_mb"),
    }
    assert (row["name"], row["batch"], row["peer"], row["repeats"]) == ("predict", 2, "keras", 2)
    assert min(row[["ours_ms", "peer_ms", "ratio", "gflops_share", "peak_gflops"]].astype(float)) >= 0
    assert "keras=" in row["versions"]
    assert min(map(len, row[["command", "processor"]])) > 0

    path = tmp_path / "speed.csv"
    speed._report(reports[0], path)
    speed._report({**reports[0], "repeats": 9}, path)
    assert tuple(pd.read_csv(path).columns) == COLUMNS
    (line,) = [line for line in table_of(path).splitlines() if line.startswith("| W, prediction")]
    assert "| stock Keras |" in line
    assert line.endswith("| 9 |")
    assert str(Path.home()) not in path.read_text()


def test_the_picture_shows_what_there_is(tmp_path):
    pytest.importorskip("matplotlib")
    settings, path = Settings(), tmp_path / "speed.csv"
    scaling = [f"scaling_{curve}_{value}" for curve, (_, values) in SCALING.items() for value in values]
    table = [rows.row(settings, {"a": "1"}, name=name, **rows.times([0.1, 0.2])) for name in scaling]
    table += [
        rows.row(settings, {}, name=n, batch=b, peer=p, **rows.times([1, 1], [2, 2]), **rows.targets(n, b, p))
        for n, b, p in TARGETS
    ]
    pd.DataFrame(table).to_csv(path, index=False)
    draw(path, tmp_path / "speed.png")
    assert (tmp_path / "speed.png").stat().st_size > 10_000


def test_the_tables_show_memory_and_the_share_of_the_peak(tmp_path):
    settings, path = Settings(command="python -m benchmarks.speed"), tmp_path / "speed.csv"
    memory = rows.times([10.0, 12.0], [30.0, 34.0], "mb")
    table = [
        rows.row(
            settings, {"a": "1"}, name="train", batch=200, peer="keras", gflops_share=0.41, peak_gflops=450,
            **rows.times([0.2, 0.2], [0.5, 0.5]), **rows.targets("train", 200, "keras"),
        ),
        rows.row(settings, {"a": "1"}, name="memory_10_layers", batch=32, peer="no remat", **memory),
        rows.row(settings, {"a": "1"}, name="text_to_ids", corpus="demo", ours_rate=123456, rate_unit="tokens/s",
                 **rows.times([0.1, 0.1])),
    ]  # fmt: skip
    pd.DataFrame(table).to_csv(path, index=False)
    text = table_of(path)
    share = "2.50x (2.50-2.50) | 2.5x, 3x"
    assert f"| W, training step | 200 | stock Keras | 200 ms ± 0 ms | 500 ms ± 0 ms | {share} | 2 |" in text
    assert "| 10 | 11 | 32 |" in text
    assert "41% of the machine's float32 matrix-product peak, 450 GFLOP/s" in text
    assert "| texts to ids (demo) | - | - | 100 ms ± 0 ms, 123,456 tokens/s | - | - | - | 2 |" in text
    assert "```\npython -m benchmarks.speed\n```" in text


def test_an_unknown_name_gives_what_is_accepted(capsys):
    accepted = ", ".join(sorted(GROUPS))
    with pytest.raises(ValueError, match=f"Unknown benchmark 'trian'. Did you mean 'train'.* Accepted: {accepted}"):
        bench(only=["trian"])
    with pytest.raises(ValueError, match=r"Unknown setting 'repeat'. Did you mean 'repeats'"):
        bench(repeat=3)
    with pytest.raises(ValueError, match=r"Unknown corpus 'trek'. Did you mean 'trec'"):
        bench(corpora=["trek"])
    with pytest.raises(ValueError, match="repeats must be an integer of at least 1; received 0"):
        bench(repeats=0)
    with pytest.raises(ValueError, match=r"device.* Accepted: cpu"):
        bench("tpu")
    with pytest.raises(SystemExit) as stopped:
        speed.main(["--only", "trian"])
    assert stopped.value.code == 2
    assert f"Accepted: {accepted}" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        speed.main(["--device", "tpu"])
    assert "Accepted: cpu, gpu" in capsys.readouterr().err


def test_sides_that_disagree_are_not_compared():
    class Fake:
        def __init__(self, value: float):
            self.value = value

        def ask(self, do: str, path: str, **arguments: object) -> None:
            if do == "save":
                np.savez(path, np.full(3, self.value))

    assert rows.max_difference({"ours": Fake(1.0), "keras": Fake(1.0 + 1e-6)}, "logits")["keras"] < 1e-5
    for value in (1.1, np.nan):
        with pytest.raises(RuntimeError, match="keras differ from ours"):
            rows.max_difference({"ours": Fake(1.0), "keras": Fake(value)}, "logits")


@pytest.mark.slow
def test_a_worker_tells_of_errors_and_of_its_death():
    with Worker("tensorflow") as worker:
        assert list(worker.versions) == ["tensorflow"]
        with pytest.raises(WorkerError, match="KeyError"):
            worker.ask("run", method="train", key="no such side")
        # Killed by itself: the parent must say so and not wait for ever.
        worker._process.kill()
        with pytest.raises((WorkerError, BrokenPipeError)):
            worker.ask("run", method="train")
