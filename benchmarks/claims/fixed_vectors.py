"""What results/README.md says of classifiers with frozen word vectors."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from benchmarks.claims.rows import Claim, interval, level, number, one, row, rows, span

_NAMES = {"sst2": "SST-2", "sst1": "SST-1", "trec": "TREC", "cr": "CR", "mr": "MR", "subj": "Subj"}
_MODELS = ("lstm", "bilstm", "dc_bilstm", "cnn_mc")
_FILE = "classification_fixed"


def score(dataset: str, model: str) -> Decimal:
    """Return the test accuracy of a classifier with the zoo's frozen vectors."""
    return number(_FILE, "accuracy_mean", dataset=dataset, model=model)


def _beside(dataset: str, model: str, other: str = "bilstm") -> tuple[float, float, float]:
    return interval(_FILE, "accuracies", *({"dataset": dataset, "model": name} for name in (model, other)))


def _ahead_on_dev(dataset: str) -> bool:
    found = {each["model"]: Decimal(each["dev_accuracy_mean"]) for each in rows(_FILE, dataset=dataset)}
    return max(found, key=lambda model: found[model]) == "dc_bilstm"


def _told(found: tuple[float, float, float]) -> str:
    mean, low, high = (one(value) for value in found)
    return f"{mean} points, {low} to {high}"


def _dev(dataset: str, model: str, settings: str) -> Decimal:
    return number(
        "recipe_search", "dev_accuracy_mean", dataset=dataset, model=model, settings=settings, vectors="zoo_300d"
    )


def fixed_vectors() -> Iterator[Claim]:
    """Yield the claims of With frozen word vectors."""
    dense = {dataset: _beside(dataset, "dc_bilstm") for dataset in _NAMES}
    *told, last = (f"{one(mean)} on {_NAMES[name]}" for name, (mean, _, _) in dense.items())
    yield Claim(f"On test its differences from the Bi-LSTM of equal size are, in points, {', '.join(told)} and {last}")
    yield Claim(
        "on the dev texts of all six corpora, DC-Bi-LSTM is the best of the models",
        all(_ahead_on_dev(dataset) for dataset in _NAMES),
    )
    yield Claim(
        "DC-Bi-LSTM is the best of the models on the dev texts of six corpora. On test it is level with the Bi-LSTM of "
        "equal size on each, and on SST-2 above all the others",
        all(level(found) for found in dense.values())
        and all(
            _beside("sst2", "dc_bilstm", each["model"])[1] > 0
            for each in rows(_FILE, dataset="sst2")
            if each["model"] not in ("dc_bilstm", "bilstm")
        ),
    )
    others = {(r["dataset"], r["model"]): _beside(r["dataset"], r["model"]) for r in rows(_FILE)}
    others = {names: found for names, found in others.items() if names[1] != "bilstm"}
    apart = {names for names, found in others.items() if not level(found)}
    yield Claim(
        f"Every interval contains zero but two on CR: that of the LSTM ({_told(others['cr', 'lstm'])}), which reads "
        "one way and has half the weights, and that of the residual stack",
        apart == {("cr", "lstm"), ("cr", "residual_bilstm")},
    )
    again = [trained_again(dataset) for dataset in ("sst2", "trec")]
    dev = one(number(_FILE, "dev_accuracy_mean", dataset="sst2", model="dc_bilstm"))
    table = {"dataset": "sst2", "settings": "trainable_embeddings=false"}
    both = {one(number("ding2018_table3", "dev_mean", recipe=name, **table)) for name in _SAME}
    yield Claim(
        f"the Bi-LSTM has {dev} % on SST-2's dev texts, as DC-Bi-LSTM has in both, and on test DC-Bi-LSTM is "
        f"{one(again[0][0])} points above it on SST-2 and {one(-again[1][0])} below it on TREC",
        both == {dev},
    )
    best = {d: max(_MODELS, key=lambda model, d=d: score(d, model)) for d in _NAMES}
    *shown, last = (f"{one(score(d, m))} % on {_NAMES[d]} (`{m}`)" for d, m in best.items())
    yield Claim(f"The best scores are {', '.join(shown)} and {last}")
    quick, slow = (number(_FILE, "seconds_median", dataset="sst2", model=model) for model in ("cnn_mc", "bilstm"))
    yield Claim("train on SST-2 in less than half the time of a Bi-LSTM", quick < slow / 2)
    yield from _recipes()
    yield from _linear()


