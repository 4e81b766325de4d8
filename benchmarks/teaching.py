"""Students of a trained classifier, beside the same model trained on the labels alone.

On the corpus that the teacher was trained on, a student is trained in several ways: on the labels; on the teacher's
probabilities for the same texts; with changed copies of these as well (``--augment``); and with sentences of IMDB's
unlabelled reviews as well (``--raw``), of which those with the words of a dev or test text are left out. All are
trained from scratch with the same vectors, and scored once. A folder of ``benchmarks.transformer_teacher`` is a teacher
too: its files are the texts, ``--raw`` takes the first of its raw sentences, and ``--phrases`` its phrases besides.
Of a corpus without test texts, one fold of ten is the test (``--fold``), with a teacher of its own for each.
A tagger teaches a tagger in the same way, without changed copies. Rows go to results/teaching.csv, and those that are
there are not measured again. From the repository's root:

    python -m benchmarks.teaching sst2 --teacher dc_bilstm_sst2 --augment 5 --raw 50000
    python -m benchmarks.teaching ewt_upos --teacher gated_skip_tagger_ewt_upos --student bilstm_tagger --raw 20000
"""

from __future__ import annotations

import argparse
import functools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import dense_lstm_zoo as zoo
from benchmarks import raw_sentences, teacher_answers
from dense_lstm_zoo import checks, display, machine, tasks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks import Task
from tuning import protocols, result_files
from tuning.table_cells import mean_of

RESULTS = result_files.ROOT / "results" / "teaching.csv"
KEY = ["dataset", "teacher", "student", "settings", "way", "temperature", "hard_weight", "fold", "seed"]
ACCURACIES = ("dev_accuracy", "test_accuracy")
_MODEL = ("recipe", "vectors", "units", "num_layers")  # options that go to train, and say which student it is


