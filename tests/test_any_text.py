"""Very long or very many texts, in a separate process."""

import subprocess
import sys

import pytest

import dense_lstm_zoo as zoo
from tests.training_harness import train

pytestmark = pytest.mark.slow

MILLION = """
import sys
import dense_lstm_zoo as zoo

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

bundle = zoo.load(sys.argv[1])
lines = (f"the soup number {i} was {'not ' * (i % 3)}bland ," + " and so on" * (i % 8) for i in range(1_000_000))
counts = dict.fromkeys(bundle.labels, 0)
for number, prediction in enumerate(bundle.predict_stream(lines), start=1):
    counts[prediction.label] += 1
    if number == 100_000:
        start = resident()
print(sum(counts.values()), resident() - start)
"""


def test_a_generator_of_a_million_lines_needs_no_more_memory_than_a_tenth_of_it(tmp_path):
    train(tmp_path / "run", epochs=1)
    ran = subprocess.run([sys.executable, "-c", MILLION, str(tmp_path / "run")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    count, grown = ran.stdout.split()
    assert int(count) == 1_000_000
    assert float(grown) < 50  # MB; a million texts and their probabilities would be hundreds


def test_a_text_of_100_000_words_is_predicted_as_the_portable_loop_does(tmp_path):
    bundle = train(tmp_path / "run", epochs=1)
    text = "the soup was bland , but the waitress was friendly . " * 9100  # 11 tokens each
    (prediction,) = bundle.predict([text])
    config = {**bundle.config["arguments"], "kernel": "portable"}
    portable = zoo.build(bundle.config["model"], **config)
    portable.set_weights(bundle.model.get_weights())
    (ids,) = bundle.text_to_ids.encode([text])
    assert len(ids) == 100_100
    logits = portable(ids[None], training=False).numpy()[0]
    assert bundle.labels[logits.argmax()] == prediction.label
    assert bundle._logits([text])[0] == pytest.approx(logits, abs=1e-4)
