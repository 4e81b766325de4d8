"""The commands and their options; each ``--help`` shows an example."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any, NoReturn

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks, registry
from dense_lstm_zoo import task as tasks
from dense_lstm_zoo.cli import commands, measuring, texts, writing
from dense_lstm_zoo.data import records
from dense_lstm_zoo.measuring.measure import REPEATS, TIMEOUT
from dense_lstm_zoo.search import TUNERS

BENCH = (
    "bench is now python -m benchmarks.speed, in a checkout of the project: ours against stock Keras and PyTorch.\n"
    "dense-lstm-zoo measure measures what a trained model costs on this machine."
)


def _literal(text: str) -> Any:
    """Parse 13, 0.5, true and null as JSON; return anything else as a string."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


class _Command(argparse.ArgumentParser):
    """A command that takes its options before, between and after its texts; plain argparse wants them in one place."""

    _within = False

    def __init__(self, *args: Any, gone: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self._gone = gone  # for a removed command: what replaces it

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse options and texts in any order; argparse calls this method again for each pass."""
        if self._gone:
            self.exit(2, f"error: {self._gone}\n")
        if self._within:
            return super().parse_known_args(args, namespace)
        self._within = True
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._within = False
        if unknown:  # argparse would suggest no near match, and print the usage of the whole program
            self._refuse(unknown)
        return found, unknown

    def _refuse(self, unknown: list[str]) -> NoReturn:
        options = [text.partition("=")[0] for text in unknown if text.startswith("-")]
        if options:
            accepted = (action.option_strings[-1] for action in self._actions if action.option_strings)
            message = str(checks.unknown_name(f"option of {self.prog}:", options[0], accepted))
        else:
            message = f"{self.prog} does not expect {unknown[0]!r}; put a text of several words in quotation marks."
        self.exit(2, f"error: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser; ``run`` in its result is the function to call with the other values."""
    parser = argparse.ArgumentParser(
        prog="dense-lstm-zoo",
        description="Densely connected and gated-skip LSTMs: train on a laptop, serve raw strings.",
        epilog="Start with: dense-lstm-zoo train dc_bilstm --dataset demo --run-dir runs/demo. "
        "DENSE_LSTM_ZOO_DEBUG=1 in the environment shows the traceback of an error.",
    )
    parser.add_argument("--version", action="version", version=f"dense-lstm-zoo {zoo.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="command", parser_class=_Command)

    def command(name: str, run: Any, help: str, example: str) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(name, help=help, description=help, epilog=f"Example: dense-lstm-zoo {example}")
        sub.set_defaults(run=run)
        return sub

    sub = command("list", commands.list_models, "List the models.", "list '*bilstm*' --task classification")
    sub.add_argument("pattern", nargs="?", default="*", help="a name with wildcards (default: all)")
    sub.add_argument("--task", help="only this task's models, such as classification")

    sub = command("describe", commands.describe, "Show a model's paper, arguments and recipes.", "describe dc_bilstm")
    sub.add_argument("model", help="a model's name; see dense-lstm-zoo list")

    sub = command("fetch", commands.fetch, "Find a corpus on this machine, or download it.", "fetch trec")
    sub.add_argument("dataset", help=f"one of: {', '.join(zoo.list_corpora())}")

    sub = command(
        "train",
        commands.train,
        "Train a model on a corpus and write a bundle: model, vocabulary, scores, learning curve.",
        "train dc_bilstm --dataset trec --recipe ding2018 --vectors glove.42B.300d.zip --run-dir runs/trec",
    )
    _add_training(sub)

    sub = command(
        "tune",
        commands.tune,
        "Search over a model's arguments; after a kill, the same command resumes.",
        "tune dc_bilstm --dataset trec --search num_dense_layers=5,10,15 --budget 1.44M --run-dir runs/sweep",
    )
    _add_sweep(sub)

    sub = command(
        "evaluate",
        commands.evaluate,
        "Score a bundle on the texts of a corpus or of your own file.",
        "evaluate runs/trec --split test",
    )
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("--split", choices=("test", "dev", "train"), default="test", help="default: test")
    sub.add_argument("--report", metavar="FOLDER", help="write an error analysis there: report.md and report.png")
    add_corpus(sub, trains=False)

    sub = command(
        "predict", texts.predict, "Label raw texts, or tag their tokens.", 'predict runs/trec "Who was Galileo ?"'
    )
    _add_texts(sub, [*records.TAGGER_FORMATS], [*writing.FORMATS, "columns"])
    sub.add_argument(
        "--token-column",
        type=int,
        help="columns: the tokens' column, from 0 (default: as in training, else 0; CoNLL-U: 1)",
    )

    sub = command(
        "score",
        texts.score,
        "Print the log probability and perplexity of texts under a language model.",
        'score runs/ptb "the market fell"',
    )
    _add_texts(sub, records.FORMATS, writing.FORMATS)

    sub = command(
        "generate", texts.generate, "Continue a prompt.", 'generate runs/ptb "the market" --temperature 0.8 --seed 1'
    )
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("prompt", nargs="?", default="", help="the start of the text (default: none)")
    sub.add_argument("--count", type=int, default=1, metavar="N", help="N texts, with the seeds SEED, SEED + 1, ...")
    sub.add_argument("--max-tokens", type=int, default=50, help="maximum number of words to add (default: 50)")
    sub.add_argument(
        "--temperature", type=float, default=1.0, help="below 1 more predictable, above 1 more varied (default: 1)"
    )
    sub.add_argument("--top-k", type=int, metavar="K", help="draw from the K likeliest words (default: all)")
    sub.add_argument("--seed", type=int, help="the same seed gives the same text (default: a new one each time)")
    sub.add_argument(
        "--lines", dest="stop_at_line_end", action="store_false", help="continue past line ends up to --max-tokens"
    )
    sub.add_argument("--allow-unknown", action="store_true", help="allow <unk> in the text")

    sub = command(
        "next-words", texts.next_words, "Show the likeliest next words.", 'next-words runs/ptb "the stock" -k 5'
    )
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("prefix", help="the text before the words")
    sub.add_argument("-k", type=int, default=10, help="how many (default: 10)")

    sub = command(
        "gates",
        texts.gates,
        "Show how far a tagger's skip gates are open, by layer and token.",
        'gates runs/upos "I saw it."',
    )
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("sentence", help="a raw sentence")
    _add_output(sub, "also draw it, as .png, .svg or .pdf")

    sub = command(
        "explain",
        texts.explain,
        "Show which words influenced a classifier, and which its layers looked at.",
        'explain runs/sst2 "a smart , sweet and playful romantic comedy ."',
    )
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("text", help="a raw text")
    _add_output(sub, "also draw it, as .png, .svg or .pdf")

    sub = command(
        "curves",
        commands.curves,
        "Compare the dev accuracy of runs by batch; train them with --dev-every.",
        "curves runs/di runs/dc --output curves.png",
    )
    sub.add_argument("bundles", nargs="+", metavar="bundle", help="folders that train --dev-every wrote")
    _add_output(sub, "also draw them, as .png, .svg or .pdf")

    sub = command("export", commands.export, "Write a SavedModel for TF Serving.", "export runs/trec exports/trec/1")
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("path", help="the folder to write; for TF Serving, its name must be a version number")
    sub.add_argument("--overwrite", action="store_true", help="replace an existing folder")

    sub = command(
        "measure",
        measuring.measure,
        "Measure what trained models cost here: time, memory, disk.",
        "measure runs/trec exports/trec/1 --texts questions.txt --output costs.csv",
    )
    sub.description = measuring.DESCRIPTION
    _add_measuring(sub)

    subparsers.add_parser("bench", gone=BENCH)  # without help=, so that it is not listed
    return parser


def _add_texts(sub: argparse.ArgumentParser, readable: Sequence[str], writable: Sequence[str]) -> None:
    sub.add_argument("bundle", help="the folder that train wrote")
    sub.add_argument("texts", nargs="*", default=[], help="texts (default: --file, else standard input)")
    sub.add_argument("--file", help="a file of texts: one per line, or a table, depending on its name")
    sub.add_argument(
        "--input-format",
        dest="input_form",
        choices=readable,
        help="format of --file or standard input (default: by the file's name, else text: one text per line)",
    )
    sub.add_argument("--text-column", help="csv, tsv, jsonl: the texts' column (default: as in training, else text)")
    sub.add_argument("--encoding", help="encoding of --file or standard input (default: utf-8)")
    _add_output(sub, "write here instead of to standard output")
    columns = "; columns: for taggers, one token per line, as in CoNLL or CoNLL-U" if "columns" in writable else ""
    sub.add_argument(
        "--format",
        dest="form",
        choices=writable,
        help=f"output format (default: by the name of --output, else like the input){columns}",
    )
    sub.add_argument(
        "--prefix",
        help="csv, jsonl: prefix of new columns' names (default: predicted_ if the input has such columns already)",
    )
    sub.add_argument(
        "--raw",
        action="store_true",
        help="csv: do not put an apostrophe before formulas; text: do not escape control characters",
    )


def _add_measuring(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("runs", nargs="+", metavar="run", help="folders that train or export wrote, for any task")
    sub.add_argument(
        "--texts",
        metavar="FILE",
        help="texts like those you will serve, as their length decides the cost of a call: one per line, or a table, "
        "depending on the file's name; the first 2,000 are used (default: sentences of the demo corpus)",
    )
    sub.add_argument(
        "--input-format",
        dest="input_form",
        choices=records.FORMATS,
        help="format of --texts (default: by the file's name, else text: one text per line)",
    )
    sub.add_argument("--text-column", help="csv, tsv, jsonl: the texts' column (default: text)")
    sub.add_argument("--encoding", help="encoding of --texts (default: utf-8)")
    sub.add_argument(
        "--repeats",
        type=int,
        default=REPEATS,
        metavar="N",
        help=f"timed calls at each size, for at most a minute (default: {REPEATS})",
    )
    sub.add_argument(
        "--timeout", type=float, default=TIMEOUT, metavar="S", help=f"stop a run after S seconds (default: {TIMEOUT:g})"
    )
    _add_output(sub, "also write the rows to this CSV file, with the date, the versions and the processor")


def _add_output(sub: argparse.ArgumentParser, help: str) -> None:
    sub.add_argument("--output", help=help)
    sub.add_argument("--overwrite", action="store_true", help="replace an existing file")


def add_corpus(sub: argparse.ArgumentParser, *, trains: bool, usual: str | None = None) -> None:
    """Add the options that name a corpus, or files of a user's own and what is where in them.

    Args:
        sub: The parser.
        trains: Whether a model is trained on it, or one that is trained is scored.
        usual: The corpus that is taken where none is named.
    """
    group = sub.add_argument_group("data")
    known = ", ".join(zoo.list_corpora())
    default = (
        "the format of --train-file, by its name"
        if trains
        else "the bundle's training corpus; for a file, its format, by its name"
    )
    group.add_argument("--dataset", help=f"one of: {known} (default: {default})")
    default = f"{usual}; with --train-file {default}" if usual else default
    columns = " (default:" if trains else " (default: as in training, else"
    group.add_argument("--train-file", help="your own files: the training texts")
    group.add_argument(
        "--dev-file", help="csv, tsv, jsonl, text: the dev texts (default: a tenth of the training texts)"
    )
    group.add_argument("--test-file", help="your own files: the test texts")
    group.add_argument("--text-column", help=f"csv, tsv, jsonl: the texts' column{columns} text)")
    group.add_argument("--label-column", help=f"csv, tsv, jsonl: the labels' column{columns} label)")
    group.add_argument("--token-column", type=int, help=f"columns: the tokens' column, from 0{columns} 0)")
    group.add_argument("--tag-column", type=int, help=f"columns: the tags' column{columns} -1, the last)")
    group.add_argument("--encoding", help="your own files: their encoding (default: utf-8)")


def _add_training(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", help="a model's name; see dense-lstm-zoo list")
    sub.add_argument("--run-dir", required=True, help="the folder to write the bundle to")
    sub.add_argument("--seed", type=int, help="default: 1")
    sub.add_argument(
        "--seeds", type=int, metavar="N", help="do N runs, with seeds SEED, SEED + 1, ..., and report mean and spread"
    )
    sub.add_argument("--folds", type=int, metavar="K", help="cross-validate with K folds of the training texts")
    sub.add_argument("--only-folds", type=int, nargs="+", metavar="FOLD", help="run only these of the K folds")
    sub.add_argument("--tensorboard", action="store_true", help="also write TensorBoard logs beside the run's folder")
    sub.add_argument("--overwrite", action="store_const", const=True, help="replace an existing run")
    _add_settings(sub)


def _add_sweep(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", help="a model's name; see dense-lstm-zoo list")
    sub.add_argument("--run-dir", required=True, help="the folder of the sweep; repeating the command resumes it")
    sub.add_argument("--tuner", choices=TUNERS, help="search strategy (default: random)")
    sub.add_argument(
        "--search",
        nargs="+",
        metavar="NAME=VALUES",
        help="units=50:300:log, dropout=0.2:0.6:0.1 or pooling=mean,max (default: the task's usual search space)",
    )
    sub.add_argument("--trials", type=int, help="maximum number of trials (default: 20; for a grid, all)")
    sub.add_argument(
        "--budget", metavar="N", help="encoder parameters, such as 1.44M; the width is derived from the depth"
    )
    sub.add_argument("--seeds", type=int, metavar="N", help="runs per trial (default: 1)")
    sub.add_argument("--folds", type=int, metavar="K", help="score by cross-validation on the training texts")
    sub.add_argument("--seed", type=int, help="seed of the search (default: 1)")
    sub.add_argument("--keep", type=int, metavar="K", help="keep the bundles of the best K trials (default: 1)")
    sub.add_argument("--workers", type=int, metavar="N", help="number of trials at a time on this machine (default: 1)")
    group = sub.add_argument_group("several machines", "all share the folder of the sweep and use the same options")
    group.add_argument("--role", choices=("chief", "worker"), help="keep the oracle, or run its trials")
    group.add_argument(
        "--oracle",
        metavar="[HOST:]PORT",
        help="the chief's address; without HOST, this machine only; a worker waits 300 s for it",
    )
    group.add_argument(
        "--worker-id", help="kept after a restart (default: an Indexed Job's or a Slurm array's index, or the host)"
    )
    group.add_argument(
        "--silence", type=float, metavar="S", help="reassign a silent worker's trial after S seconds (default: 300)"
    )
    _add_settings(sub)


def _add_option(sub: Any, option: tasks.Option) -> None:
    sub.add_argument(
        f"--{option.name.replace('_', '-')}",
        type=option.kind,
        metavar=option.metavar or (None if option.kind is str else "N" if option.kind is int else "X"),
        help=f"{option.help} (default: {option.told_default})",
    )


def _add_settings(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--recipe", help="a published result's settings, such as ding2018 (see describe)")
    for option in tasks.COMMON:
        _add_option(sub, option)
    sub.add_argument("--quiet", dest="progress", action="store_false", help="print nothing")
    add_corpus(sub, trains=True)
    groups: dict[str, Any] = {}
    for option in tasks.every_option().values():
        titles = [task.title for task in tasks.every() if option in task.options]
        if titles:
            title = " and ".join(titles)
            groups[title] = groups.get(title) or sub.add_argument_group(f"for {title}")
            _add_option(groups[title], option)
    group = sub.add_argument_group(
        "model arguments", "numbers, true, false, null or names; describe lists a model's arguments"
    )
    taken = {name for model in zoo.list_models() for name in registry.entry(model).arguments} - set(registry.FROM_DATA)
    for name in sorted(taken):
        group.add_argument(f"--{name.replace('_', '-')}", type=_literal, metavar="VALUE", default=argparse.SUPPRESS)
