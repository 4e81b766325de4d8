"""Teachers: trained models, functions, files that another model wrote, and several of them together."""

from __future__ import annotations

import abc
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles import checks as bundle_checks
from dense_lstm_zoo.bundles import presets, text_hashes
from dense_lstm_zoo.bundles.bundle import Bundle, load
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.data import labels as written
from dense_lstm_zoo.data import soft_sentences
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage.outputs import check_not_read
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo.teaching.answers import probabilities_of
from dense_lstm_zoo.teaching.written_answers import WrittenAnswers, read_answers
from dense_lstm_zoo_runtime.paths import user_path

if TYPE_CHECKING:
    import numpy as np

_BUNDLE_TEXTS, _FUNCTION_TEXTS = 1024, 256  # that are asked for at once


class Teacher(abc.ABC):
    """Something that gives a probability of each label for each text.

    Attributes:
        name: Its name, for the soft labels and for people.
        identity: Its name for a labelling that goes on: another teacher has another one.
        labels: The labels, in the order of its probabilities.
        batch_size: Texts that it is asked for at once.
        takes_tokens: Whether a text is a list of words, each of which has probabilities.
        is_several: Whether texts may have several labels. Each probability is then one by itself.
        is_known_by_name: Whether its identity is a name alone, so that it may answer otherwise now.
    """

    name: str
    identity: str
    labels: list[str]
    batch_size: int
    takes_tokens: bool = False
    is_several: bool = False
    is_known_by_name: bool = False

    @abc.abstractmethod
    def answer(self, texts: list[str]) -> np.ndarray:
        """Return the probabilities of texts: float32 (texts, labels), NaN for a text without an answer.

        Of texts that are lists of words, it returns those of all words: (words, labels).
        """

    def seen_texts(self) -> np.ndarray | None:
        """Return the hashes of the texts that it was trained on, or None if nobody knows."""
        return None


class BundleTeacher(Teacher):
    """A trained classifier, or a trained tagger.

    Args:
        source: A bundle, its folder, a preset's name, or an address.

    Raises:
        ValueError: A trained model whose texts have no label each, or as for ``presets.open_folder``.
    """

    batch_size = _BUNDLE_TEXTS

    def __init__(self, source: Bundle | str | os.PathLike[str]) -> None:
        self._bundle: Bundle | None = source if isinstance(source, Bundle) else None
        self._folder: BundleFolder | None = None if isinstance(source, Bundle) else presets.open_folder(source)
        config = source.config if isinstance(source, Bundle) else self._open().read_config()
        bundle_checks.refuse_encoder(source, config)
        task = tasks.find(config["task"])
        if not (task.labels_texts or task.takes_tokens):
            owners = " or ".join(each.title for each in tasks.every() if each.labels_texts or each.takes_tokens)
            raise ValueError(f"{source} is for {task.name}; a teacher gives labels, as {owners} do.")
        self.takes_tokens, self.tokenizer = task.takes_tokens, config.get("text", {}).get("tokenizer", 1)
        self.is_several = config["arguments"].get("labels", "one") != "one"
        trained = f"a {config['model']} trained on {config['training']['dataset']}"
        if isinstance(source, Bundle):
            self.labels, self.identity, self.name = list(source.labels), source.fingerprint(), trained
            return
        folder = self._open()
        self.labels, self.identity = bundle_checks.read_labels(folder.path / "labels.json"), folder.sha256
        self.name = f"{folder.path.resolve().name}, {trained} (manifest {folder.sha256[:12]})"

    def _open(self) -> BundleFolder:
        assert self._folder is not None
        return self._folder

    def answer(self, texts: list[str]) -> np.ndarray:
        """Return the probabilities of texts. The model is loaded on first use."""
        import numpy as np

        if self._bundle is None:
            self._bundle = load(self._open(), compile=False)
        model: Any = self._bundle
        shares = model.probabilities(texts)
        rows: np.ndarray = np.concatenate(shares) if self.takes_tokens else shares
        return rows.astype("float32")

    def seen_texts(self) -> np.ndarray | None:
        """Return the hashes of the texts that it was trained on, or None if it does not hold them."""
        if self._folder is None:
            return None if self._bundle is None else self._bundle.train_texts
        file = self._folder.path / text_hashes.FILE
        return text_hashes.read_hashes(file) if text_hashes.FILE in self._folder.names else None