def corpora(options: argparse.Namespace, corpus: Any, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each way to train a student, with a function that returns the corpus that it is trained on."""
    task = _task(options)
    yield "labels", lambda: corpus
    if _scores_file(options).exists():
        for way, texts in _labelled_texts(options):
            yield way, functools.partial(_with_train, corpus, texts, task)
        return
    ways: list[tuple[str, dict[str, Any]]] = [("teacher", {"texts": None})]
    if options.augment:
        ways.append((f"teacher, {options.augment} copies", {"texts": None, "augment": options.augment}))
    if options.raw:
        raw = raw_sentences.draw(options.raw, seed=1)
        ways.append((f"teacher, {options.raw:,} raw sentences", {"texts": raw, "train_texts": True}))
    for number, (way, arguments) in enumerate(ways):
        output = folder / f"{number}.{'conll' if task.takes_tokens else 'parquet'}"
        settings = {"output": output, "dataset": corpus, "progress": False, **arguments}
        yield way, functools.partial(_taught, options.teacher, settings, task)


def _with_train(corpus: Any, texts: pd.DataFrame | Path, task: Task) -> Any:
    """Return the corpus with the training texts of a table or a file."""
    return corpus.with_train(zoo.load_corpus(texts, task.name))


def _taught(teacher: str, settings: dict[str, Any], task: Task) -> Any:
    """Return a corpus with the training texts that a teacher labels now."""
    zoo.teach(teacher, **settings)
    return _with_train(settings["dataset"], settings["output"], task)


def _labelled_texts(options: argparse.Namespace) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each way to learn from the files of a transformer's answers, with its texts and their probabilities."""
    way, texts = "teacher", pd.read_parquet(Path(options.teacher) / "train.parquet")
    yield way, texts
    if options.augment:
        copies = Path(options.teacher) / f"copies_{options.augment}.parquet"
        way, texts = f"{way}, {options.augment} copies", pd.read_parquet(copies)
        yield way, texts
    if options.phrases:
        way, texts = f"{way}, phrases", pd.concat([texts, pd.read_parquet(Path(options.teacher) / "phrases.parquet")])
        yield way, texts
    if options.raw:
        raw = pd.read_parquet(Path(options.teacher) / "raw.parquet")
        if len(raw) < 0.9 * options.raw:  # those that are in dev or test were left out
            raise ValueError(f"{options.teacher} has {len(raw):,} raw sentences, and --raw asks for {options.raw:,}.")
        yield f"{way}, {options.raw:,} raw sentences", pd.concat([texts, raw[: options.raw]])


def _task(options: argparse.Namespace) -> Task:
    """Return the task of the student."""
    return tasks.find(registry.entry(options.student).task)


def _scores_file(options: argparse.Namespace) -> Path:
    return Path(options.teacher) / teacher_answers.SCORES


def measure(options: argparse.Namespace, corpus: Any) -> Iterator[dict[str, Any]]:
    """Yield the row of the teacher, and of each student."""
    about = teacher_answers.scores_of(Path(options.teacher)) if _scores_file(options).exists() else {}
    name = about.get("encoder", options.teacher)
    command = f"python -m benchmarks.teaching {options.dataset} --teacher {name} --student {options.student}"
    model = {option: value for option in _MODEL if (value := getattr(options, option))}
    for option, value in model.items():
        command += f" --{option.replace('_', '-')} {value}"
    for option in ("phrases", "all_texts_alone"):
        command += f" --{option.replace('_', '-')}" if getattr(options, option) else ""
    for option in ("fold", "augment", "raw", "temperature", "hard_weight", "epochs", "seeds"):
        value = getattr(options, option)
        command += f" --{option.replace('_', '-')} {value:g}" if value else ""
    shared = {
        **{"dataset": options.dataset, "teacher": name, "settings": ", ".join(map(str, model.values()))},
        **{"temperature": options.temperature, "hard_weight": options.hard_weight, "fold": options.fold or ""},
        "versions": protocols.read_versions({"versions": machine.versions()}),
        **{"processor": machine.processor(), "cores": machine.cores(), "command": command},
    }

    def row(student: str, way: str, seed: int, texts: int, scores: Any, size: int, seconds: float) -> Any:
        accuracies = {name: round(100 * scores[name], 2) for name in ACCURACIES}
        figures = {**accuracies, "parameters": size, "seconds": round(seconds, 1)}
        settings = {"settings": ""} if way == "the teacher" else {}
        return {"student": student, "way": way, "seed": seed, "texts": texts, **figures, **shared, **settings}

    if about:
        yield row(name, "the teacher", 0, len(corpus.train), about, about["parameters"], 0.0)
    else:
        teacher = zoo.from_preset(options.teacher)
        scores = {f"{part}_accuracy": teacher.evaluate(getattr(corpus, part))["accuracy"] for part in ("dev", "test")}
        yield row(name, "the teacher", 0, len(corpus.train), scores, int(teacher.model.count_params()), 0.0)
    with tempfile.TemporaryDirectory() as folder:
        ways = list(corpora(options, corpus, Path(folder)))
        for way, make in ways[-1:] if options.all_texts_alone else ways:
            soft = {"temperature": options.temperature, "hard_weight": options.hard_weight} if way != "labels" else {}
            key = {"student": options.student, "way": way, **shared}
            seeds = range(1, options.seeds + 1)
            missing = [seed for seed in seeds if not result_files.has_row(RESULTS, {**key, "seed": seed}, KEY)]
            texts = make() if missing else None
            for seed in missing:
                began = time.perf_counter()
                settings = {"seed": seed, "epochs": options.epochs, "baseline": False, "progress": False, **soft}
                run = (options.runs or Path(folder)) / f"{options.student} {way} {seed}"
                bundle = zoo.train(options.student, texts, run, **settings, **model)
                seconds = time.perf_counter() - began
                size = int(bundle.model.count_params())
                yield row(options.student, way, seed, len(texts.train), bundle.metrics, size, seconds)


def table() -> str:
    """Return the table: a line for each student and way, with the mean over seeds and folds."""
    rows = result_files.read_rows(RESULTS)
    cells = []
    for (dataset, teacher, student, settings, way, temperature, hard_weight), own in rows.groupby(KEY[:-2], sort=False):
        means = [mean_of([float(cell) for cell in own[column] if cell], 2) for column in ACCURACIES]
        loss = "" if way in ("labels", "the teacher") else f", T = {float(temperature):g}, a = {float(hard_weight):g}"
        model = f"{student} ({settings})" if settings else student
        cells.append((dataset, teacher, model, way + loss, own.texts.iloc[0], *means, len(own)))
    header = ["corpus", "teacher", "model", "trained on", "texts", "dev accuracy", "test accuracy", "runs"]
    return "\n".join([display.table(header, cells), "", result_files.sources(rows)])


@protocols.plain_errors()
def main(argv: list[str] | None = None) -> None:
    """Measure what a teacher is worth."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.teaching",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", help="a corpus with test texts, such as sst2")
    parser.add_argument(
        "--teacher", required=True, help="a preset, the folder of a bundle, or one of a transformer_teacher"
    )
    parser.add_argument("--student", default="bilstm", help="a model (default: bilstm)")
    parser.add_argument("--recipe", help="a recipe of the student (default: its own settings)")
    parser.add_argument("--vectors", help="word vectors of the student (default: those of its recipe)")
    parser.add_argument("--units", type=int, help="units of the student (default: those of its recipe)")
    parser.add_argument("--num-layers", type=int, help="layers of the student (default: those of its recipe)")
    parser.add_argument("--phrases", action="store_true", help="the phrases that a transformer_teacher has labelled")
    parser.add_argument("--all-texts-alone", action="store_true", help="only the student of all the texts asked for")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the students there (default: not kept)")
    parser.add_argument("--fold", type=int, metavar="K", help="test on this one of ten folds (default: test texts)")
    parser.add_argument("--augment", type=int, default=0, metavar="N", help="changed copies of each text (default: 0)")
    parser.add_argument("--raw", type=int, default=0, metavar="N", help="sentences of raw reviews (default: 0)")
    parser.add_argument("--temperature", type=float, default=1.0, help="(default: 1)")
    parser.add_argument("--hard-weight", type=float, default=0.0, help="(default: 0)")
    parser.add_argument("--epochs", type=int, default=30, help="at most (default: 30)")
    parser.add_argument("--seeds", type=int, default=3, help="(default: 3)")
    options = parser.parse_args(argv)
    for name in ("seeds", "epochs"):
        checks.integer(f"--{name}", getattr(options, name))
    checks.positive("--temperature", options.temperature)
    checks.share("--hard-weight", options.hard_weight)
    task = _task(options)
    if task.takes_tokens and (options.augment or options.phrases or _scores_file(options).exists()):
        raise ValueError("A tagger's teacher is a tagger, without --augment and --phrases; leave them out.")
    if _scores_file(options).exists():
        teacher_answers.check_trained_on(Path(options.teacher), options.dataset, options.fold)
    corpus = teacher_answers.corpus_of(options.dataset, options.fold, task.name)
    if corpus.test is None:
        raise ValueError(f"{options.dataset} has no test texts; say --fold, or name a corpus that has.")
    for each in measure(options, corpus):
        print(each, flush=True)
        result_files.merge(RESULTS, [each], KEY)


if __name__ == "__main__":
    main()
