"""The demo corpora are the pinned ones, in this process and in another with another hash seed."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from dense_lstm_zoo.classification.demo import demo_splits
from dense_lstm_zoo.language.demo import demo_language_splits
from dense_lstm_zoo.tagging.demo import demo_tagging_splits

# Every published number on a demo corpus is about these sentences: a new digest means measuring them all again.
PINNED_SHA256 = {
    "classification": "35bc5bf71b3c3bfc88d4e8558bef1b45168dcff3fe4310d1857f695c6ad5dd19",
    "language_model": "fa7175262066be020727275cf34b8d9d1f227bb3bedfae19ff97f8fcc4ff4bd9",
    "tagging": "d2f555320d25b1748f381b4ed63b07acefc398aeb9ec5bb031cd095fe1e7042e",
}


def digests():
    """The checksum of each task's demo corpus."""
    tagged = {name: [split.tokens, split.tags] for name, split in demo_tagging_splits().items()}
    corpora = {"classification": demo_splits(), "language_model": demo_language_splits(), "tagging": tagged}
    return {task: hashlib.sha256(json.dumps(corpora[task], sort_keys=True).encode()).hexdigest() for task in corpora}


@pytest.mark.slow
def test_the_corpora_are_the_pinned_ones_in_a_fresh_process_with_another_hash_seed():
    assert digests() == PINNED_SHA256
    script = "import json; from tests.test_demo_splits import digests; print(json.dumps(digests()))"
    environment = {**os.environ, "PYTHONHASHSEED": "4321", "PYTHONPATH": os.pathsep.join(sys.path)}
    fresh = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(fresh.stdout) == PINNED_SHA256
