"""The vocabulary of a language model, and turning text into its ids, as a stream or line by line."""

from __future__ import annotations

import dataclasses
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.text import StringLayer
from dense_lstm_zoo.data.text_file import token_lines
from dense_lstm_zoo.data.words import read_words, write_words
from dense_lstm_zoo.language.corpus import EOS, UNKNOWN
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tasks.options import DIRECTIONS

_BLOCK = 1 << 16  # ids
# Words are separated by white space as Python defines it. TensorFlow's split knows fewer such characters.
_SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())


@dataclass(frozen=True)
class LanguageVocabulary:
    """The words of a language model in the order of their ids, 0 to V - 1. There is no padding id.

    ``<eos>`` and ``<unk>`` are always included. Any word that is not included is read as ``<unk>``.

    Args:
        words: The words. ``words[i]`` has id i.
        direction: ``"forward"``, or ``"backward"`` for a model that reads every text from its end: all ids then come in
            that order.

    Raises:
        ValueError: Words without ``<eos>`` or ``<unk>``, or with a duplicate, or another direction.

    Example:
        >>> words = LanguageVocabulary.from_text(["to be or not to be", "to do"])
        >>> words.words, words.encode(["to be", "be what"]).tolist()
        (('to', 'be', '<eos>', 'or', 'not', 'do', '<unk>'), [0, 1, 2, 1, 6, 2])
    """

    words: tuple[str, ...]
    direction: str = "forward"

    def __post_init__(self) -> None:
        checks.one_of("direction", self.direction, DIRECTIONS)
        if missing := [word for word in (EOS, UNKNOWN) if word not in self.words]:
            raise ValueError(
                f"words must hold {EOS} and {UNKNOWN}; {' and '.join(missing)} not among {len(self.words):,}."
            )
        if len(set(self.words)) < len(self.words):
            twice = Counter(self.words).most_common(1)[0][0]
            raise ValueError(f"words must be distinct, as a word's position is its id; {twice!r} occurs twice.")

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the words, without its default: the ``text`` of a bundle's config."""
        return {} if self.direction == "forward" else {"direction": self.direction}

    @classmethod
    def from_text(cls, source: Iterable[str], max_size: int | None = None, min_count: int = 1) -> LanguageVocabulary:
        """Take the words of a training text, most frequent first. Ties go to the word that occurs first.

        ``<eos>`` and ``<unk>`` are ranked by their counts, that of ``<unk>`` with all words that are left out. A word
        that cannot be written to a file, because of a lone surrogate, is left out.

        Args:
            source: Lines of the training text alone. They are read once.
            max_size: Maximum number of words, ``<eos>`` and ``<unk>`` included.
            min_count: How often a word must occur.

        Raises:
            ValueError: A text without words, ``max_size`` below 2, ``min_count`` below 1.

        Example:
            >>> LanguageVocabulary.from_text(["to be or not to be", "to do"], max_size=4).words
            ('to', '<unk>', 'be', '<eos>')
        """
        if max_size is not None:
            checks.integer("max_size", max_size, minimum=2)
        checks.integer("min_count", min_count)
        counts = Counter[str]()
        for tokens in token_lines(source):
            counts.update(tokens)
            counts[EOS] += 1
        if not counts:
            raise ValueError("The text to take words from is empty: it has no line with text in it.")
        counts.setdefault(UNKNOWN, 0)
        ranked = sorted(counts, key=counts.__getitem__, reverse=True)
        words = [
            word
            for word in ranked
            if counts[word] >= min_count and word not in (EOS, UNKNOWN) and checks.is_writable(word)
        ]
        frequent = {EOS, UNKNOWN, *(words if max_size is None else words[: max_size - 2])}
        counts[UNKNOWN] += sum(count for word, count in counts.items() if word not in frequent)
        return cls(tuple(sorted(filter(frequent.__contains__, counts), key=counts.__getitem__, reverse=True)))

    def with_more(self, words: Sequence[str], max_size: int | None = None) -> LanguageVocabulary:
        """Return these words followed by those of ``words`` that are new, at most ``max_size`` in all.

        Raises:
            ValueError: ``max_size`` is below the number of words there are.

        Example:
            >>> LanguageVocabulary(("be", "<eos>", "<unk>")).with_more(["to", "be", "or"], max_size=4).words
            ('be', '<eos>', '<unk>', 'to')
        """
        if max_size is not None and max_size < len(self):
            raise ValueError(
                f"max_words must be at least the source's {len(self):,} words, which all go on; received {max_size}."
            )
        own_words = set(self.words)
        every = (*self.words, *(word for word in words if word not in own_words))
        return dataclasses.replace(self, words=every[:max_size])

    def __len__(self) -> int:
        return len(self.words)

    @property
    def eos(self) -> int:
        """The id of ``<eos>``."""
        return self.words.index(EOS)

    @property
    def unknown(self) -> int:
        """The id of ``<unk>``."""
        return self.words.index(UNKNOWN)

    def encode(self, source: Iterable[str]) -> np.ndarray:
        """Return a text as one stream of ids, with ``<eos>`` at each line's end: int32 (tokens,).

        Backward, the stream begins with the last line's ``<eos>`` and last word.

        The text is read once and never held. Memory use is that of the ids, 4 bytes per token, and up to a sixteenth
        more.

        Args:
            source: Lines of text. Blank ones are skipped.

        Raises:
            ValueError: A text without words.
        """
        ids = array("i")  # grows in place. Joining arrays would need twice the memory
        for block in self._blocks(source):
            ids.extend(block)
        return self._turned(np.frombuffer(ids, np.int32))

    def encode_to_file(self, source: Iterable[str], path: str | Path) -> np.memmap:
        """Encode a text whose ids may not fit in memory: write them to a file and return it memory-mapped.

        The file is in NumPy's .npy format. It is written whole or not at all: after an error ``path`` is unchanged.

        Raises:
            ValueError: As for ``encode``.
            OSError: The file cannot be written.
        """
        count = 0
        with files.new_file(path) as file:
            _write_header(file, count)
            for block in self._blocks(source):
                block.tofile(file)
                count += len(block)
            file.seek(0)
            _write_header(file, count)
        return self._turned(np.load(path, mmap_mode="r"))

    def _turned(self, ids: Any) -> Any:
        return ids[::-1] if self.direction == "backward" else ids

    def _blocks(self, source: Iterable[str]) -> Iterator[array[int]]:
        """Yield the ids of whole lines in blocks of at least ``_BLOCK`` ids."""
        ids = _Ids((word, i) for i, word in enumerate(self.words))
        block, is_empty = array("i"), True
        for tokens in token_lines(source):
            block.extend(map(ids.__getitem__, tokens))
            block.append(ids[EOS])
            is_empty = False
            if len(block) >= _BLOCK:
                yield block
                block = array("i")
        if is_empty:
            raise ValueError("The text to encode is empty: it has no line with text in it.")
        yield block

    def sentence_to_ids(self) -> SentenceToIds:
        """Return the layer that turns sentences into ids."""
        return SentenceToIds(self.words, direction=self.direction)

    def write(self, path: Path) -> None:
        """Write one word per line, and words hold no white space."""
        write_words(path, self.words)

    @classmethod
    def read(cls, path: Path, direction: str = "forward") -> LanguageVocabulary:
        """Read what ``write`` wrote."""
        return cls(tuple(read_words(path)), direction)


