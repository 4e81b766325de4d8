"""The commands and their options; each ``--help`` shows an example."""

from __future__ import annotations

import argparse
import functools
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles.publishing import EXPORT_FORMATS
from dense_lstm_zoo.bundles.weights_file import DTYPES
from dense_lstm_zoo.cli import (
    batch,
    commands,
    encoders,
    listing,
    measuring,
    model_help,
    presets,
    raw_text,
    texts,
    vectors,
    writing,
)
from dense_lstm_zoo.cli.arguments import (
    BUNDLE,
    add_corpus,
    add_format,
    add_measuring,
    add_output,
    add_texts,
    column,
    unescaped,
)
from dense_lstm_zoo.cli.command import Command, Program
from dense_lstm_zoo.cli.train_arguments import add_sweep, add_training
from dense_lstm_zoo.data import records, word_table

TRAIN = "train dc_bilstm --dataset trec --recipe ding2018 --vectors glove.42B.300d.zip --run-dir runs/trec"
TUNE = "tune dc_bilstm --dataset trec --search num_dense_layers=5,10,15 --budget 1.44M --run-dir runs/sweep"


def _help_of(command: str, groups: model_help.Groups, example: str, model: str | None) -> str:
    if model is None:
        return model_help.for_every_model(command, groups, example)
    return model_help.for_model(command, model, groups)


