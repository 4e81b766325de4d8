"""Training in bfloat16 on processors with and without instructions for it."""

import pytest

from dense_lstm_zoo import machine
from dense_lstm_zoo.training import prepare as preparing
from dense_lstm_zoo.training.prepare import prepare
from dense_lstm_zoo.training.request import check
from tests.training_harness import small_demo


@pytest.mark.parametrize(
    ("content", "has_it"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16\n", True),
        ("flags\t\t: fpu amx_bf16 avx512f\n", True),
        ("Features\t: fp asimd bf16\n", True),
        ("processor\t: 0\nflags\t\t: fpu avx2 avx512f\n", False),
        ("model name: one that does not say\n", True),
    ],
)
def test_a_processor_says_whether_it_multiplies_in_bfloat16(tmp_path, content, has_it):
    (tmp_path / "cpuinfo").write_text(content)
    assert machine.has_bfloat16(tmp_path / "cpuinfo") == has_it
    assert machine.has_bfloat16(tmp_path / "missing")


def dtype_of_a_run(tmp_path, dtype):
    arguments = {"units": 2, "embedding_dim": 3, "vectors": "none", "dtype": dtype}
    run = prepare(check("bilstm", tmp_path / "run", arguments, recipe="none"), small_demo(), progress=False)
    return run.config["arguments"]["dtype"], run.model.get_layer("bilstm_1").compute_dtype


def test_training_says_that_it_leaves_bfloat16_out_where_that_saves_no_time(tmp_path, monkeypatch):
    monkeypatch.setattr(preparing, "_lacks_bfloat16", lambda: False)
    assert dtype_of_a_run(tmp_path, "mixed_bfloat16") == ("mixed_bfloat16", "bfloat16")
    monkeypatch.setattr(preparing, "_lacks_bfloat16", lambda: True)
    with pytest.warns(UserWarning, match="no instructions for it: the model trains in float32"):
        assert dtype_of_a_run(tmp_path, "mixed_bfloat16") == ("float32", "float32")
    assert dtype_of_a_run(tmp_path, "float32") == ("float32", "float32")
