"""A ``.keras`` file loads after ``import dense_lstm_zoo`` alone, in either order with Keras."""

import importlib
import importlib.util
import subprocess
import sys

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.interfaces import saved_names

TEXTS = ["a fine film", "dull"] * 4


@pytest.mark.parametrize("name", saved_names.CLASSES)
def test_a_name_stands_for_the_class_that_is_registered_under_it(name):
    module, class_name = saved_names.CLASSES[name].split(":")
    real = getattr(importlib.import_module(f"dense_lstm_zoo.{module}"), class_name)
    assert keras.saving.get_registered_name(real) == f"dense_lstm_zoo>{name}"
    assert keras.saving.get_registered_object(f"dense_lstm_zoo>{name}") is real


STAND_IN = """
names = []

class saving:
    def register_keras_serializable(package, name):
        return lambda cls: names.append(f"{package}>{name}")
"""


def test_names_are_registered_on_import_of_keras_after_any_number_of_lookups(tmp_path, monkeypatch):
    (tmp_path / "keras.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "keras")
    finders = list(sys.meta_path)
    monkeypatch.setattr(sys, "meta_path", finders.copy())
    saved_names.register_with_keras()
    for _ in range(2):  # as TensorFlow does
        assert importlib.util.find_spec("keras").origin == str(tmp_path / "keras.py")
    stand_in = importlib.import_module("keras")
    assert stand_in.names == [f"dense_lstm_zoo>{name}" for name in saved_names.CLASSES]
    assert sys.meta_path == finders


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    ["import dense_lstm_zoo, keras", "import keras, dense_lstm_zoo", "import dense_lstm_zoo, tensorflow, keras"],
)
def test_a_fresh_process_loads_every_kind_of_model(imports, tmp_path):
    tiny = {"units": 2, "embedding_dim": 3, "kernel": "native"}
    classifier = zoo.TextClassifier("lstm", texts=TEXTS, label_names=["neg", "pos"], **tiny)
    models = {
        "texts": classifier,
        "tags": zoo.TokenClassifier(texts=TEXTS, label_names=["A", "B"], char_dim=2, crf=True, **tiny),
        "lines": zoo.LanguageModel("stacked_lstm_lm", texts=TEXTS, units=3),
        "ids": zoo.build("lstm", vocab_size=9, num_classes=2, **tiny),
        "ids of tags": zoo.build("bilstm_tagger", vocab_size=9, num_tags=2, num_chars=5, crf=True, **tiny),
        "ids of lines": zoo.build("stacked_lstm_lm", vocab_size=9, units=3),
    }
    for name, model in models.items():
        model.save(tmp_path / f"{name}.keras")
    script = f"""
{imports}
assert "dense_lstm_zoo.keras_classes" not in sys.modules
for name in {list(models)!r}:
    model = keras.saving.load_model(f"{tmp_path}/{{name}}.keras")
    print(name, type(model).__name__, model.compiled, model.count_params())
    if name == "texts":
        print(model.label_names, model.predict({TEXTS[:2]!r}, verbose=0).round(4).tolist())
"""
    run = subprocess.run([sys.executable, "-c", "import sys\n" + script], capture_output=True, text=True)
    expected = [f"{name} {type(model).__name__} True {model.count_params()}" for name, model in models.items()]
    expected.insert(1, f"('neg', 'pos') {np.round(classifier.predict(TEXTS[:2], verbose=0), 4).tolist()}")
    assert run.stdout.splitlines() == expected, run.stderr
