"""dense_lstm_zoo: densely connected and gated-skip LSTMs for Keras and TensorFlow.

Importing this package loads neither TensorFlow nor Keras. The functions do when they need them. After the import,
``keras.saving.load_model`` reads the ``.keras`` file of a model of text, such as ``TextClassifier``, or of ``build``.
For this package's layers in a model of your own, import ``dense_lstm_zoo.layers``. ``dense_lstm_zoo.sklearn`` has
estimators for scikit-learn.
"""

# isort: off
from dense_lstm_zoo_runtime import shadows as _shadows  # noqa: F401 - it looks for files that hide what follows

# isort: on
import importlib
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import models as models
from dense_lstm_zoo.bundles.bundle import Bundle, BundleError, load
from dense_lstm_zoo.bundles.presets import Preset, from_preset, list_presets
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.datasets import bucketed, text_dataset
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.comparing.compare import compare
from dense_lstm_zoo.comparing.comparison import Comparison
from dense_lstm_zoo.corpora.loader import fetch, list_corpora, load_corpus
from dense_lstm_zoo.data.tokens import tokenize
from dense_lstm_zoo.data.word_table import WordTable, load_vectors
from dense_lstm_zoo.interfaces.saved_names import register_with_keras as _register_with_keras
from dense_lstm_zoo.language.encoder import TextEncoder, join_language_models
from dense_lstm_zoo.measuring.measure import measure
from dense_lstm_zoo.models.registry import build, count_encoder_parameters, list_models
from dense_lstm_zoo.reports.describing import describe
from dense_lstm_zoo.search import Range
from dense_lstm_zoo.search.sweep import TuneResult, tune
from dense_lstm_zoo.tasks.recipes import get_recipe, list_recipes
from dense_lstm_zoo.teaching.rounds import SelfTrainResult, self_train
from dense_lstm_zoo.teaching.teach import TeachResult, teach
from dense_lstm_zoo.training.loop import train
from dense_lstm_zoo.training.protocol import ProtocolResult, run_protocol
from dense_lstm_zoo_runtime import __version__ as __version__

if TYPE_CHECKING:
    from dense_lstm_zoo import layers as layers
    from dense_lstm_zoo import sklearn as sklearn
    from dense_lstm_zoo.interfaces.language_model import LanguageModel as LanguageModel
    from dense_lstm_zoo.interfaces.text_classifier import TextClassifier as TextClassifier
    from dense_lstm_zoo.interfaces.token_classifier import TokenClassifier as TokenClassifier
    from dense_lstm_zoo.search.hypermodel import HyperModel as HyperModel

__all__ = [
    "Bundle",
    "BundleError",
    "Comparison",
    "Corpus",
    "Preset",
    "ProtocolResult",
    "Range",
    "SelfTrainResult",
    "Split",
    "TeachResult",
    "TextEncoder",
    "TuneResult",
    "WordTable",
    "bucketed",
    "build",
    "compare",
    "count_encoder_parameters",
    "describe",
    "fetch",
    "from_preset",
    "get_recipe",
    "join_language_models",
    "list_corpora",
    "list_models",
    "list_presets",
    "list_recipes",
    "load",
    "load_corpus",
    "load_vectors",
    "measure",
    "run_protocol",
    "self_train",
    "teach",
    "text_dataset",
    "tokenize",
    "train",
    "tune",
]


_register_with_keras()

# Modules, and what is in one, that load TensorFlow or scikit-learn.
_LAZY = {
    "HyperModel": "dense_lstm_zoo.search.hypermodel",
    "LanguageModel": "dense_lstm_zoo.interfaces.language_model",
    "TextClassifier": "dense_lstm_zoo.interfaces.text_classifier",
    "TokenClassifier": "dense_lstm_zoo.interfaces.token_classifier",
    "layers": "dense_lstm_zoo.layers",
    "sklearn": "dense_lstm_zoo.sklearn",
}


def __getattr__(name: str) -> Any:
    """Import a name of ``_LAZY``, and the libraries that it needs, on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    return module if module.__name__.endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
