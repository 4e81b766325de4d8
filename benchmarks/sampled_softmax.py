"""CPU seconds and dev perplexity of a dense language model, trained on a sampled softmax and on all words.

The same seed and windows (20 streams, 35 steps) for both; the perplexity is that of all words. From the repository's
root, for the Penn Treebank with its 10,000 words:

    taskset -c 1 python -m benchmarks.sampled_softmax ptb.train.txt ptb.valid.txt --max-words 10000
"""

from __future__ import annotations

import argparse
import itertools
import resource
from pathlib import Path

from dense_lstm_zoo.language.batches import TrainingWindows, evaluation_windows
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary

STREAMS, STEPS = 20, 35


def cpu_seconds() -> float:
    """Return the CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Train both, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path, help="training text, a sentence a line")
    parser.add_argument("dev", type=Path, help="dev text")
    parser.add_argument("--max-words", type=int, help="size of the vocabulary (default: all words)")
    parser.add_argument("--samples", type=int, default=2048, help="words that a window samples (default: 2048)")
    parser.add_argument("--units", type=int, default=100, help="width of the two layers (default: 100)")
    parser.add_argument("--windows", type=int, default=300, help="training windows (default: 300)")
    parser.add_argument("--dev-tokens", type=int, default=15_000, help="dev tokens to score (default: 15,000)")
    given = parser.parse_args()

    import keras

    import dense_lstm_zoo as zoo

    with given.train.open(encoding="utf-8") as text:
        vocabulary = LanguageVocabulary.from_text(text, max_size=given.max_words)
    with given.train.open(encoding="utf-8") as train, given.dev.open(encoding="utf-8") as dev:
        ids, dev_ids = (vocabulary.encode(text) for text in (train, itertools.islice(dev, given.dev_tokens)))
    windows = TrainingWindows(ids[: STREAMS * (STEPS * given.windows + 1)], batch_size=STREAMS, num_steps=STEPS)
    dev_windows = evaluation_windows(dev_ids[: given.dev_tokens], 10, STEPS)
    for samples in (given.samples, None):
        keras.utils.set_random_seed(1)
        model = zoo.build(
            "dense_lstm_lm",
            num_layers=2,
            units=given.units,
            vocab_size=len(vocabulary),
            dropout=0.2,
            sampled_softmax=samples,
        )
        started = cpu_seconds()
        model.fit(windows.dataset, shuffle=False, verbose=0)
        used = cpu_seconds() - started
        perplexity = model.evaluate(dev_windows.dataset, verbose=0, return_dict=True)["perplexity"]
        what = "all words" if samples is None else f"{samples:,} samples"
        print(
            f"{len(vocabulary):,} words, {len(windows)} windows, {what}: {used:.0f} CPU s, dev perplexity "
            f"{perplexity:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
