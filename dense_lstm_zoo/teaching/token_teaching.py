"""Soft labels of tokens from a teacher: what ``teach`` does for sentences whose words have tags."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.corpora.loader import as_corpus
from dense_lstm_zoo.corpora.own_files import format_of
from dense_lstm_zoo.data import soft_sentences
from dense_lstm_zoo.data.endings import ending
from dense_lstm_zoo.storage import outputs
from dense_lstm_zoo.storage.packed_files import new_output
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo.teaching import soft_files, token_teachers
from dense_lstm_zoo.teaching.answers import check_names
from dense_lstm_zoo.teaching.labelling import Labelling, labelling_folder
from dense_lstm_zoo.teaching.raw_texts import RawTexts, without_copies
from dense_lstm_zoo.teaching.teachers import Teacher, check_sources, say_overlap
from dense_lstm_zoo.teaching.token_texts import add, read_sentences

if TYPE_CHECKING:
    import numpy as np

    from dense_lstm_zoo.corpora.loader import AnyDataset
    from dense_lstm_zoo.teaching.token_texts import SentencesToLabel


def is_for_tokens(target: Target) -> bool:
    """Return whether an output is a file in columns, which has a tag for each word.

    Raises:
        ValueError: A name that shows no format of soft labels.
    """
    try:
        return format_of(target.path, (*soft_files.FORMATS, "columns"), None) == "columns"
    except ValueError:
        raise ValueError(
            f"{target.path}: the output's name says how it is written. Accepted: .csv, .jsonl, .parquet, and of a "
            "tagger .conll."
        ) from None


def check_target(target: Target) -> Target:
    """Return the file of probabilities that belongs to an output in columns.

    Raises:
        FileExistsError: It exists, and the output does not, so that nobody has asked to replace it.
        ValueError: An output that is not one file in columns with a file beside it.
    """
    if outputs.is_stream(target.path) or ending(target.path) == "conllu":
        raise ValueError(f"{target} cannot hold tags and probabilities; name a file such as soft.conll.")
    beside = soft_sentences.file_beside(target.path)
    # After a kill between the two files, the labelling is still there.
    is_ours = target.real.exists() or labelling_folder(target).exists()
    if not is_ours and os.path.lexists(beside):
        raise FileExistsError(
            f"{beside} already exists, and {target.path}, to which it would belong, does not: it may be another "
            "file's. Name another output, or delete it."
        )
    return outputs.check_output(beside, overwrite=is_ours)


def read_corpus(dataset: AnyDataset | None) -> Any:
    """Return the corpus of a dataset, or None without one.

    Raises:
        ValueError: A corpus of another task.
    """
    corpus = None if dataset is None else as_corpus(dataset, tasks.of_tagged_words().name)
    if corpus is not None and not hasattr(corpus, "tag_names"):
        raise ValueError(
            f"A file in columns is for tagged sentences; {getattr(corpus, 'name', 'the dataset')} has none."
        )
    return corpus


def label(
    teacher: object,
    texts: SentencesToLabel | None,
    target: Target,
    *,
    dataset: AnyDataset | None,
    labels: Sequence[str] | None,
    train_texts: bool,
    augment: int,
    columns: dict[str, Any],
    batch_size: int | None,
    overwrite: bool,
    progress: bool,
) -> dict[str, Any]:
    """Let a teacher tag sentences, and write them in columns with their probabilities beside them.

    Args:
        teacher: As for ``teach``.
        texts: As for ``teach``.
        target: The output.
        dataset: As for ``teach``.
        labels: As for ``teach``.
        train_texts: As for ``teach``.
        augment: As for ``teach``.
        columns: ``text_column``, ``encoding`` and ``delimiter``.
        batch_size: As for ``teach``.
        overwrite: As for ``teach``.
        progress: As for ``teach``.

    Returns:
        The fields of a ``TeachResult``.

    Raises:
        ValueError: No sentences, a teacher with other tags, or changed copies, which are of texts with a label each.
    """
    if augment:
        raise ValueError(
            f"augment={augment} is for texts with a label each; the words of a tagger's copies would be masked, which "
            "its characters and neighbours then show. Leave it out, and give more sentences."
        )
    beside, corpus = check_target(target), read_corpus(dataset)
    check_sources([target, beside], teacher, texts, corpus, are_columns=True)
    source = token_teachers.find(teacher, student_tags(labels, corpus), tasks.of_tagged_words(), columns["encoding"])
    raw = _sentences(source, texts, corpus, train_texts, columns)
    own_tags = (tag for tags in raw.labels for tag in tags or ())  # of which the teacher may not have all
    for tag in dict.fromkeys([*source.labels, *own_tags]):
        if len(tag.split()) != 1 or tag == soft_sentences.NO_TAG:
            raise ValueError(f"A file in columns cannot hold the tag {tag!r}; rename it.")
    parts = {part: split.tokens for part in ("dev", "test") if corpus is not None and (split := getattr(corpus, part))}
    raw = without_copies(raw, parts)
    if not raw.texts:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in raw.left_out.items())
        raise ValueError(f"There is no sentence to label: of all sentences, {reasons}.")
    say_overlap(source, parts)
    with Labelling(
        labelling_folder(target), source, raw.texts, batch_size or source.batch_size, overwrite=overwrite
    ) as labelling:
        answers = list(soft_sentences.split_rows(labelling.answer(progress), list(map(len, raw.texts))))
        places = [place for place, rows in enumerate(answers) if rows is not None and rows[0, 0] == rows[0, 0]]
        raw.leave_out("without an answer", len(answers) - len(places))
        if not places:
            labelling.remove()
            raise ValueError(f"{source.name} has no answer to any of the {len(answers):,} sentences.")
        own = [raw.labels[place] for place in places]
        sentences = [raw.texts[place] for place in places]
        _write(target, beside, sentences, own, source, [answers[place] for place in places])
        labelling.remove()
    return {
        "path": target.path,
        "teacher": source.name,
        "labels": tuple(source.labels),
        "texts": len(places),
        "labelled": sum(each is not None for each in own),
        "copies": 0,
        "left_out": raw.left_out,
    }


def student_tags(labels: Sequence[str] | None, corpus: Any) -> list[str] | None:
    """Return the tags of the student, checked, or None for those of the teacher."""
    if labels is None:
        return None if corpus is None else list(corpus.tag_names)
    names = check_names(labels)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"labels must be at least two different strings; received {labels!r:.80}.")
    for name in names:
        if corpus is not None and name not in corpus.tag_names:
            raise checks.unknown_name(f"tag for {corpus.name}:", name, corpus.tag_names)
    return names


def _sentences(
    source: Teacher, texts: SentencesToLabel | None, corpus: Any, train_texts: bool, columns: dict[str, Any]
) -> RawTexts:
    """Return the sentences to tag: those of the training part, which keep their tags, then the others."""
    rules, raw = token_teachers.rules_of(source), RawTexts()
    if corpus is not None and (train_texts or texts is None):
        train = corpus.train
        for tokens, tags, is_labelled in zip(train.tokens, train.tags, train.labelled.tolist(), strict=True):
            add(raw, tokens, tags if is_labelled else None)
    if texts is None and corpus is None:
        if not isinstance(source, token_teachers.TokenFile):
            raise ValueError(
                "Say what to label: texts (--file), or dataset (--dataset), whose training texts are labelled."
            )
        for tokens in source.sentences:
            add(raw, tokens)
    if texts is not None:
        more = read_sentences(texts, rules, **columns)
        for reason, count in more.left_out.items():
            raw.leave_out(reason, count)
        raw = RawTexts([*raw.texts, *more.texts], [*raw.labels, *more.labels], raw.left_out)
    return raw


def _write(
    target: Target,
    beside: Target,
    sentences: Sequence[Any],
    own: Sequence[Any],
    teacher: Teacher,
    rows: Sequence[np.ndarray | None],
) -> None:
    """Write sentences in columns, and their probabilities beside them, each file whole or not at all."""
    with new_output(beside) as file:
        for number, shares in enumerate(rows):
            assert shares is not None
            line = soft_sentences.to_line(shares, teacher.labels, teacher.name, is_first=number == 0)
            file.write(f"{line}\n")
    with new_output(target) as file:
        for tokens, tags in zip(sentences, own, strict=True):
            lines = zip(tokens, tags or [soft_sentences.NO_TAG] * len(tokens), strict=True)
            file.write("".join(f"{_plain(token)}\t{tag}\n" for token, tag in lines) + "\n")


def _plain(token: str) -> str:
    """Return a token with what cannot be written replaced."""
    return token.encode("utf-8", "replace").decode()
