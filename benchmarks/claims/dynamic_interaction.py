"""What results/README.md says of the routing of Xie et al. 2019."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from benchmarks.claims.rows import Claim, Quoted, interval, level, number, one, row, span

_POOLINGS = ("mean", "constant", "position", "vector")


def _beside(named: dict[str, str], pooling: str, other: str) -> tuple[float, float, float]:
    """Return how far one pooling is from another in rows that are alike otherwise, with the interval."""
    return interval("dynamic_interaction", "accuracies", *({**named, "pooling": name} for name in (pooling, other)))


def dynamic_interaction() -> Iterator[Claim | Quoted]:
    """Yield the claims of Dynamic interaction."""

    def beside(dataset: str, encoder: str, pooling: str, other: str) -> tuple[float, float, float]:
        return _beside({"dataset": dataset, "encoder": encoder, "settings": ""}, pooling, other)

    def gains(dataset: str, pooling: str) -> str:
        return " and ".join(one(abs(beside(dataset, e, pooling, "constant")[0])) for e in ("stack", "dense"))

    tried = [(d, e, p) for d in ("trec", "sst2") for e in ("stack", "dense") for p in ("position", "vector", "dsa")]
    kept = [names for names in tried if names[0] == "sst2" or names[2] == "position"]
    routing = [beside(*names, "constant") for names in kept]
    means = [beside(*names, "mean") for names in kept]
    yield Claim("every interval contains zero", all(map(level, routing + means)))
    yield Claim(
        f"`position` is {gains('trec', 'position')} points lower on TREC, {gains('sst2', 'position')} higher on SST-2, "
        f"and `vector` {gains('sst2', 'vector')} higher"
    )
    projections = {(d, e): beside(d, e, "constant", "mean")[0] for d in ("trec", "sst2") for e in ("stack", "dense")}
    gain = projections.pop(("trec", "dense"))
    yield Claim(
        f"they are {one(gain)} points higher over DC-Bi-LSTM on TREC and "
        f"{span(-loss for loss in projections.values())} lower elsewhere, again within chance"
    )
    weighed = (beside(*names, "constant") for names in kept if names[2] != "dsa")
    halves = sorted((high - low) / 2 for _, low, high in weighed)
    yield Claim(
        f"Most intervals are wide: {one(halves[1])} to {one(halves[-1])} points either way for the difference "
        "from `constant`"
    )
    yield from _routing_over_frozen_vectors()
    yield Quoted(
        "over its own DC-Bi-LSTM from 89.3 to 89.9 on SST-2 and from 94.8 to 96.5 on TREC; over the stack, means of "
        "four, from 86.8 to 88.0 and from 94.0 to 94.8",
        "Xie et al. 2019, Tables 2 and 3",
    )


def _routing_over_frozen_vectors() -> Iterator[Claim]:
    """Yield the claims of the rows with frozen vectors: the stack on TREC."""
    named = {"dataset": "trec", "encoder": "stack", "settings": "trainable_embeddings=false"}
    found = {pooling: row("dynamic_interaction", **named, pooling=pooling) for pooling in _POOLINGS}
    mean, constant, position, vector = (one(each["accuracy_mean"]) for each in found.values())
    yield Claim(
        f"the stack has {mean} % on TREC with the mean, {constant} with `constant`, {position} with `position` and "
        f"{vector} with `vector`"
    )
    routed = [_beside(named, pooling, "constant") for pooling in ("position", "vector")]
    told = [f"{one(mean)} ({one(low)} to {one(high)})" for mean, low, high in routed]
    others = [_beside(named, pooling, "mean") for pooling in ("constant", "position", "vector")]
    yield Claim(
        f"Beside `constant`, `position` is {told[0]} and `vector` {told[1]} points away; all intervals, also beside "
        "the mean, contain zero",
        all(map(level, routed + others)),
    )
    epochs = [int(epoch) for each in found.values() for epoch in each["best_epochs"].split()]
    yield Claim(f"the best epoch is the {min(epochs)}th to {max(epochs)}th")
    searched = {"model": "di_bilstm", "vectors": "zoo_300d"}
    dev = {
        (dataset, settings): number(
            "recipe_search", "dev_accuracy_mean", dataset=dataset, settings=settings, **searched
        )
        for dataset in ("sst2", "trec")
        for settings in ("", "trainable_embeddings=false")
    }
    gains = [one(dev[dataset, "trainable_embeddings=false"] - dev[dataset, ""]) for dataset in ("sst2", "trec")]
    yield Claim(f"frozen vectors are worth {gains[0]} points to `di_bilstm` on SST-2 and {gains[1]} on TREC")
    trained = row("dynamic_interaction", **{**named, "settings": ""}, pooling="mean")
    gain = Decimal(found["mean"]["accuracy_mean"]) - Decimal(trained["accuracy_mean"])
    yield Claim(f"{one(gain)} points more than with trained vectors of film reviews")
