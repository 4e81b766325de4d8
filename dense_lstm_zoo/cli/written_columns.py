"""A sentence's lines with its tags: as a last column, or in the columns of CoNLL-U."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from dense_lstm_zoo.data.columns import CONLLU_COLUMNS, UPOS, XPOS, is_conllu_row
from dense_lstm_zoo.data.records import Record
from dense_lstm_zoo_runtime.answers import TaggedSentence

# The universal parts of speech: universaldependencies.org/u/pos.
_UNIVERSAL = {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART"}
_UNIVERSAL |= {"PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"}


def with_tags(record: Record, sentence: TaggedSentence, separator: str | None) -> list[str]:
    """Return the lines of a sentence unchanged, with the tag appended to each that has a token.

    Args:
        record: The sentence.
        sentence: Its tokens and tags.
        separator: The separator of the columns that were read. None means spaces and tabs.

    Raises:
        ValueError: A token, not read from columns, that is empty or has white space, or a tag at whose characters the
            lines would be split when they are read: with a tab between columns, at spaces too if none was named.
    """
    lines, reader = record.lines, separator
    if lines is None:
        _check(record, "columns", "token", sentence.tokens, lambda token: len(token.split()) == 1)
        lines, separator = [(token, token) for token in sentence.tokens], "\t"
        reader = "\t" if reader == "\t" else None
    elif _has_conllu(record):
        separator = reader = "\t"
    elif separator is None and any("\t" in row for row, _ in lines):
        separator = "\t"
    splits = re.compile(r"[\r\n]|" + (r"[ \t]" if reader is None else re.escape(reader)))
    _check(record, "columns", "tag", sentence.tags, lambda tag: not splits.search(tag))
    blank = " \t" if separator is None else " \t".replace(separator, "")  # a last cell may be empty
    tags = iter(sentence.tags)
    return [row if token is None else row.rstrip(blank) + (separator or " ") + next(tags) for row, token in lines]


def as_conllu(record: Record, sentence: TaggedSentence, column: int) -> list[str]:
    """Return the lines of a sentence as CoNLL-U, with its tags in a column. There are none without a token.

    Lines that are CoNLL-U already keep their other columns.

    Raises:
        ValueError: A token or a tag that CoNLL-U cannot hold.
    """
    _check(record, "CoNLL-U", "tag", sentence.tags, lambda tag: not re.search(r"[\t\r\n]", tag))
    tags = iter(sentence.tags)
    if record.lines is not None and _has_conllu(record):
        return [row if token is None else _replaced(row, column, next(tags)) for row, token in record.lines]
    _check(
        *(record, "CoNLL-U", "token", sentence.tokens),
        lambda token: token.strip() == token != "" and not re.search(r"[\t\r\n]", token),
    )
    empty = "\t".join("_" * CONLLU_COLUMNS)
    rows = (
        _replaced(_replaced(empty, 0, str(number)), 1, token) for number, token in enumerate(sentence.tokens, start=1)
    )
    text = record.text if isinstance(record.text, str) else " ".join(record.text)
    comment = "# text = " + " ".join(text.split())  # a line of its own, whatever white space the text has
    return [comment, *(_replaced(row, column, tag) for row, tag in zip(rows, tags, strict=True))]


def conllu_column(tags: Collection[str]) -> int:
    """Return the column of CoNLL-U for a model's tags: UPOS if all of them are universal parts of speech, else XPOS.

    Example:
        >>> conllu_column(["NOUN", "VERB"]), conllu_column(["NN", "VB"])
        (3, 4)
    """
    return UPOS if _UNIVERSAL.issuperset(tags) else XPOS


def _has_conllu(record: Record) -> bool:
    return any(is_conllu_row(row) for row, token in record.lines or () if token is not None)


def _replaced(row: str, column: int, cell: str) -> str:
    cells = row.split("\t")
    return "\t".join([*cells[:column], cell, *cells[column + 1 :]])


def _check(record: Record, form: str, kind: str, words: Iterable[str], can_be: Callable[[str], bool]) -> None:
    word = next((word for word in words if not can_be(word)), None)
    if word is not None:
        raise ValueError(f"{record.location}: {form} cannot hold the {kind} {word!r}. Use --format jsonl.")
