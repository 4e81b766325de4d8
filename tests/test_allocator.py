"""Memory that a thread frees stays with the process and is not requested from the system again."""

import subprocess
import sys

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.training import allocator
from dense_lstm_zoo.training.allocator import keep_freed_memory

FAULTS = """
import resource, sys, threading
from dense_lstm_zoo.training.allocator import keep_freed_memory

def use():
    blocks = [b"x" * 3_000_000 for _ in range(10)]

def work():
    for _ in range(5):
        use()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        use()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

if sys.argv[1] == "keep":
    keep_freed_memory()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.mark.skipif(not keep_freed_memory(), reason="needs Linux with glibc")
def test_a_thread_asks_the_system_only_once_for_memory_that_it_uses_again():
    def page_faults(how):
        run = subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True)
        return int(run.stdout)

    assert page_faults("keep") < 1_000 < 20_000 < page_faults("return")  # 20 times 30 MB are 146,000 pages


def test_training_keeps_freed_memory_from_its_first_step(tmp_path, monkeypatch):
    def stop():
        raise InterruptedError

    monkeypatch.setattr(allocator, "keep_freed_memory", stop)
    with pytest.raises(InterruptedError):
        zoo.train("bilstm", "demo", tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
