"""The command line; TensorFlow is imported only by commands that run a model."""

from __future__ import annotations

import argparse
import contextlib
import csv
import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import files, registry
from dense_lstm_zoo.bundle import check

if TYPE_CHECKING:
    from dense_lstm_zoo.classification import ClassificationBundle, Prediction
    from dense_lstm_zoo.data.corpus import Corpus

_FILE_OPTIONS = ("train_file", "dev_file", "test_file", "text_column", "label_column", "encoding")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 2 for bad input, 130 after Ctrl-C."""
    # TensorFlow's C++ start-up messages (no GPU found, CPU features) would bury the progress bars.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    arguments = vars(_parser().parse_args(argv))
    run = arguments.pop("run")
    try:
        run(**arguments)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, TypeError, OSError, ArithmeticError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    return 0


def _import_tensorflow() -> None:
    """Import TensorFlow without the lines that its C++ code prints before any setting can silence it."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        import tensorflow_text  # noqa: F401 - imports TensorFlow
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def _list(pattern: str, task: str | None) -> None:
    for name in zoo.list_models(pattern, task=task):
        found = registry.entry(name)
        print(f"{name:<18} {found.task:<16} {found.summary}")


def _describe(model: str) -> None:
    print(zoo.describe(model))


def _fetch(dataset: str) -> None:
    paths = zoo.fetch(dataset)
    print("\n".join(map(str, paths)) if paths else f"{dataset} is built in: there is nothing to fetch.")


def _train(model: str, **options: Any) -> None:
    registry.entry(model)  # a misspelt model is told before the data is read
    corpus_options = {name: options.pop(name) for name in ("dataset", *_FILE_OPTIONS)}
    options = {name: value for name, value in options.items() if value is not None}
    if "recipe" in options:
        zoo.get_recipe(options["recipe"])
    corpus = _corpus(**corpus_options)
    _import_tensorflow()
    if options.keys() & {"seeds", "folds", "only_folds"}:
        zoo.run_protocol(model, corpus, **options)
    else:
        zoo.train(model, corpus, **options)


def _evaluate(bundle: str, split: str, dataset: str | None, report: str | None, **file_options: str | None) -> None:
    trained_on = json.loads((check(bundle) / "config.json").read_text(encoding="utf-8"))["training"]["dataset"]
    corpus = _corpus(dataset or trained_on, **file_options)
    texts = getattr(corpus, split)
    if texts is None:
        raise ValueError(f"{corpus.name} has no {split} set.")
    if report:
        files.check_new_folder(report, overwrite=False)
    loaded = _load(bundle)
    scores, analysis = loaded.score(texts, corpus.label_names)
    print(f"{split} accuracy {scores['accuracy']:.4f}, loss {scores['loss']:.4f}, {scores['texts']:,} texts")
    if report:
        from dense_lstm_zoo.training.report import write_evaluation

        with files.new_folder(Path(report)) as folder:
            write_evaluation({"split": split, **analysis}, folder, f"{loaded.config['model']} on {corpus.name}")


def _predict(bundle: str, texts: list[str], file: str | None, output: str | None, form: str) -> None:
    if texts and file:
        raise ValueError("Give texts or --file, not both.")
    source = files.existing_file(file) if file else None
    loaded = _load(bundle)
    with contextlib.ExitStack() as stack:
        lines = texts or _lines(stack.enter_context(source.open("rb")) if source else sys.stdin.buffer)
        target = stack.enter_context(files.new_file(output, "w")) if output else sys.stdout
        _WRITERS[form](target, loaded.labels, loaded.predict_stream(lines))


def _lines(stream: IO[bytes]) -> Iterator[str]:
    for line in stream:
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _write_text(target: IO[str], labels: list[str], predictions: Iterable[Prediction]) -> None:
    for found in predictions:
        target.write(f"{found.label}\t{found.probability:.4f}\t{found.text}\n")


def _write_csv(target: IO[str], labels: list[str], predictions: Iterable[Prediction]) -> None:
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["text", "label", "probability", *(f"p_{label}" for label in labels)])
    for found in predictions:
        row = (found.probability, *(found.probabilities[label] for label in labels))
        writer.writerow([found.text, found.label, *(f"{value:.6f}" for value in row)])


def _write_jsonl(target: IO[str], labels: list[str], predictions: Iterable[Prediction]) -> None:
    for found in predictions:
        target.write(json.dumps(dataclasses.asdict(found), ensure_ascii=False) + "\n")


_WRITERS = {"text": _write_text, "csv": _write_csv, "jsonl": _write_jsonl}


def _export(bundle: str, path: str, overwrite: bool) -> None:
    files.check_new_folder(path, overwrite)
    print(_load(bundle).export(path, overwrite=overwrite))


def _bench(only: list[str] | None, quick: bool, device: str, output: str | None) -> None:
    from dense_lstm_zoo.benchmark import bench, line

    rows = bench(device, only, quick, report=lambda row: print(line(row), flush=True))
    if output:
        with files.new_file(output, "w") as file:
            rows.to_csv(file, index=False)


def _load(bundle: str) -> ClassificationBundle:
    check(bundle)
    _import_tensorflow()
    return zoo.load(bundle)  # type: ignore[return-value]


def _corpus(dataset: str, **file_options: str | None) -> Corpus:
    return zoo.load_corpus(dataset, **{name: value for name, value in file_options.items() if value is not None})


