"""Run a paper's table: each row is a recipe, trained with several seeds in a process of its own."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import multiprocessing
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import protocols, tables
from dense_lstm_zoo import checks, files, registry
from dense_lstm_zoo.classification.corpus import Split
from dense_lstm_zoo.tagging.corpus import TaggedSplit

_WIDTHS = ("units", "dense_units", "top_units")
_QUICK = {"train": 400, "dev": 100, "test": 100}  # texts of a corpus


@dataclass(frozen=True)
class Table:
    """A paper's table.

    Args:
        name: The results' name: ``results/NAME.csv``.
        title: What it asks.
        recipes: A recipe a row: it carries the model, its arguments and the published figures.
        dataset: The corpus it is run on by default.
        seeds: How many seeds by default.
        arguments: Arguments of ``train`` for all rows where the paper's own cannot be had on a laptop.
    """

    name: str
    title: str
    recipes: tuple[str, ...]
    dataset: str
    seeds: int = 5
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """What its models are for."""
        (model, *_) = zoo.get_recipe(self.recipes[0]).models
        return registry.entry(model).task


def main(table: Table, argv: list[str] | None = None) -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog=f"python -m tuning.{table.name}",
        description=f"{table.title} Rows: {', '.join(table.recipes)}.",
        epilog="An interrupted job goes on where it was when the same command is given again.",
    )
    parser.add_argument("--dataset", default=table.dataset, help=f"a corpus (default: {table.dataset})")
    parser.add_argument("--run-dir", help=f"default: runs/{table.name}")
    parser.add_argument("--rows", nargs="+", metavar="RECIPE", help="these rows only (default: all)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the widths, 400 texts, one epoch; no results")
    protocols.add_options(parser)
    parser.set_defaults(seeds=table.seeds)
    parser.add_argument("--vectors", help="a file of word vectors: a path, or a name in the data's vectors folder")
    options = parser.parse_args(argv)
    try:
        for recipe in options.rows or ():
            checks.one_of("row", recipe, table.recipes)
        if options.dataset not in zoo.list_corpora(task=table.task):
            raise checks.unknown_name("corpus", options.dataset, zoo.list_corpora(task=table.task))
    except ValueError as error:
        parser.error(str(error))
    protocols.vector_file(options.vectors)  # a missing one fails before any training
    run_dir = Path(options.run_dir or f"runs/{table.name}") / options.dataset
    results = run_dir / "results.csv" if options.quick else tables.ROOT / "results" / f"{table.name}.csv"
    for recipe in options.rows or table.recipes:
        # XLA keeps what it compiled until its process ends: a process a row keeps memory flat.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            row = process.submit(train, table, recipe, options, run_dir).result()
        tables.merge(results, [row], ["dataset", "recipe", "settings", "vectors", "protocol"])
        print(f"{recipe}: test {row['score_mean']} (paper: {row['paper'] or '-'})", flush=True)
        if not options.quick:
            tables.update_readme()
    with files.new_file(run_dir / "table.md", "w") as file:
        file.write(tables.paper_table(results) + "\n")
    tables.draw_by_depth(results, results.with_suffix(".png"))
    print(f"table in {run_dir / 'table.md'}, rows in {results}")


def train(table: Table, recipe: str, options: argparse.Namespace, run_dir: Path) -> dict[str, Any]:
    """Train one row with all seeds and return it."""
    (model, *_) = zoo.get_recipe(recipe).models
    arguments: dict[str, Any] = {**table.arguments, **protocols.parse_settings(options.set)}
    corpus: Any = zoo.load_corpus(options.dataset, table.task)
    if options.quick:
        corpus = _shortened(corpus)
        known = registry.resolve(model, {}, recipe, complete=False)
        arguments = {width: max(2, known[width] // 10) for width in _WIDTHS if known.get(width)} | arguments
        arguments = {"epochs": 1, "embedding_dim": 20} | arguments
    vectors = protocols.vector_file(options.vectors)
    name = "_".join([recipe, *options.set]).replace("=", "_")
    result = zoo.run_protocol(
        model,
        corpus,
        run_dir / name,
        seeds=options.seeds,
        **{"recipe": recipe, **arguments},
        **({"vectors": vectors} if vectors else {}),
    )
    runs, config = result.runs, protocols.read_config(result)
    scale, digits = (1, 2) if result.measure.endswith("perplexity") else (100, 2)
    scores = runs[result.measure] * scale
    command = f"python -m tuning.{table.name} --dataset {options.dataset} --rows {recipe}"
    command += " --quick" if options.quick else ""
    known = {name: value for name, value in config["arguments"].items() if name in registry.entry(model).arguments}
    return {
        "dataset": options.dataset,
        "recipe": recipe,
        "settings": " ".join(options.set),
        "vectors": Path(options.vectors).name if options.vectors else "",
        "protocol": protocols.seeds(options.seeds),
        "model": model,
        "depth": next((known[name] for name in ("num_dense_layers", "num_layers", "depth") if name in known), ""),
        "width": next((known[name] for name in ("dense_units", "units") if name in known), ""),
        "encoder_parameters": zoo.count_encoder_parameters(model, biases=False, **known),
        "measure": result.measure,
        "score_mean": round(scores.mean(), digits),
        "score_std": "" if result.std is None else round(scores.std(), digits),
        "scores": " ".join(f"{score:.2f}" for score in scores),
        "dev_mean": round(scale * runs[result.measure.replace("test", "dev")].mean(), digits),
        "paper": protocols.published(zoo.get_recipe(recipe).expected, options.dataset),
        "best_epochs": " ".join(map(str, runs["best_epoch"])),
        **protocols.how_it_ran(result, options, command),
    }


def _shortened(corpus: Any) -> Any:
    """Return a corpus with few texts, of running text the first lines."""
    cut: dict[str, Any] = {}
    for part, number in _QUICK.items():
        split = getattr(corpus, part)
        if split is None:
            continue
        if isinstance(split, Split | TaggedSplit):
            lists = {f.name: getattr(split, f.name)[:number] for f in dataclasses.fields(split)}
            cut[part] = dataclasses.replace(split, **lists)
        else:
            cut[part] = list(itertools.islice(split, number))
    return dataclasses.replace(corpus, **cut)
