"""Commands that write with a language model: generate, next-words."""

from __future__ import annotations

import contextlib
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.cli import few_texts
from dense_lstm_zoo.cli.arguments import BUNDLE
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, load, open_folder
from dense_lstm_zoo.data.cells import escape_controls


@command(
    "generate",
    "Continue a prompt.",
    BUNDLE,
    argument("prompt", nargs="?", default="", help="the start of the text (default: none)"),
    argument("--count", type=int, default=1, metavar="N", help="N texts, with the seeds SEED, SEED + 1, ..."),
    argument("--max-tokens", type=int, default=50, help="maximum number of words to add (default: 50)"),
    argument(
        "--temperature", type=float, default=1.0, help="below 1 more predictable, above 1 more varied (default: 1)"
    ),
    argument("--top-k", type=int, metavar="K", help="draw from the K likeliest words (default: all)"),
    argument("--seed", type=int, help="the same seed gives the same text (default: a new one each time)"),
    argument(
        "--lines", dest="stop_at_line_end", action="store_false", help="continue past line ends up to --max-tokens"
    ),
    argument("--allow-unknown", action="store_true", help="allow <unk> in the text"),
    example='generate runs/ptb "the market" --temperature 0.8 --seed 1',
)
def generate(bundle: Source, prompt: str, count: int, seed: int | None, **options: Any) -> None:
    """Print continuations of a prompt, one per line."""
    checks.integer("count", count)
    once = few_texts.are_few([prompt]) and count * options["max_tokens"] <= few_texts.STEPS
    model = load(open_folder(bundle), "generate", once=once)
    with few_texts.eagerly() if once else contextlib.nullcontext():
        for i in range(count):
            continuation = model.generate(prompt, seed=None if seed is None else seed + i, **options)
            print(escape_controls(f"{prompt} {continuation.text}".strip(), keep="\n"))


@command(
    "next-words",
    "Show the likeliest next words.",
    BUNDLE,
    argument("prefix", help="the text before the words"),
    argument("-k", type=int, default=10, help="how many (default: 10)"),
    example='next-words runs/ptb "the stock" -k 5',
)
def next_words(bundle: Source, prefix: str, k: int) -> None:
    """Print the likeliest next words with their probabilities."""
    checks.integer("k", k)
    once = few_texts.are_few([prefix])
    model = load(open_folder(bundle), "next-words", once=once)
    with few_texts.eagerly() if once else contextlib.nullcontext():
        words = model.next_words(prefix, k)
    for word, probability in words:
        print(f"{probability:.4f}\t{escape_controls(word)}")
