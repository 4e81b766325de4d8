"""The demo: train DC-Bi-LSTM on the built-in corpus, compare it, export it, and serve raw strings from a fresh process.

The corpus is generated (dense_lstm_zoo/data/demo.py): negation, contrast and word order decide whether a review is
positive, so counting words does not get far. Everything lands in --run-dir.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.corpus import Corpus

# A small DC-Bi-LSTM, and the Bi-LSTM whose encoder has as many parameters, within one unit's worth.
SHARED = {"embedding_dim": 64, "embedding_dropout": 0.2, "dropout": 0.3}
DENSE = {"num_dense_layers": 4, "dense_units": 13, "top_units": 40}

SENTENCES = [
    "The soup was bland, but the waitress was really friendly.",
    "Although the screen was stunning, the battery was horrible.",
    "The hero was never dull, and the ending was memorable.",
]

# What a server does: TensorFlow and tensorflow_text, and nothing of this package.
SERVE = """
import sys, tensorflow as tf, tensorflow_text
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
found = serve(text=tf.constant(sys.argv[2:]))
assert "dense_lstm_zoo" not in sys.modules
for text, label, p in zip(sys.argv[2:], found["label"].numpy(), found["probabilities"].numpy()):
    print(f"  {label.decode():<9} {p.max():.3f}  {text}")
"""


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo", description=__doc__)
    parser.add_argument("--run-dir", default="runs/demo", help="default: runs/demo")
    parser.add_argument("--epochs", type=int, default=20, help="maximum number of epochs (default: 20)")
    options = parser.parse_args()
    run_dir = Path(options.run_dir)
    corpus = zoo.load_corpus("demo")

    print("\n== DC-Bi-LSTM ==")
    settings = {"epochs": options.epochs, "patience": 4, "batch_size": 100, "overwrite": True, **SHARED}
    dense = zoo.train("dc_bilstm", corpus, run_dir / "dc_bilstm", **settings, **DENSE)
    parameters = dense.metrics["encoder_parameters"]
    print("\n== Bi-LSTM with as many parameters ==")
    units = bilstm_units(parameters)
    plain = zoo.train("bilstm", corpus, run_dir / "bilstm", **settings, units=units)

    print("\n== Test accuracy ==")
    for name, bundle in (("DC-Bi-LSTM", dense), ("Bi-LSTM", plain)):
        count = bundle.metrics["encoder_parameters"]
        print(f"{name:<13} {100 * bundle.metrics['test_accuracy']:.1f} %  ({count:,} encoder parameters)")
    print(f"{'bag of words':<13} {100 * bag_of_words_accuracy(corpus):.1f} %  (logistic regression on unigrams)")

    exported = dense.export(run_dir / "export" / "1", overwrite=True)
    print(f"\n== {exported}, in a fresh process without this package ==", flush=True)
    # No setting hides the messages that TensorFlow writes while it starts.
    served = subprocess.run([sys.executable, "-c", SERVE, str(exported), *SENTENCES], stderr=subprocess.PIPE, text=True)
    if served.returncode:
        sys.exit(served.stderr)


def bilstm_units(parameters: int) -> int:
    """Return the units of the Bi-LSTM whose encoder comes nearest to ``parameters``."""
    embedding_dim = SHARED["embedding_dim"]
    return min(
        range(1, 500),
        key=lambda u: abs(zoo.count_encoder_parameters("bilstm", units=u, embedding_dim=embedding_dim) - parameters),
    )


def bag_of_words_accuracy(corpus: Corpus) -> float:
    """Return the test accuracy of logistic regression on word counts."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    assert corpus.test is not None
    counts = CountVectorizer(tokenizer=re.compile(r"\w+'?\w*|[^\w\s]").findall, token_pattern=None)
    model = LogisticRegression(max_iter=2000).fit(counts.fit_transform(corpus.train.texts), corpus.train.labels)
    return model.score(counts.transform(corpus.test.texts), corpus.test.labels)


if __name__ == "__main__":
    main()
