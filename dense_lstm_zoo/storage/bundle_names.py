"""The names of a bundle's files, in one list: for checks, for the hub, and for what ``overwrite`` may replace."""

from __future__ import annotations

REQUIRED = ("config.json", "labels.json", "metrics.json", "history.csv", "vocabulary.txt", "model.weights.h5")
MANIFEST = "manifest.json"
# Written for people, who may edit or delete them: loading a model does not need them.
FOR_PEOPLE = frozenset({"README.md", "report.md", "report.png", "learning_curve.png", "dev_curve.png", "run.toml"})
TRAIN_TEXTS = "train_texts.npy"  # hashes of the texts
DEV_CURVE = "dev_curve.csv"
SHARED_ROWS = "shared_words.rows"
ALL = frozenset({*REQUIRED, MANIFEST, *FOR_PEOPLE, "evaluation.json", DEV_CURVE, TRAIN_TEXTS, SHARED_ROWS})
