"""What results/README.md says of language models and of text encoders."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import dense_lstm_zoo as zoo
from benchmarks.claims.rows import Claim, Quoted, interval, number, one, row, rows

SHORT = ("godin2017_dense_200x2_30_epochs", "godin2017_stacked_200x2_30_epochs")


def language_models() -> Iterator[Claim | Quoted]:
    """Yield the claims of Language models."""
    ours, stacked = (number("language_model", "test_perplexity_mean", recipe=recipe) for recipe in SHORT)
    theirs = [number("language_model", "paper", recipe=recipe) for recipe in SHORT]
    long = row("language_model", recipe="regularised_dense_400x3")
    reached, weights = Decimal(long["test_perplexity_mean"]), int(long["parameters"]) / 1e6
    yield Claim(
        f"test perplexity is {100 * (1 - ours / stacked):.0f} % below the stacked model's; in the paper, after 100, it "
        f"is {100 * (1 - theirs[0] / theirs[1]):.0f} %"
    )
    yield Claim(f"Our own recipe reaches {one(reached)} with {weights:.1f} million weights")
    best = _largest_of_the_paper()
    yield Claim(
        f"is {100 * (1 - reached / ours):.0f} % below our 30 epochs of the paper's dense recipe, "
        f"{one(100 * (1 - reached / theirs[0]))} % below the paper's 100, and {one(100 * (1 - reached / best))} % "
        f"below the best of the paper ({best}: 200 units x 4, 14 million weights, 100 epochs), with fewer weights"
    )
    recipe = zoo.get_recipe("regularised_dense_400x3")
    found = [float(each["dev_perplexity"]) for each in rows("language_model_curves", recipe=recipe.name)]
    yield Claim(
        f"Of its {recipe.epochs} epochs, {recipe.decay_after} are at the full rate, where the average of the weights "
        "improves in every epoch",
        found[: recipe.decay_after] == sorted(found[: recipe.decay_after], reverse=True),
    )
    yield Claim(
        f"it is best after {long['best_epochs']} of its {long['epochs']} epochs, and overfits as the rate continues to "
        "fall",
        len(found) == recipe.epochs and found[-1] > min(found),
    )
    yield Claim(
        "Both models are about a tenth above the paper's figures and were still improving in the last epoch",
        all(
            Decimal("1.08") < mine / paper < Decimal("1.13")
            for mine, paper in ((ours, theirs[0]), (stacked, theirs[1]))
        )
        and all(row("language_model", recipe=recipe)["best_epochs"] == "30" for recipe in SHORT),
    )
    curve = [float(found["dev_perplexity"]) for found in rows("language_model_curves", recipe="godin2017_dense_200x2")]
    yield Claim(f"have been run for {len(curve)} so far, to a dev perplexity of {one(curve[-1])}")
    short = [float(found["dev_perplexity"]) for found in rows("language_model_curves", recipe=SHORT[0])]
    apart = max(abs(long / short - 1) for long, short in zip(curve[:6], short[:6], strict=True))
    yield Claim("In the six epochs before the rates differ it lies within 2 % of the one in float32", apart < 0.02)
    yield Claim("about where the short schedule ends", abs(curve[-1] / short[-1] - 1) < 0.01)
    for text, source in (
        ("a rate multiplied by 0.85 per epoch from the seventh on (the paper: 100 epochs, 0.95)", "the two recipes"),
        ("the paper's stacked model of that size (350 units, 9.0 million) is at 87.9", "Godin et al. 2017, Table 1"),
    ):
        yield Quoted(text, source)


def _largest_of_the_paper() -> Decimal:
    """Return the best perplexity of Godin et al. 2017, Table 1: that of 200 units x 4."""
    return Decimal(str(zoo.get_recipe("godin2017_dense_200x4").expected["ptb"]))


def transfer() -> Iterator[Claim]:
    """Yield the claims of Training from a trained model."""

    def scores(dataset: str, texts: str, start: str) -> dict[str, str]:
        return {"dataset": dataset, "texts": texts, "start": start}

    def gain(dataset: str, texts: str) -> tuple[float, float, float]:
        ways = (scores(dataset, texts, start) for start in ("from dc_bilstm_sst2", "from scratch"))
        return interval("transfer", "accuracies", *ways)

    def mean(dataset: str, texts: str) -> Decimal:
        ours, theirs = (
            number("transfer", "accuracy_mean", **scores(dataset, texts, start))
            for start in ("from dc_bilstm_sst2", "from scratch")
        )
        return ours - theirs

    sizes = ("100", "500", "all")
    cr, trec = ([mean(dataset, texts) for texts in sizes] for dataset in ("cr", "trec"))
    yield Claim(
        f"adds {one(cr[0])} points with 100 training texts, {one(cr[1])} with 500 and {one(cr[2])} with all",
        min(cr) > 0,
    )
    yield Claim(
        f"costs {one(-trec[0])} points with 100 texts, adds {one(trec[1])} with 500 and "
        f"{'adds' if trec[2] > 0 else 'costs'} {one(abs(trec[2]))} with all",
        trec[0] < 0 < trec[1],
    )
    sure = {(d, n) for d in ("cr", "trec") for n in sizes if not gain(d, n)[1] < 0 < gain(d, n)[2]}
    yield Claim("only the differences with 100 texts are beyond doubt", sure == {("cr", "100"), ("trec", "100")})
