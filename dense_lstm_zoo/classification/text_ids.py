"""A layer from raw text to the ids of its words and characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.batching import Ids, IdsSpec
from dense_lstm_zoo.data.graphs import graph_if_used
from dense_lstm_zoo.data.stored_ids import StoredIds
from dense_lstm_zoo.data.stored_texts import StoredTexts
from dense_lstm_zoo.data.text import Strings, Tokenizer, WordLayer, fold, to_bytes
from dense_lstm_zoo.data.token_ids import UNKNOWN, lookup_table, pad_ids, split_characters, word_characters
from dense_lstm_zoo.data.token_sizes import MAX_CHARS

_CHUNK = 4096  # texts turned into ids in one call


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TextToIds(WordLayer):
    """Turn raw text into word ids: tokenise, fold case, look up. Training and exported models share it.

    Id 0 is padding, 1 is unknown, and ``words[i]`` has id i + 2. Likewise for characters.

    Args:
        words: The words, folded to lower case.
        oov: What happens to other words: ``"unk"`` gives them id 1, ``"drop"`` leaves them out.
        chars: The known characters, also folded, for models that read them, or empty for others.
        max_tokens: How many tokens of a text are read, counted without those that ``oov`` drops. None means all.
        tokenizer: The version of the tokeniser's rules, as in ``Tokenizer``.

    Call arguments:
        inputs: A tensor of strings (batch,), or a list or array of them.

    Returns:
        A ragged tensor of int32 ids (batch, (tokens)). A text without any known word becomes one unknown word, so that
        no row is empty.

    Example:
        >>> TextToIds(["good", "film"], oov="drop")(["A GOOD film", ""]).to_list()
        [[2, 3], [1]]
    """

    def __init__(
        self,
        words: Sequence[str],
        oov: str = "unk",
        chars: str = "",
        max_tokens: int | None = None,
        tokenizer: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(words, **kwargs)
        self.chars = chars
        self.oov = checks.one_of("oov", oov, ("drop", "unk"))
        self.max_tokens = None if max_tokens is None else checks.integer("max_tokens", max_tokens)
        self.tokenizer = Tokenizer(tokenizer)
        self.table = lookup_table(self.words, -1 if oov == "drop" else UNKNOWN)
        self.char_table = lookup_table(list(chars)) if chars else None
        self._untracked.ids = graph_if_used(self._features, [tf.TensorSpec((None,), tf.string)])

    def call(self, inputs: tf.Tensor) -> tf.RaggedTensor:
        """Turn texts into ids of words."""
        return self._ids(self._look_up(inputs)[1])

    def read(self, inputs: Strings) -> tuple[tf.RaggedTensor, dict[str, tf.RaggedTensor]]:
        """Return the tokens that a model reads, case kept, and their ids.

        A text without any known word becomes one token, ``""``. The ids are ``token_ids`` (batch, (tokens)) and, with
        ``chars``, ``char_ids`` (batch, (tokens), 24).
        """
        tokens, ids = self._look_up(inputs)
        tokens, features = self._readable(tokens, ids, tf.constant("")), {"token_ids": self._ids(ids)}
        if self.char_table is not None:
            characters = split_characters(self.char_table, fold(tokens).flat_values)
            features["char_ids"] = tokens.with_flat_values(word_characters(characters))
        return tokens, features

    def _features(self, texts: tf.Tensor) -> dict[str, tf.RaggedTensor]:
        return {"token_ids": self.call(texts)} if self.char_table is None else self.read(texts)[1]

    def _ids(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        return self._readable(ids, ids, tf.constant(UNKNOWN, tf.int32))

    def _look_up(self, inputs: Strings) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return tokens and their ids, -1 for those to leave out."""
        tokens = self.tokenizer(inputs)
        return tokens, tokens.with_flat_values(tf.cast(self.table.lookup(fold(tokens).flat_values), tf.int32))

    def _readable(self, values: tf.RaggedTensor, ids: tf.RaggedTensor, filler: tf.Tensor) -> tf.RaggedTensor:
        """Leave out values whose id is -1 and those after ``max_tokens``, and put ``filler`` into rows then empty."""
        if self.oov == "drop":
            values = tf.ragged.boolean_mask(values, ids.with_flat_values(ids.flat_values >= 0))
        if self.max_tokens is not None:
            values = values[:, : self.max_tokens]
        is_empty = tf.cast(values.row_lengths() == 0, tf.int64)
        fillers = tf.fill([tf.reduce_sum(is_empty)], filler)
        return tf.concat([values, tf.RaggedTensor.from_row_lengths(fillers, is_empty, validate=False)], axis=1)

    @property
    def signature(self) -> IdsSpec:
        """The models' input: padded word ids (batch, time), or a dictionary of word and character ids."""
        token_ids = tf.TensorSpec((None, None), tf.int32, name="token_ids")
        if self.char_table is None:
            return token_ids
        char_ids = tf.TensorSpec((None, None, MAX_CHARS), tf.int32, name="char_ids")
        return {"token_ids": token_ids, "char_ids": char_ids}

    def padded(self, inputs: Strings) -> Ids:
        """Return inputs that match ``signature``, right-padded with 0. Time is at least 1, even for an empty batch."""
        return pad_features(self.read(inputs)[1])

    def encode(self, texts: Iterable[str | bytes]) -> list[Any]:
        """Return the ids of each text: an int32 array (tokens,), or a dictionary of arrays (tokens, ...)."""
        rows: list[Any] = []
        for ragged in self._ragged(texts):
            features = {name: _split(ids) for name, ids in ragged.items()}
            if self.char_table is None:
                rows.extend(features["token_ids"])
            else:
                rows.extend(dict(zip(features, row, strict=True)) for row in zip(*features.values(), strict=True))
        return rows

    def store(self, texts: StoredTexts) -> StoredIds:
        """Return what ``encode`` does of texts in a temporary file, in such files."""
        rows = StoredIds()
        for ragged in self._ragged(texts):
            lengths = ragged["token_ids"].row_lengths().numpy()
            rows.extend({name: ids.values.numpy() for name, ids in ragged.items()}, lengths)
        return rows

    def rows(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the ids of texts where the texts are: in memory, or in temporary files."""
        return self.store(texts) if isinstance(texts, StoredTexts) else self.encode(texts)

    def _ragged(self, texts: Iterable[Any]) -> Iterator[dict[str, tf.RaggedTensor]]:
        """Yield the ids of some texts at a time, by feature."""
        for chunk in checks.text_chunks(texts, _CHUNK):
            yield self._untracked.ids(tf.constant(to_bytes(chunk)))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        config = {**super().get_config(), "words": self.words, "oov": self.oov, "chars": self.chars}
        if self.max_tokens is not None:
            config["max_tokens"] = self.max_tokens
        return config if self.tokenizer.version == 1 else {**config, "tokenizer": self.tokenizer.version}


def _split(ids: tf.RaggedTensor) -> list[np.ndarray]:
    return np.split(ids.values.numpy(), ids.row_splits.numpy()[1:-1])


def pad_features(features: dict[str, tf.RaggedTensor]) -> Ids:
    """Return padded ids as models take them. A single feature comes without a dictionary."""
    padded = {name: pad_ids(ids) for name, ids in features.items()}
    return padded if len(padded) > 1 else padded["token_ids"]
