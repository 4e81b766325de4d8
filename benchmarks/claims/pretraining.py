"""What results/README.md says of pretraining on raw text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal

from benchmarks.claims.rows import Claim, Quoted, interval, level, number, one, rows, span

_MODELS = ("dc_bilstm", "bilstm")
_CORPORA = ("sst2", "cr", "trec")
_ELSEWHERE = ("mr", "subj", "sst1")  # where only the winner of these was run, beside itself from scratch
_CURVES, _SIZES = ("sst2", "trec"), ("100", "500", "2000")
_NAMES = {"sst2": "SST-2", "mr": "MR", "cr": "CR", "subj": "Subj", "trec": "TREC"}
# The best of the four papers, Ding et al. 2018 and Xie et al. 2019, on each; SST-2's are trained on phrases.
_PAPERS = {"sst2": "89.9", "mr": "83.3", "cr": "87.5", "subj": "95.2", "trec": "96.5"}


def pretraining() -> Iterator[Claim | Quoted]:
    """Yield the claims of Pretraining."""
    gains = {(dataset, model): _beside_scratch(dataset, model) for dataset in _CORPORA for model in _MODELS}
    tuned = {(dataset, "lm_classifier"): _beside_scratch(dataset, "lm_classifier") for dataset in _CORPORA}
    dense, plain = (gains["sst2", model][0] for model in _MODELS)
    yield Claim(f"add {dense:.2f} points to `dc_bilstm` on test and {plain:.2f} to the Bi-LSTM ({_scores('sst2')})")
    for dataset in _CORPORA[1:]:
        dense, plain = (gains[dataset, model][0] for model in _MODELS)
        yield Claim(f"{dense:.2f} and {plain:.2f} ({_scores(dataset)})")
    yield Claim(
        "On dev they are ahead of the other ways on SST-2 and TREC with either model; on CR, `dc_bilstm` is best from "
        "scratch",
        _ahead_on_dev("sst2") and _ahead_on_dev("trec") and _best_on_dev("cr") == ("scratch", "dc_bilstm"),
    )
    fine = [f"{_score(dataset, 'fine-tuned', 'lm_classifier')} %" for dataset in _CORPORA]
    yield Claim(f"fine-tuned, has {fine[0]} on SST-2, {fine[1]} on CR and {fine[2]} on TREC")
    yield Claim(
        "every 95 % interval of a difference from scratch contains zero",
        all(map(level, {**gains, **tuned}.values())),
    )
    yield from _elsewhere()
    error = 100 - Decimal(_score("imdb", "context", "dc_bilstm"))
    yield Claim(f"`dc_bilstm` with the states errs on {one(error)} % of them")
    yield from _few_labels()
    dense, stacked = (
        number("review_models", "dev_perplexity_mean", model=f"{name}_lstm_lm") for name in ("dense", "stacked")
    )
    yield Claim(
        f"dense connections have a perplexity of {one(dense)} on dev, and two stacked layers of 378, with as many "
        f"weights, {one(stacked)}",
        dense < stacked,
    )
    yield Quoted("19.6 million words of film reviews", "tokens of imdb_raw's training text, as train prints them")


def _elsewhere() -> Iterator[Claim | Quoted]:
    """Yield the claims of the corpora on which only ``dc_bilstm`` was run."""
    both = [[_score(name, start, "dc_bilstm") for start in ("context", "scratch")] for name in _ELSEWHERE]
    (mr, mr_plain), (subj, subj_plain), (sst1, sst1_plain) = both
    yield Claim(
        f"{mr} % on MR, where it has {mr_plain} from scratch, {subj} % on Subj ({subj_plain}) and {sst1} % on SST-1 "
        f"({sst1_plain})",
    )
    gains = [_beside_scratch(name, "dc_bilstm") for name in _ELSEWHERE[:2]]
    yield Claim("Both intervals contain zero", all(map(level, gains)))
    told = ", ".join(f"{score} on {_NAMES[name]}" for name, score in _PAPERS.items())
    best = {name: max(Decimal(row["accuracy_mean"]) for row in rows("pretraining", dataset=name)) for name in _PAPERS}
    yield Claim(
        f"Every score here is below the best of the papers: {told}", all(best[n] < Decimal(_PAPERS[n]) for n in best)
    )


def _few_labels() -> Iterator[Claim | Quoted]:
    """Yield the claims of the curves."""

    def score(dataset: str, size: str, start: str) -> Decimal:
        return number("pretraining_curves", "accuracy_mean", dataset=dataset, texts=size, start=start)

    def told(dataset: str, size: str) -> str:
        scores = (one(score(dataset, size, start)) for start in ("fine-tuned", "context", "from scratch"))
        return "{} % fine-tuned, {} with context and {} from scratch".format(*scores)

    yield Claim(
        f"With 100 labelled sentences of SST-2 it has {told('sst2', '100')}; with 500, {told('sst2', '500')}; "
        f"with 2,000, {told('sst2', '2000')}"
    )
    yield Claim(
        f"On TREC, with 100 questions, {told('trec', '100')}; with 500, {told('trec', '500')}; "
        f"with 2,000, {told('trec', '2000')}"
    )

    def gain(dataset: str, size: str, start: str) -> tuple[float, float, float]:
        ways = ({"dataset": dataset, "texts": size, "start": way} for way in (start, "from scratch"))
        return interval("pretraining_curves", "accuracies", *ways)

    gains = {names: gain(*names) for names in itertools.product(_CURVES, _SIZES, ("fine-tuned", "context"))}
    above = {names for names, (_, low, _) in gains.items() if low > 0}
    few = {names[:2]: mean for names, (mean, _, _) in gains.items() if names[2] == "context"}
    every = [
        _beside_scratch(found["dataset"], found["model"])[0]
        for found in rows("pretraining", start="context")
        if rows("pretraining", start="scratch", dataset=found["dataset"], model=found["model"])
    ]
    yield Claim(
        f"add {span(few.values())} points with 100 to 2,000 labels of SST-2 or TREC, of which only the "
        f"{one(few['sst2', '2000'])} with 2,000 of SST-2 are beyond chance, and {span(every)} with all labels of "
        "a corpus",
        [names for names in above if names[2] == "context"] == [("sst2", "2000", "context")],
    )
    yield Claim(
        "On SST-2 the intervals of fine-tuning with 100 and 2,000 labels and of context with 2,000 lie above zero; all "
        "others contain it",
        above == {("sst2", "100", "fine-tuned"), ("sst2", "2000", "fine-tuned"), ("sst2", "2000", "context")}
        and all(level(found) for names, found in gains.items() if names not in above),
    )


def _score(dataset: str, start: str, model: str) -> str:
    return f"{number('pretraining', 'accuracy_mean', dataset=dataset, start=start, model=model):.2f}"


def _scores(dataset: str) -> str:
    return " and ".join(f"{_score(dataset, 'context', model)} %" for model in _MODELS)


def _ahead_on_dev(dataset: str) -> bool:
    """Return whether both rows with context are ahead of every other row of a corpus on dev."""
    found = {start: rows("pretraining", dataset=dataset, start=start) for start in ("context", "scratch", "fine-tuned")}
    dev = {start: [Decimal(row["dev_accuracy_mean"]) for row in its] for start, its in found.items()}
    return min(dev["context"]) > max(*dev["scratch"], *dev["fine-tuned"])


def _best_on_dev(dataset: str) -> tuple[str, str]:
    best = max(rows("pretraining", dataset=dataset), key=lambda row: Decimal(row["dev_accuracy_mean"]))
    return best["start"], best["model"]


def _beside_scratch(dataset: str, model: str) -> tuple[float, float, float]:
    """Return how far a model with raw text is from itself from scratch; ``lm_classifier`` from ``dc_bilstm``."""
    start, plain = ("fine-tuned", "dc_bilstm") if model == "lm_classifier" else ("context", model)
    ways = ((start, model), ("scratch", plain))
    return interval("pretraining", "accuracies", *({"dataset": dataset, "start": s, "model": m} for s, m in ways))
