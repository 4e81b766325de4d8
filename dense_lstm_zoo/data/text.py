"""The tokeniser: Penn Treebank style, as graph code shared by training and exported models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from dense_lstm_zoo import checks
from dense_lstm_zoo_runtime.rules import NEWEST, VERSIONS

Strings: TypeAlias = tf.Tensor | Sequence[str] | Sequence[bytes] | np.ndarray  # texts, as layers on strings take them


class StringLayer(keras.layers.Layer):
    """A layer on strings, which accepts a list or array as well as a tensor."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.built = True  # there are no weights to create, and an export refuses unbuilt layers

    def __call__(self, inputs: Strings) -> tf.RaggedTensor:
        """Convert first: Keras itself would refuse a list of strings."""
        return super().__call__(tf.convert_to_tensor(inputs, tf.string))


class WordLayer(StringLayer):
    """A layer on strings that knows words.

    They are kept where Keras does not look: it searches the lists of a layer for weights, word by word.
    """

    def __init__(self, words: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._untracked = SimpleNamespace(words=list(words))

    @property
    def words(self) -> list[str]:
        """The words, in the order of their ids."""
        words: list[str] = self._untracked.words
        return words


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class Tokenizer(StringLayer):
    """Split raw text into words and punctuation as the Penn Treebank does, keeping case.

    Text is normalised first (invalid UTF-8 replaced, Unicode NFKC, typographic quotes and dashes made plain). Text that
    is already tokenised passes unchanged: "does n't" stays two tokens, and "doesn't" becomes the same two. This is
    graph code, so that training and exported models cannot differ. Case is folded later, at the vocabulary.

    Args:
        version: The version of the rules. Version 1, that of older models, splits URLs into ``http``, ``:`` and the
            rest. Version 2 keeps URLs and e-mail addresses whole.

    Call arguments:
        inputs: A tensor of strings (batch,), or a list or array of them.

    Returns:
        A ragged tensor of strings (batch, (tokens)). A row may be empty.

    Example:
        >>> Tokenizer()(["It doesn't cost $5, Mr. Smith."]).to_list()[0]
        [b'It', b'does', b"n't", b'cost', b'$', b'5', b',', b'Mr.', b'Smith', b'.']
    """

    def __init__(self, version: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.version = checks.one_of("version", version, VERSIONS)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | ({} if self.version == 1 else {"version": self.version})

    def call(self, inputs: tf.Tensor) -> tf.RaggedTensor:
        """Tokenise."""
        text = tf.strings.unicode_transcode(inputs, "UTF-8", "UTF-8", errors="replace")
        text = tf_text.normalize_utf8(text, "NFKC")
        for pattern, replacement in VERSIONS[self.version]:
            text = tf.strings.regex_replace(text, pattern, replacement)
        return tf.strings.split(text)


def fold(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Return tokens in lower case, the form used for look-up."""
    return tokens.with_flat_values(tf_text.case_fold_utf8(tokens.flat_values))


def folded(texts: Iterable[str], size: int = 4096, *, tokenizer: int = NEWEST) -> Iterator[tf.RaggedTensor]:
    """Yield the tokens of texts in lower case, as models look words up, for ``size`` texts at a time.

    ``tokenizer`` is the version of the tokeniser's rules.

    Example:
        >>> [tokens.to_list() for tokens in folded(["It DOESN'T.", "Fine"])]
        [[[b'it', b'does', b"n't", b'.'], [b'fine']]]
    """
    split = Tokenizer(tokenizer)
    for chunk in checks.text_chunks(texts, size):
        yield fold(split(tf.constant(to_bytes(chunk))))


def to_bytes(texts: Iterable[str | bytes]) -> list[bytes]:
    """Return texts in UTF-8. A lone surrogate, which a ``str`` can hold but UTF-8 cannot, becomes ``?``.

    Raises:
        TypeError: Not a sequence of strings, or an item that is not a string. The message gives its position.
    """
    checks.sequence(texts)
    return [_to_bytes(number, text) for number, text in enumerate(texts)]


def _to_bytes(number: int, text: object) -> bytes:
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(checks.not_text("texts", number, text))
    return text.encode("utf-8", "replace")
