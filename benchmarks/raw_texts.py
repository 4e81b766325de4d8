"""Milliseconds from raw texts to answers: a preset as a bundle, the same in the light runtime, and in larger batches.

The sides take turns in one process, after their answers were compared: the bundle as it is; the bundle in batches of
256 padded to one of two lengths an octave, as trainings pad; and the light runtime, without TensorFlow and with weights
of one byte. Texts are the first of the corpus' test part. Rows go to results/raw_texts.csv. From the repository's root:

    python -m benchmarks.raw_texts dc_bilstm_sst2 sst2 --texts 200
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks, machine
from dense_lstm_zoo.classification.calibration import softmax
from dense_lstm_zoo.data.batching import num_tokens, pad, plan_batches
from dense_lstm_zoo.measuring.turns import compare, spread, take_turns
from dense_lstm_zoo_runtime import Predictor
from tuning import protocols, result_files

RESULTS = result_files.ROOT / "results" / "raw_texts.csv"
KEY = ["preset", "dataset", "texts", "processor"]


def in_large_batches(bundle: Any, texts: Sequence[str]) -> np.ndarray:
    """Return the probabilities of texts, computed in batches of 256 that are padded as in a training."""
    rows = bundle.text_to_ids.encode(texts)
    plan = plan_batches([num_tokens(row) for row in rows], 256)
    logits = np.concatenate([bundle.logits_of(pad([rows[i] for i in indices])).numpy() for indices in plan])
    return softmax(logits[np.argsort(np.concatenate(plan))], bundle.temperature)


def in_runtime(predictor: Predictor, texts: Sequence[str]) -> np.ndarray:
    """Return the probabilities of texts in the light runtime."""
    return np.array([list(prediction.probabilities.values()) for prediction in predictor.predict(texts)])


def milliseconds(predict: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    predict()
    return 1000 * (time.perf_counter() - start)


def measure(preset: str, dataset: str, number: int, repeats: int) -> dict[str, Any]:
    """Return the medians, spreads and ratios of the three sides.

    Raises:
        ValueError: A number below 1, or an unknown corpus or preset.
        RuntimeError: The sides' answers differ.
    """
    checks.integer("texts", number)
    checks.integer("repeats", repeats)
    bundle: Any = zoo.from_preset(preset)
    corpus: Any = zoo.load_corpus(dataset)
    texts = list(corpus.test.texts)[:number]
    sides = {
        "bundle": partial(bundle.probabilities, texts),
        "large": partial(in_large_batches, bundle, texts),
        "runtime": partial(in_runtime, Predictor(preset), texts),
    }
    answers = {side: predict() for side, predict in sides.items()}
    for side, tolerance in (("large", 1e-5), ("runtime", 0.02)):  # what rounding the weights changes
        shares = answers[side]
        if not np.allclose(shares, answers["bundle"], atol=tolerance):
            raise RuntimeError(f"the answers of {side} differ by {np.abs(shares - answers['bundle']).max():.1e}")
    times = take_turns({side: partial(milliseconds, predict) for side, predict in sides.items()}, repeats)
    cells: dict[str, Any] = {"texts": len(texts), "repeats": repeats}
    for side, values in times.items():
        cells |= dict(zip((f"{side}_ms", f"{side}_spread_ms"), map(round, spread(values)), strict=True))
    for side in ("large", "runtime"):
        ratios = compare(times["bundle"], times[side])
        cells |= {key.replace("ratio", f"{side}_ratio"): round(value, 2) for key, value in ratios.items()}
    return cells


def main() -> None:
    """Measure a preset on the texts of a corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", help="the name of a classifier's preset")
    parser.add_argument("dataset", help="a corpus's name")
    parser.add_argument("--texts", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--repeats", type=int, default=9, help="turns of each side (default: 9)")
    options = parser.parse_args()
    cells = measure(options.preset, options.dataset, options.texts, options.repeats)
    command = f"python -m benchmarks.raw_texts {options.preset} {options.dataset} --texts {options.texts}"
    row = {"preset": options.preset, "dataset": options.dataset, **cells}
    row |= {"processor": machine.processor(), "cores": machine.cores()}
    row |= {"versions": protocols.read_versions({"versions": machine.versions()})}
    row |= {"command": f"{command} --repeats {options.repeats}"}
    result_files.merge(RESULTS, [row], KEY)
    print(row)


if __name__ == "__main__":
    with protocols.plain_errors():
        main()
