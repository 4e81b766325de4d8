"""Models that share words with a word table, and changes to what their bundles claim of it."""

import json

import numpy as np

TEXTS = ["the film was good", "", "zebra caf\u00e9 !", "very bad and very long"]
MODELS = {
    "frozen words": ("bilstm", {}),
    "vectors at a rate of their own": ("bilstm", {"embedding_learning_rate": 0.003}),
    "a static channel": ("cnn_mc", {}),
    "a tagger": ("gated_skip_tagger", {}),
    "a tagger with a CRF": ("bilstm_tagger", {"crf": True}),
}


def write_folder(folder):
    return json.loads((folder / "config.json").read_text())


def outputs(bundle):
    return [answer.tags if bundle.task.name == "tagging" else answer.probabilities for answer in bundle.predict(TEXTS)]


def claim(**changes):
    def change(folder):
        config = write_folder(folder)
        config["shared_words"]["arrays"][0] |= changes
        (folder / "config.json").write_text(json.dumps(config))

    return change


def claims(value):
    def change(folder):
        (folder / "config.json").write_text(json.dumps({**write_folder(folder), "shared_words": value}))

    return change


def rows(make):
    def change(folder):
        path = folder / "shared_words.rows"
        path.write_bytes(make(np.frombuffer(path.read_bytes(), "<i4").copy()).astype("<i4").tobytes())

    return change
