"""An untrained classifier with made-up scores, and what its folder holds."""

import numpy as np
import pandas as pd

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.analysis import analyse
from dense_lstm_zoo.classification.bundle import ClassificationBundle
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from tests.bundle_harness import WORDS

NEEDED = (
    "config.json evaluation.json history.csv labels.json manifest.json metrics.json model.weights.h5 vocabulary.txt"
)


def scored_bundle(labels, texts=300):
    """An untrained classifier with scores of random predictions."""
    vocabulary = Vocabulary(WORDS)
    arguments = {"vocab_size": vocabulary.size, "num_classes": len(labels), "embedding_dim": 3, "units": 2}
    arguments |= {"kernel": "auto"}
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(len(labels)), texts)
    analysis = analyse([f"text {i}" for i in range(texts)], rng.integers(0, len(labels), texts), probabilities, labels)
    return ClassificationBundle(
        zoo.build("lstm", **arguments),
        {
            **{"task": "classification", "model": "lstm", "arguments": arguments, "text": {}},
            **{"training": {"dataset": "mine", "seed": 1}, "versions": {"dense-lstm-zoo": "0.1.0"}},
        },
        vocabulary,
        list(labels),
        {
            **{"test_accuracy": 0.625, "test_loss": 0.5, "test_texts": texts, "best_epoch": 1, "epochs": 2},
            **{"parameters": 100, "encoder_parameters": 50, "seconds": 1.0},
        },
        pd.DataFrame({"epoch": [1, 2], "loss": 0.5, "val_loss": 0.5, "accuracy": 0.5, "val_accuracy": [0.875, 0.5]}),
        {"split": "test", **analysis},
    )


def same_weights(bundle, other):
    pairs = zip(bundle.model.get_weights(), other.model.get_weights(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)