def parser() -> argparse.ArgumentParser:
    """Return the parser; ``run`` in its result is the function to call with the other values."""
    parser = Program(
        prog="dense-lstm-zoo",
        description="Densely connected and gated-skip LSTMs: train on a laptop, serve raw strings.",
        epilog="Start with: dense-lstm-zoo train dc_bilstm --dataset demo --run-dir runs/demo. "
        "DENSE_LSTM_ZOO_DEBUG=1 in the environment shows the traceback of an error.",
    )
    parser.add_argument("--version", action="version", version=f"dense-lstm-zoo {zoo.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="command", parser_class=Command)

    def command(name: str, run: Any, help: str, example: str) -> Command:
        example = f"Example: dense-lstm-zoo {example}"
        sub: Command = subparsers.add_parser(name, help=help, description=help, epilog=example)
        sub.set_defaults(run=run)
        return sub

    sub = command(
        "list",
        listing.list_kind,
        "List the models, recipes, presets or corpora.",
        f"list models '*bilstm*' --task {tasks.names()[0]}",
    )
    sub.add_argument("kind", nargs="?", default="models", help=f"{', '.join(listing.KINDS)} (default: models)")
    sub.add_argument("pattern", nargs="?", help="a name with wildcards (default: all)")
    sub.add_argument("--task", help=f"only this task's: {', '.join(tasks.names())}")

    sub = command("presets", presets.list_presets, "List the trained models.", f"presets --task {tasks.names()[-1]}")
    sub.add_argument("pattern", nargs="?", default="*", help="a name with wildcards (default: all)")
    sub.add_argument("--task", help=f"only this task's presets: {', '.join(tasks.names())}")

    sub = command(
        "describe",
        commands.describe,
        "Describe a model, a recipe, a preset or a run, with a line for each argument.",
        "describe dc_bilstm",
    )
    sub.add_argument("name", help="a name that list prints, or the folder of a run")

    sub = command("fetch", commands.fetch, "Find a corpus on this machine, or download it.", "fetch trec")
    sub.add_argument("dataset", help=f"one of: {', '.join(zoo.list_corpora())}")

    sub = command(
        "train",
        commands.train,
        "Train a model on a corpus and write a bundle: model, vocabulary, scores, learning curve.",
        TRAIN,
    )
    sub.help_of = functools.partial(_help_of, "train", add_training(sub), TRAIN)
    sub.others_of = model_help.options_of_others

    sub = command(
        "tune",
        commands.tune,
        "Search over a model's arguments; after a kill, the same command resumes.",
        TUNE,
    )
    sub.help_of = functools.partial(_help_of, "tune", add_sweep(sub), TUNE)
    sub.others_of = model_help.options_of_others

    sub = command(
        "evaluate",
        commands.evaluate,
        "Score a bundle on the texts of a corpus or of your own file.",
        "evaluate runs/trec --split test",
    )
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("--split", choices=("test", "dev", "train"), default="test", help="default: test")
    sub.add_argument("--format", dest="form", choices=("text", "json"), default="text", help="default: text")
    sub.add_argument("--report", metavar="FOLDER", help="write an error analysis there: report.md and report.png")
    add_corpus(sub, trains=False)

    sub = command(
        "predict", texts.predict, "Label raw texts, or tag their tokens.", 'predict runs/trec "Who was Galileo ?"'
    )
    add_texts(sub, [*records.TAGGER_FORMATS], [*writing.FORMATS, "columns"])
    sub.add_argument(
        "--token-column",
        type=column,
        help="columns: the tokens' column, from 0, or its CoNLL-U name (default: as in training, else 0; CoNLL-U: 1)",
    )
    sub.add_argument(
        "--separator",
        metavar="TEXT",
        type=unescaped,
        help="columns: what is between them, such as \\t for a tab (default: as in training, else spaces and tabs)",
    )

    sub = command(
        "predict-batch",
        batch.predict_batch,
        "Predict files of any size with Apache Beam, on this machine or many.",
        "predict-batch --input 'data/*.jsonl' --output out/labelled --model dc_bilstm_sst2",
    )
    sub.description, sub.rest = batch.DESCRIPTION, "beam_arguments"
    batch.add_options(sub)

    sub = command(
        "embed",
        vectors.embed,
        "Write a vector per text: what a classifier's softmax layer reads.",
        "embed runs/trec --file questions.txt --output questions.npy",
    )
    add_texts(sub, records.FORMATS, vectors.FORMATS)

    sub = command(
        "nearest",
        vectors.nearest,
        "Show the words with the nearest vectors.",
        f"nearest movie --vectors {word_table.DEFAULT} -k 5",
    )
    sub.add_argument("word", help="a word, in lower case")
    sub.add_argument(
        "--vectors",
        default=word_table.DEFAULT,
        metavar="NAME",
        help=f"an installed word table (default: {word_table.DEFAULT})",
    )
    sub.add_argument("-k", type=int, default=10, help="how many (default: 10)")

    sub = command(
        "score",
        texts.score,
        "Print the log probability and perplexity of texts under a language model.",
        'score runs/ptb "the market fell"',
    )
    add_texts(sub, records.FORMATS, writing.FORMATS)

    sub = command(
        "generate", texts.generate, "Continue a prompt.", 'generate runs/ptb "the market" --temperature 0.8 --seed 1'
    )
    sub.add_argument("bundle", help=BUNDLE)
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
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("prefix", help="the text before the words")
    sub.add_argument("-k", type=int, default=10, help="how many (default: 10)")

    sub = command(
        "gates",
        texts.gates,
        "Show how far a tagger's skip gates are open, by layer and token.",
        'gates runs/upos "I saw it."',
    )
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("sentence", help="a raw sentence")
    add_output(sub, "also draw it, as .png, .svg or .pdf")

    sub = command(
        "explain",
        texts.explain,
        "Show which words influenced a classifier, and which its layers looked at.",
        'explain runs/sst2 "a smart , sweet and playful romantic comedy ."',
    )
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("text", help="a raw text")
    add_output(sub, "also draw it, as .png, .svg or .pdf")

    sub = command(
        "tokenize",
        raw_text.tokenize,
        "Write raw texts in a classifier's words, one text per line, for a language model to be trained on.",
        "tokenize reviews.csv --text-column review --output reviews.txt",
    )
    sub.add_argument("file", nargs="?", help="the texts (default: standard input)")
    add_format(sub, "the texts")
    add_output(sub, "the file to write (default: standard output)")

    sub = command(
        "word-vectors",
        raw_text.word_vectors,
        "Write a trained model's word vectors in GloVe's text format, for train --vectors.",
        "word-vectors runs/forward --output words.txt",
    )
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("--output", required=True, metavar="FILE", help="the file to write")
    sub.add_argument("--overwrite", action="store_true", help="replace an existing file")

    sub = command(
        "join-lm",
        encoders.join_lm,
        "Join language models into a text encoder, for train --context and --init-from.",
        "join-lm runs/forward runs/backward --output runs/encoder",
    )
    sub.add_argument(
        "runs", nargs="+", metavar="run", help="a language model and, if there is one, its --direction backward"
    )
    sub.add_argument("--output", required=True, metavar="FOLDER", help="the folder to write")
    sub.add_argument("--dtype", choices=DTYPES, default="float16", help="how numbers are stored (default: float16)")
    sub.add_argument("--overwrite", action="store_true", help="replace an existing folder")

    sub = command(
        "curves",
        commands.curves,
        "Compare the dev accuracy of runs by batch; train them with --dev-every.",
        "curves runs/di runs/dc --output curves.png",
    )
    sub.add_argument("bundles", nargs="+", metavar="bundle", help="folders that train --dev-every wrote, or presets")
    add_output(sub, "also draw them, as .png, .svg or .pdf")

    sub = command(
        "export",
        commands.export,
        "Write a SavedModel for TF Serving, or ONNX for the light runtime.",
        "export runs/trec exports/trec/1",
    )
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("path", help="the folder to write; for TF Serving, its name must be a version number")
    sub.add_argument(
        "--format",
        choices=EXPORT_FORMATS,
        default="saved_model",
        help="onnx: for python -m dense_lstm_zoo_runtime; written to RUN/onnx, predict uses it (default: saved_model)",
    )
    sub.add_argument(
        "--weights",
        choices=("float32", "float16", "int8"),
        default="float32",
        help="onnx: how weights are stored; answers are computed in float32 (default: float32)",
    )
    sub.add_argument(
        "--shared-words", action="store_true", help="onnx: refer to the installed word table for its word vectors"
    )
    sub.add_argument(
        "--max-words", type=int, metavar="N", help="keep N words: those of the training texts, then the most frequent"
    )
    sub.add_argument("--overwrite", action="store_true", help="replace an existing folder")

    sub = command(
        "push", presets.push, "Upload a bundle to the Hugging Face Hub.", "push runs/trec my-name/trec --private"
    )
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("name", metavar="owner/name", help="the repository; it is created if it does not exist")
    sub.add_argument("--private", action="store_true", help="make a new repository private")
    sub.add_argument("--revision", metavar="BRANCH", help="the branch (default: the main one)")

    sub = command(
        "measure",
        measuring.measure,
        "Measure what trained models cost here: time, memory, disk.",
        "measure runs/trec exports/trec/1 --texts questions.txt --output costs.csv",
    )
    sub.description = measuring.DESCRIPTION
    add_measuring(sub)
    return parser