class _Ids(dict[str, int]):
    def __missing__(self, word: str) -> int:
        return self[UNKNOWN]


def _write_header(file: IO[bytes], count: int) -> None:
    """Write the header of a .npy file, which NumPy pads to the same length for every count."""
    header = {"descr": np.dtype(np.int32).str, "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(file, header)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class SentenceToIds(StringLayer):
    """Sentences to word ids, each between two ``<eos>``: the first stands for the end of the line before.

    This is graph code, shared by Python and exported models. It splits at white space as training does.

    Args:
        words: The words in the order of their ids, ``<eos>`` and ``<unk>`` among them.
        direction: ``"forward"``, or ``"backward"`` for ids from the last word to the first.

    Call arguments:
        inputs: A tensor of strings (batch,), or a list or array of them. Bytes that are not UTF-8 are replaced.

    Returns:
        A ragged tensor of int32 ids (batch, (words + 2)).

    Example:
        >>> SentenceToIds(["to", "be", "<eos>", "<unk>"])(["to be", "be what", ""]).to_list()
        [[2, 0, 1, 2], [2, 1, 3, 2], [2, 2]]
    """

    def __init__(self, words: Sequence[str], direction: str = "forward", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.words, self.direction = list(words), checks.one_of("direction", direction, DIRECTIONS)
        self.eos, unknown = self.words.index(EOS), self.words.index(UNKNOWN)
        ids = tf.range(len(self.words), dtype=tf.int64)
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant(self.words), ids), unknown
        )

    def call(self, inputs: tf.Tensor) -> tf.RaggedTensor:
        """Turn sentences into ids."""
        text = tf.strings.unicode_transcode(
            inputs, "UTF-8", "UTF-8", errors="replace", replace_control_characters=False
        )
        words = tf.strings.split(tf.strings.regex_replace(text, f"[{_SPACES}]+", " "), " ")
        words = tf.ragged.boolean_mask(words, tf.strings.length(words) > 0)
        ids = words.with_flat_values(tf.cast(self.table.lookup(words.flat_values), tf.int32))
        if self.direction == "backward":
            ids = tf.reverse(ids, axis=[1])
        ends = tf.fill([tf.shape(text)[0], 1], tf.constant(self.eos, tf.int32))
        return tf.concat([ends, ids, ends], axis=1)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        turned = {} if self.direction == "forward" else {"direction": self.direction}
        return {**super().get_config(), "words": self.words, **turned}