def _literal(text: str) -> Any:
    """Read 13, 0.5, true or null as JSON does; everything else is a string."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dense-lstm-zoo",
        description="Densely connected and gated-skip LSTMs: train on a laptop, serve raw strings.",
        epilog="Begin with: dense-lstm-zoo train dc_bilstm --dataset demo --run-dir runs/demo",
    )
    parser.add_argument("--version", action="version", version=f"dense-lstm-zoo {zoo.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, run: Any, help: str, example: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help, epilog=f"Example: dense-lstm-zoo {example}")
        sub.set_defaults(run=run)
        return sub

    sub = command("list", _list, "List the models.", "list '*bilstm*' --task classification")
    sub.add_argument("pattern", nargs="?", default="*", help="a name with wildcards (default: all)")
    sub.add_argument("--task", help="only this task's models, such as classification")

    sub = command("describe", _describe, "Show a model's paper, arguments and recipes.", "describe dc_bilstm")
    sub.add_argument("model", help="a name that list shows")

    sub = command("fetch", _fetch, "Find a corpus on this machine, or download it.", "fetch trec")
    sub.add_argument("dataset", help=f"one of: {', '.join(zoo.list_corpora())}")

    sub = command(
        "train",
        _train,
        "Train a model on a corpus and write a bundle: model, vocabulary, scores, learning curve.",
        "train dc_bilstm --dataset trec --recipe ding2018 --vectors glove.42B.300d.zip --run-dir runs/trec",
    )
    _add_training(sub)

    sub = command("evaluate", _evaluate, "Score a bundle on labelled texts.", "evaluate runs/trec --split test")
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("--split", choices=("test", "dev", "train"), default="test", help="default: test")
    sub.add_argument("--report", metavar="FOLDER", help="write there where the model errs: report.md and report.png")
    _add_corpus(sub, required=False)

    sub = command("predict", _predict, "Label raw texts.", 'predict runs/trec "Who was Galileo ?"')
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("texts", nargs="*", help="texts; without any, and without --file, lines of standard input")
    sub.add_argument("--file", help="a file with one text a line")
    sub.add_argument("--output", help="write here instead of to standard output")
    sub.add_argument("--format", dest="form", choices=tuple(_WRITERS), default="text", help="default: text")

    sub = command("export", _export, "Write a SavedModel for TF Serving.", "export runs/trec exports/trec/1")
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("path", help="the folder to write; TF Serving wants a version number at its end")
    sub.add_argument("--overwrite", action="store_true", help="replace what is there")

    sub = command("bench", _bench, "Measure speed here, beside stock Keras and PyTorch.", "bench --quick --only train")
    sub.add_argument("--only", nargs="+", metavar="GROUP", help="train, predict, first_step, ... (default: all)")
    sub.add_argument("--quick", action="store_true", help="minutes in place of a quarter of an hour")
    sub.add_argument("--device", default="cpu", help="cpu (default), or gpu where there is one")
    sub.add_argument("--output", help="also write the rows to this CSV file")
    return parser


def _add_corpus(sub: argparse.ArgumentParser, *, required: bool) -> None:
    group = sub.add_argument_group("data")
    known = ", ".join(zoo.list_corpora())
    default = "" if required else " (default: what the bundle was trained on)"
    group.add_argument("--dataset", required=required, help=f"one of: {known}{default}")
    group.add_argument("--train-file", help="csv, tsv, jsonl: the training texts")
    group.add_argument("--dev-file", help="csv, tsv, jsonl: the dev texts (default: a tenth of the training texts)")
    group.add_argument("--test-file", help="csv, tsv, jsonl: the test texts")
    group.add_argument("--text-column", help="csv, tsv, jsonl: the column with the texts (default: text)")
    group.add_argument("--label-column", help="csv, tsv, jsonl: the column with the labels (default: label)")
    group.add_argument("--encoding", help="csv, tsv, jsonl: the files' encoding (default: utf-8)")


def _add_training(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", help="a name that list shows")
    sub.add_argument("--run-dir", required=True, help="the folder to write the bundle to")
    sub.add_argument("--recipe", help="a published result's settings, such as ding2018 (see describe)")
    sub.add_argument("--seed", type=int, help="default: 1")
    sub.add_argument(
        "--seeds", type=int, metavar="N", help="N runs with the seeds SEED, SEED + 1, ...; mean and spread"
    )
    sub.add_argument("--folds", type=int, metavar="K", help="cross-validate with K folds of the training texts")
    sub.add_argument("--only-folds", type=int, nargs="+", metavar="FOLD", help="run these of the K folds only")
    sub.add_argument("--epochs", type=int, help="most epochs (default: the recipe's, else 30)")
    sub.add_argument(
        "--patience", type=int, help="epochs without a better dev accuracy (default: the recipe's, else 5)"
    )
    sub.add_argument("--batch-size", type=int, help="texts a step (default: the recipe's, else 200)")
    sub.add_argument(
        "--learning-rate-decay", type=float, metavar="FACTOR", help="after each epoch (default: the recipe's, else 1)"
    )
    sub.add_argument("--tensorboard", action="store_true", help="also write TensorBoard logs beside the run's folder")
    sub.add_argument("--overwrite", action="store_const", const=True, help="replace a run that is there")
    sub.add_argument("--quiet", dest="progress", action="store_false", help="print nothing")
    _add_corpus(sub, required=True)
    group = sub.add_argument_group("words")
    group.add_argument("--vectors", help="word vectors: GloVe's or word2vec's text format, plain, .gz or .zip")
    group.add_argument("--vector-words", type=int, help="know so many of the file's first words (default: 50000)")
    group.add_argument("--oov", help="unknown words: drop (default with vectors) or unk")
    group = sub.add_argument_group(
        "model arguments", "numbers, true, false, null or names; describe tells what a model takes"
    )
    taken = {name for model in zoo.list_models() for name in registry.entry(model).arguments} - set(registry.FROM_DATA)
    for name in sorted(taken):
        group.add_argument(f"--{name.replace('_', '-')}", type=_literal, metavar="VALUE", default=argparse.SUPPRESS)
