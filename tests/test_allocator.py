"""Memory that a thread frees stays with the process and is not requested from the system again."""

import contextlib
import subprocess
import sys

import keras
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.training import allocator, loop
from dense_lstm_zoo.training.allocator import keep_freed_memory, keep_large_blocks

FAULTS = """
import contextlib, resource, sys, threading
from dense_lstm_zoo.training.allocator import keep_freed_memory, keep_large_blocks

how, size, number = sys.argv[1], *map(int, sys.argv[2:])

def use():
    blocks = [b"x" * size for _ in range(number)]

def work():
    for _ in range(5):
        use()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        use()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

if how != "return":
    keep_freed_memory()
with keep_large_blocks() if how == "keep large" else contextlib.nullcontext():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""

AFTERWARDS = """
from dense_lstm_zoo import machine
from dense_lstm_zoo.training.allocator import keep_freed_memory, keep_large_blocks

def use():
    blocks = [b"x" * 40_000_000 for _ in range(10)]

keep_freed_memory()
before = machine.resident_mb()
with keep_large_blocks():
    use()
    print(machine.resident_mb() - before)
print(machine.resident_mb() - before)
use()
print(machine.resident_mb() - before)
"""


def page_faults(*arguments):
    run = subprocess.run([sys.executable, "-c", FAULTS, *arguments], capture_output=True, text=True, check=True)
    return int(run.stdout)


@pytest.mark.skipif(not keep_freed_memory(), reason="needs Linux with glibc")
def test_a_thread_asks_the_system_only_once_for_memory_that_it_uses_again():
    blocks = "3000000", "10"
    assert page_faults("keep", *blocks) < 1_000 < 20_000 < page_faults("return", *blocks)  # 146,000 pages in all


@pytest.mark.skipif(not keep_freed_memory(), reason="needs Linux with glibc")
def test_large_blocks_too_are_used_again_while_a_model_trains():
    blocks = "40000000", "3"
    assert page_faults("keep large", *blocks) < 1_000 < 100_000 < page_faults("keep", *blocks)  # 586,000 pages in all


@pytest.mark.skipif(not keep_freed_memory(), reason="needs Linux with glibc")
@pytest.mark.parametrize(("batch_tokens", "large_blocks"), [(16_384, True), (16_385, False)])
def test_blocks_of_long_texts_are_larger_than_a_heap_and_not_kept(batch_tokens, large_blocks):
    with keep_large_blocks(batch_tokens) as does:
        assert does == large_blocks


def test_an_allocator_that_the_environment_tunes_is_left_alone(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: pytest.fail("glibc was asked"))
    with keep_large_blocks() as large_blocks:
        assert not large_blocks
    assert not keep_freed_memory()


@pytest.mark.skipif(not keep_freed_memory(), reason="needs Linux with glibc")
def test_after_training_the_system_has_large_blocks_back():
    run = subprocess.run([sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, check=True)
    during, after, later = map(float, run.stdout.split())
    assert during > 350  # MB that are held but not used
    assert max(after, later) < 100


@pytest.mark.slow
def test_training_keeps_large_blocks_for_its_steps_alone(tmp_path, monkeypatch):
    events = []

    @contextlib.contextmanager
    def recorded_blocks(batch_tokens):
        assert 0 < batch_tokens < 16_384
        events.append("kept")
        yield
        events.append("returned")

    monkeypatch.setattr(loop, "keep_large_blocks", recorded_blocks)
    step = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: events.append("step"))
    zoo.train("bilstm", "demo", tmp_path / "run", epochs=1, vectors=None, callbacks=[step])
    assert (events[0], events[-1], set(events[1:-1])) == ("kept", "returned", {"step"})


def test_training_keeps_freed_memory_from_its_first_step(tmp_path, monkeypatch):
    def stop():
        raise InterruptedError

    monkeypatch.setattr(allocator, "keep_freed_memory", stop)
    with pytest.raises(InterruptedError):
        zoo.train("bilstm", "demo", tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