class FunctionTeacher(Teacher):
    """A function from a list of texts to answers. See ``answers.probabilities_of`` for their forms.

    Args:
        function: The function.
        labels: The labels, in the order of a matrix that it returns.
        is_several: Whether texts may have several labels.
    """

    batch_size, is_known_by_name = _FUNCTION_TEXTS, True

    def __init__(
        self, function: Callable[[list[Any]], Any], labels: Sequence[str], *, is_several: bool = False
    ) -> None:
        self._function, self.labels, self.is_several = function, list(labels), is_several
        self.name = getattr(function, "__name__", type(function).__name__)
        self.identity = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', self.name)}"

    def answer(self, texts: list[str]) -> np.ndarray:
        """Return the probabilities of texts."""
        answers = self._function(list(texts))
        return probabilities_of(answers, self.labels, len(texts), self.name, is_several=self.is_several)


class FileTeacher(Teacher):
    """Answers that another model has written to a file, looked up by their texts."""

    batch_size = _BUNDLE_TEXTS

    def __init__(self, answers: WrittenAnswers) -> None:
        self.answers, self.labels = answers, answers.labels
        self.name, self.is_several = answers.name, answers.is_several
        # Of the answers besides the file: other columns of it hold others.
        self.identity = f"{answers.sha256} {hashlib.sha256(answers.rows.tobytes()).hexdigest()}"

    def answer(self, texts: list[str]) -> np.ndarray:
        """Return the probabilities of texts."""
        return self.answers.look_up(texts)


class SeveralTeachers(Teacher):
    """The mean of what several teachers say. One without an answer to a text does not count for it.

    Raises:
        ValueError: Teachers with other labels than the first, or with several per text where it has one.
    """

    def __init__(self, teachers: Sequence[Teacher]) -> None:
        self.teachers, self.labels, self.takes_tokens = teachers, teachers[0].labels, teachers[0].takes_tokens
        for teacher in teachers[1:]:
            check_labels(teacher, self.labels, teachers[0].name)
            check_kind(teacher, teachers[0].is_several, teachers[0].name)
        self.is_several = teachers[0].is_several
        self.is_known_by_name = any(teacher.is_known_by_name for teacher in teachers)
        self.name = " and ".join(teacher.name for teacher in teachers)
        self.identity = ", ".join(teacher.identity for teacher in teachers)
        self.batch_size = min(teacher.batch_size for teacher in teachers)

    def answer(self, texts: list[str]) -> np.ndarray:
        """Return the mean probabilities of texts."""
        import numpy as np

        every = []
        for teacher in self.teachers:
            place = {written.key(label): i for i, label in enumerate(teacher.labels)}
            every.append(teacher.answer(texts)[:, [place[written.key(label)] for label in self.labels]])
        stack = np.stack(every).astype(np.float64)
        answered = ~np.isnan(stack).any(axis=2, keepdims=True)
        sums, counts = np.where(answered, stack, 0.0).sum(axis=0), answered.sum(axis=0)
        means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        return means.astype(np.float32)

    def seen_texts(self) -> np.ndarray | None:
        """Return the hashes of the texts that any of them was trained on."""
        import numpy as np

        hashes = [own for teacher in self.teachers if (own := teacher.seen_texts()) is not None]
        return np.unique(np.concatenate(hashes)) if hashes else None


def find(
    teacher: object, labels: Sequence[str] | None, columns: dict[str, Any], is_several: bool | None = None
) -> Teacher:
    """Return a teacher, checked. Nothing is loaded that answers will need.

    Args:
        teacher: As for ``teach``.
        labels: The labels that the student has, or None for the teacher's own.
        columns: How a file of answers is read: ``text_column``, ``label_column``, ``label_separator``, ``encoding`` and
            ``delimiter``.
        is_several: Whether the student's texts may have several labels, or None for what the teacher says.

    Raises:
        TypeError: Anything that is not a teacher.
        ValueError: A teacher with other labels, or with several per text where the student has one, a function without
            ``labels``, or as for the classes here.
    """
    if is_several is None and columns.get("label_separator") is not None:
        is_several = True
    if isinstance(teacher, list | tuple):
        if not teacher:
            raise ValueError("The list of teachers is empty; give at least one.")
        several = [find(each, labels, columns, is_several) for each in teacher]
        return several[0] if len(several) == 1 else SeveralTeachers(several)
    single = _single(teacher, labels, columns, is_several)
    if single.takes_tokens:
        raise ValueError(
            f"{single.name} gives each word a tag, which a file in columns holds; name one as the output, such as "
            "soft.conll."
        )
    if labels is not None:
        check_labels(single, labels, "the student")
    if is_several is not None:
        check_kind(single, is_several, "the student")
    return single


