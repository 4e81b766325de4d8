"""A job whose words may begin with vectors from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dense_lstm_zoo.job import Job

if TYPE_CHECKING:
    import numpy as np

    from dense_lstm_zoo.bundle import Bundle


class WordVectorJob(Job):
    """What classifiers and taggers have in common.

    ``words`` is the built vocabulary (with ``vocabulary``, ``matrix``, ``coverage`` and ``report``) and
    ``vectors`` the file or None.
    """

    PARTS: ClassVar[tuple[str, ...]]  # what of a corpus decides what is learned

    words: Any
    vectors: str | Path | None

    @property
    def dim(self) -> int | None:
        """Length of the file's vectors."""
        return None if self.words.matrix is None else int(self.words.matrix.shape[1])

    def found(self) -> str:
        """Return the corpus, and how much of it the vectors cover."""
        coverage = [] if self.dim is None else [str(self.words.report), str(self.words.coverage)]
        return "\n".join([str(self.corpus), *coverage])

    def model_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes of vocabulary and vectors."""
        if self.dim is not None and given.get("embedding_dim", self.dim) != self.dim:
            raise ValueError(f"embedding_dim={given['embedding_dim']}, but {self.vectors} has {self.dim}.")
        vocabulary = self.words.vocabulary
        sizes = {"vocab_size": vocabulary.size, "num_frozen_words": vocabulary.num_frozen_words}
        return sizes if self.dim is None else {**sizes, "embedding_dim": self.dim}

    def weights(self) -> dict[str, Any]:
        """Return the word vectors."""
        return {"embedding_matrix": self.words.matrix}

    @classmethod
    def fingerprint(cls, corpus: Any, matrix: np.ndarray | None = None) -> str:
        """Return one checksum of a corpus and of word vectors."""
        parts = tuple(getattr(corpus, part) for part in cls.PARTS)
        digest = hashlib.sha256(repr(parts).encode("utf-8", "replace"))
        digest.update(b"" if matrix is None else matrix.tobytes())
        return digest.hexdigest()

    def score(self, bundle: Bundle) -> dict[str, Any]:
        """Return the scores of dev and test, and how many texts there were to train on."""
        return {**super().score(bundle), "train_texts": len(self.corpus.train)}

    def vector_config(self) -> dict[str, Any]:
        """Return where the vectors come from and what they cover, for the config's ``training``."""
        words, vectors = self.words, self.vectors
        return {
            "vectors": Path(vectors).name if vectors else None,
            "vector_report": str(words.report) if words.report else None,
            "vector_coverage": str(words.coverage) if words.coverage else None,
        }