def _recipes() -> Iterator[Claim]:
    """Yield what was chosen on dev."""
    fast, slow = "learning_rate=0.005", "learning_rate=0.002"
    sums = {
        (model, rate): sum(_dev(dataset, model, rate) for dataset in ("sst2", "trec"))
        for model in ("lstm", "bilstm", "dc_bilstm", "stacked_bilstm", "residual_bilstm")
        for rate in (fast, slow)
    }
    chosen = {model: max((fast, slow), key=lambda rate, m=model: sums[m, rate]) for model, _ in sums}
    deep = ("stacked_bilstm", "residual_bilstm")
    yield Claim(
        "at a rate of 0.005, and stacks of eight layers at 0.002",
        all(rate == (slow if model in deep else fast) for model, rate in chosen.items()),
    )
    at_fast, at_slow = ([_dev(d, "stacked_bilstm", rate) for d in ("sst2", "trec")] for rate in (fast, slow))
    yield Claim(
        f"At 0.005 a stack of eight Bi-LSTMs does not learn: {one(at_fast[0])} % on SST-2's dev texts and "
        f"{one(at_fast[1])} % on TREC's. At 0.002 it has {one(at_slow[0])} and {one(at_slow[1])} %"
    )
    found = row(_FILE, dataset="trec", model="stacked_bilstm")
    last = [int(epoch) for epoch in found["best_epochs"].split()]
    below = [one(-_beside(d, "stacked_bilstm")[0]) for d in ("sst2", "trec")]
    yield Claim(
        f"on SST-2 it is {below[0]} points below the Bi-LSTM, and on TREC's test questions {below[1]} points below, at "
        "its best in the last four of 30 epochs",
        min(last) >= 27,
    )
    yield from _deep()
    yield from _deep_on_cr()
    kept = "trainable_embeddings=false"
    gains = [_dev(d, "cnn_mc", kept) - _dev(d, "cnn_mc", "") for d in ("sst2", "trec")]
    yield Claim(f"worth {one(gains[0])} points on SST-2's dev texts to the convolutions, and {one(gains[1])} on TREC's")


def _deep() -> Iterator[Claim]:
    """Yield what is said of eight layers beside DC-Bi-LSTM."""
    corpora = ("sst2", "trec", "subj", "mr")
    scores = [one(score(dataset, "residual_bilstm")) for dataset in corpora]
    yield Claim(
        f"With residual links, eight layers are level with the Bi-LSTM: {scores[0]} % on SST-2, {scores[1]} % on TREC, "
        f"{scores[2]} % on Subj and {scores[3]} % on MR",
        all(level(_beside(dataset, "residual_bilstm")) for dataset in corpora),
    )
    plain, deep_trec = (_beside(dataset, "dc_bilstm", "stacked_bilstm") for dataset in ("sst2", "trec"))
    residual, on_trec = (_beside(dataset, "dc_bilstm", "residual_bilstm") for dataset in ("sst2", "trec"))
    weights = {m: number(_FILE, "encoder_parameters", dataset="sst2", model=m) for m in ("dc_bilstm", "stacked_bilstm")}
    told = [[one(value) for value in found] for found in (plain, deep_trec, residual)]
    yield Claim(
        f"DC-Bi-LSTM, with two thirds of their weights, is above the plain stack by {told[0][0]} points on SST-2 "
        f"({told[0][1]} to {told[0][2]}) and by {told[1][0]} on TREC ({told[1][1]} to {told[1][2]}), and above the "
        f"residual one by {told[2][0]} on SST-2 ({told[2][1]} to {told[2][2]}); its {one(on_trec[0])} points "
        "on TREC may be chance",
        not any(level(found) for found in (plain, deep_trec, residual))
        and level(on_trec)
        and round(weights["dc_bilstm"] / weights["stacked_bilstm"], 1) == Decimal("0.7"),
    )


def _deep_on_cr() -> Iterator[Claim]:
    less, least, most = (one(-value) for value in _beside("cr", "residual_bilstm"))
    folds = str(row(_FILE, dataset="cr", model="stacked_bilstm")["accuracies"]).split()
    residual, plain = (one(score("cr", model)) for model in ("residual_bilstm", "stacked_bilstm"))
    yield Claim(
        f"On CR the stack with residual links has {residual} %, {less} points less than one layer ({most} to {least}); "
        f"the plain one does not learn in two of five folds ({one(min(folds))} %), and has {plain} %",
        folds.count(min(folds)) == 2 and len(folds) == 5,
    )


_SAME = ("ding2018_table3_15x13", "ding2018_table3_0x10")  # DC-Bi-LSTM and the Bi-LSTM of equal size


def trained_again(dataset: str) -> tuple[float, float, float]:
    """Return how far DC-Bi-LSTM is from the Bi-LSTM of equal size in Table 3, which trains both again."""
    at = {"dataset": dataset, "settings": "trainable_embeddings=false"}
    return interval("ding2018_table3", "scores", *({**at, "recipe": name} for name in _SAME))


def _linear() -> Iterator[Claim]:
    gains = _beyond_linear()
    *told, last = (f"{span(gains[dataset])} on {_NAMES[dataset]}" for dataset in _NAMES)
    yield Claim(
        f"All models but the deep stacks are above NB-SVM on the same texts, by {', '.join(told)} and {last}",
        min(above_linear()) > 0,
    )


def _beyond_linear() -> dict[str, list[Decimal]]:
    """Return how far each model but the deep stacks is from ``nb_svm``, by corpus: on the folds that it was run on."""
    return {dataset: [_above_linear(dataset, model) for model in _MODELS] for dataset in _NAMES}


def _above_linear(dataset: str, model: str) -> Decimal:
    found = [Decimal(score) for score in row(_FILE, dataset=dataset, model=model)["accuracies"].split()]
    linear = row("classification", dataset=dataset, model="nb_svm")
    scores = [Decimal(score) for score in linear["accuracies"].split()][: len(found)]
    return sum(found) / len(found) - sum(scores) / len(scores)


def above_linear() -> list[Decimal]:
    """Return how far each model but the deep stacks is from ``nb_svm`` on each corpus."""
    return [gain for gains in _beyond_linear().values() for gain in gains]
