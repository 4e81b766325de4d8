"""CPU seconds and dev perplexity of a dense language model, trained on a sampled softmax and on all words.

The same seeds and windows (20 streams, 35 steps) for both, in turns. The perplexity is that of all words, tracing is
in the seconds. Rows go to results/cpu_seconds.csv. From the repository's root, with nothing else running:

    python -m benchmarks.sampled_softmax --dataset ptb
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from functools import partial

import dense_lstm_zoo as zoo
from benchmarks import cpu_seconds
from dense_lstm_zoo import checks
from dense_lstm_zoo.language.batches import TrainingWindows, evaluation_windows
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from tuning import protocols

STREAMS, STEPS = 20, 35


def main() -> None:
    """Train both with each seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="ptb", help="a corpus of running text (default: ptb)")
    parser.add_argument("--samples", type=int, default=2048, help="words that a window samples (default: 2048)")
    parser.add_argument("--units", type=int, default=100, help="width of the two layers (default: 100)")
    parser.add_argument("--windows", type=int, default=300, help="training windows (default: 300)")
    parser.add_argument("--dev-tokens", type=int, default=15_000, help="dev tokens to score (default: 15,000)")
    parser.add_argument("--seeds", type=int, default=3, help="trainings a side (default: 3)")
    options = parser.parse_args()
    with protocols.plain_errors():
        checks.integer("--seeds", options.seeds)
        corpus = zoo.load_corpus(options.dataset, "language_model")
    ways = {f"{options.samples:,} samples": options.samples, "all words": None}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    perplexities: dict[str, list[float]] = {way: [] for way in ways}

    import keras

    vocabulary = LanguageVocabulary.from_text(corpus.train)
    ids = vocabulary.encode(corpus.train)[: STREAMS * (STEPS * options.windows + 1)]
    dev_ids = vocabulary.encode(itertools.islice(corpus.dev, options.dev_tokens))[: options.dev_tokens]
    windows = TrainingWindows(ids, batch_size=STREAMS, num_steps=STEPS)
    dev_windows = evaluation_windows(dev_ids, 10, STEPS)
    for seed in range(1, options.seeds + 1):
        for way, samples in ways.items():
            keras.utils.set_random_seed(seed)
            sizes = {"num_layers": 2, "units": options.units, "vocab_size": len(vocabulary), "dropout": 0.2}
            model = zoo.build("dense_lstm_lm", sampled_softmax=samples, **sizes)
            fit = partial(model.fit, windows.dataset, shuffle=False, verbose=0)
            seconds[way].append(cpu_seconds.of(fit))
            scores = model.evaluate(dev_windows.dataset, verbose=0, return_dict=True)
            perplexities[way].append(scores["perplexity"])
    command = (
        f"python -m benchmarks.sampled_softmax --dataset {options.dataset} --samples {options.samples} --units "
        f"{options.units} --windows {options.windows} --dev-tokens {options.dev_tokens} --seeds {options.seeds}"
    )
    means = {way: f"{statistics.mean(values):.0f}" for way, values in perplexities.items()}
    cpu_seconds.write(f"{len(windows)} windows", options.dataset, seconds, command, means)


if __name__ == "__main__":
    main()