def _single(teacher: object, labels: Sequence[str] | None, columns: dict[str, Any], is_several: bool | None) -> Teacher:
    if isinstance(teacher, Teacher):
        return teacher
    if isinstance(teacher, Bundle):
        return BundleTeacher(teacher)
    if isinstance(teacher, str | os.PathLike):
        path = user_path(os.fspath(teacher))
        is_file = path.is_file() and "://" not in os.fspath(teacher)
        if not is_file:
            return BundleTeacher(teacher)
        return FileTeacher(read_answers(path, labels, **columns, is_several=is_several))
    if not callable(teacher):
        raise TypeError(
            "A teacher must be a trained classifier, its folder, a preset's name, a file of answers, a function from "
            f"texts to probabilities, or a list of these; received {type(teacher).__name__}."
        )
    if labels is None:
        raise ValueError(
            "A function does not say what its labels are; give them with labels=, in the order of the columns of its "
            "matrix, or give dataset=."
        )
    return FunctionTeacher(teacher, labels, is_several=bool(is_several))


def reads_file(teacher: Teacher) -> bool:
    """Return whether a teacher, or one of several, is a file of answers."""
    members = teacher.teachers if isinstance(teacher, SeveralTeachers) else [teacher]
    return any(isinstance(each, FileTeacher) for each in members)


def check_sources(
    targets: Sequence[Target], teacher: object, texts: object, corpus: Any, *, are_columns: bool = False
) -> None:
    """Raise ``ValueError`` if an output is one of the files that are read.

    Args:
        targets: The outputs.
        teacher: As for ``teach``.
        texts: As for ``teach``.
        corpus: The corpus that the student is scored on, or None.
        are_columns: Whether files have probabilities beside them, which are read as well.
    """
    origin = getattr(corpus, "origin", None)  # of one that was made in memory there is none
    sources = [*(teacher if isinstance(teacher, list | tuple) else [teacher]), texts, *(origin.files if origin else ())]
    paths = [path for each in sources if isinstance(each, str | os.PathLike) if (path := user_path(each)).is_file()]
    paths += map(soft_sentences.file_beside, list(paths) if are_columns else ())
    for target in targets:
        check_not_read(target, paths, "output (--output)")


def check_kind(teacher: Teacher, is_several: bool, owner: str) -> None:
    """Raise ``ValueError`` for a teacher that gives several labels per text where there is one, or the reverse."""
    if teacher.is_several != is_several:
        kinds = ("several labels", "one label")[:: 1 if teacher.is_several else -1]
        raise ValueError(f"{teacher.name} gives {kinds[0]} per text; {owner} has {kinds[1]} per text.")


def check_labels(teacher: Teacher, labels: Sequence[str], owner: str) -> None:
    """Raise ``ValueError`` for a teacher with other labels, in whatever order."""
    theirs, ours = ({written.key(label) for label in each} for each in (teacher.labels, labels))
    if theirs != ours:
        raise ValueError(
            f"{teacher.name} has the labels {', '.join(teacher.labels)}; {owner} has {', '.join(labels)}. A teacher "
            "must know the same labels, written alike."
        )


def say_overlap(teacher: Teacher, parts: Mapping[str, Iterable[Sequence[str]]]) -> None:
    """Say on standard error if a teacher was trained on texts that its student will be scored on.

    Args:
        teacher: The teacher.
        parts: The tokens of the texts of dev and test, by the name of the part.
    """
    hashes = teacher.seen_texts() if parts else None
    if hashes is None:
        return
    for part, rows in parts.items():
        overlap = text_hashes.overlap(hashes, rows)
        if overlap.is_too_much:
            notes.say(
                f"warning: {teacher.name} was trained on {part} texts: {overlap}. The {part} score of its student will "
                "be too good by them."
            )
