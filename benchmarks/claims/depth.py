"""What results/README.md says of Ding et al. 2018's tables of depth and width."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.claims.rows import Claim, interval, level, number, one, row, rows, span

_FROZEN = "trainable_embeddings=false"


def _epochs(file: str, settings: str) -> list[int]:
    """Return the best epochs of all runs."""
    return [int(epoch) for found in rows(file, settings=settings) for epoch in found["best_epochs"].split()]


def _beside_the_first(dataset: str) -> dict[str, tuple[float, float, float]]:
    """Return how each frozen row of Table 3 differs from the one without dense layers, by depth and width."""
    first, *others = [
        {"dataset": dataset, "recipe": found["recipe"], "settings": _FROZEN}
        for found in rows("ding2018_table3", dataset=dataset, settings=_FROZEN)
    ]
    names = [wanted["recipe"].removeprefix("ding2018_table3_") for wanted in others]
    return {
        name: interval("ding2018_table3", "scores", wanted, first) for name, wanted in zip(names, others, strict=True)
    }


def _equal_size() -> Iterator[Claim]:
    sst2, trec = _beside_the_first("sst2"), _beside_the_first("trec")
    most = max(abs(mean) for mean, _, _ in trec.values())
    yield Claim(
        f"at equal size, the rows differ by {span(mean for mean, _, _ in sst2.values())} points on SST-2, and by no "
        f"more than {one(most)} on TREC",
        len(sst2) == len(trec) == 4 and all(level(found) for found in (*sst2.values(), *trec.values())),
    )
    (mean, low, high), narrow = map(one, sst2["10x20"]), [one(value) for value in sst2["15x13"]]
    yield Claim(
        f"the best row is 10 x 20, {mean} points above the Bi-LSTM ({low} to {high}); 15 x 13 is {narrow[0]} points "
        f"above ({narrow[1]} to {narrow[2]})",
        max(sst2, key=lambda name: sst2[name][0]) == "10x20",
    )
    first, *others = [found["score_mean"] for found in rows("ding2018_table3", dataset="trec", settings=_FROZEN)]
    widest = max(trec, key=lambda name: trec[name][2] - trec[name][1])
    _, low, high = map(one, trec[widest])
    yield Claim(
        f"On TREC, the Bi-LSTM has {one(first)} % and the others {span(others)}; the widest interval is that of "
        f"{widest.replace('x', ' x ')} ({low} to {high})"
    )


def _trained_twice() -> Iterator[Claim]:
    """Yield what is said of the network that is in both tables."""

    def scores(table: str, settings: str) -> list[str]:
        return str(row(table, dataset="sst2", recipe=f"{table}_20x10", settings=settings)["scores"]).split()

    tables = ("ding2018_table3", "ding2018_table4")
    trained, frozen = ([scores(table, settings) for table in tables] for settings in ("", _FROZEN))
    yield Claim(
        "it gave the same scores to the last digit; with frozen ones, on two machines, so did two of three seeds",
        trained[0] == trained[1] and sum(one == other for one, other in zip(*frozen, strict=True)) == 2,
    )


def _wider() -> dict[int, tuple[float, float, float]]:
    """Return how each row of Table 5 differs from the one without dense layers, by its width."""
    first, *others = (
        {"recipe": found["recipe"], "settings": _FROZEN} for found in rows("ding2018_table5", settings=_FROZEN)
    )
    return {
        int(wanted["recipe"].rpartition("x")[2]): interval("ding2018_table5", "scores", wanted, first)
        for wanted in others
    }


def _at_ten_layers(wider: dict[int, tuple[float, float, float]]) -> Iterator[Claim]:
    fifth = {
        width: row("ding2018_table5", recipe=f"ding2018_table5_10x{width}", settings=_FROZEN) for width in (0, *wider)
    }
    gains = span(found[0] for found in wider.values())
    yield Claim(f"and ten layers of any width {gains}")
    yield Claim(f"Ten dense layers are {gains} points better than none, whatever their width")
    weights = int(fifth[5]["encoder_parameters"]) - int(fifth[0]["encoder_parameters"])
    _, low, high = map(one, wider[5])
    yield Claim(
        f"At a width of 5 the interval does not contain zero ({low} to {high}), with {weights:,} weights more",
        not level(wider[5]),
    )
    gain, most = (float(fifth[width]["paper"]) - float(fifth[0]["paper"]) for width in (5, 20))
    yield Claim(f"In the paper that row gains {one(gain)}, and the widest {one(most)}")
    same = {0: "ding2018_table4_0x10", 10: "ding2018_table4_10x10", 20: "ding2018_table3_10x20"}
    yield Claim(
        "The rows of width 0, 10 and 20 are networks of the two tables above: trained again, they gave the same scores "
        "to the last digit",
        all(
            fifth[width]["scores"]
            == row(name.rpartition("_")[0], dataset="sst2", recipe=name, settings=_FROZEN)["scores"]
            for width, name in same.items()
        ),
    )


def depth_against_width() -> Iterator[Claim]:
    """Yield the claims of Depth against width."""
    third = {
        name: {"recipe": f"ding2018_table3_{name}", "settings": ""}
        for name in ("0x10", "5x40", "10x20", "15x13", "20x10")
    }
    fourth = {depth: {"recipe": f"ding2018_table4_{depth}x10", "settings": ""} for depth in (0, 5, 10, 15, 20)}
    beside = [interval("ding2018_table3", "scores", third[name], third["0x10"]) for name in list(third)[1:]]
    beside += [interval("ding2018_table4", "scores", fourth[depth], fourth[0]) for depth in list(fourth)[1:]]
    frozen = {depth: {**wanted, "settings": _FROZEN} for depth, wanted in fourth.items()}
    deeper = [interval("ding2018_table4", "scores", frozen[depth], frozen[0]) for depth in list(frozen)[1:]]
    every = [*beside, *deeper, *_beside_the_first("sst2").values(), *_beside_the_first("trec").values()]
    wider = _wider()
    yield Claim(
        f"beside the row without dense layers, every interval contains zero but one of {len(every) + len(wider)} (10 x "
        "10 is in two of the tables)",
        all(level(found) for found in every) and sum(not level(found) for found in wider.values()) == 1,
    )
    yield from _at_ten_layers(wider)
    yield Claim("no row differs from it by more than half a point", all(abs(found[0]) <= 0.5 for found in beside))
    yield Claim(f"dense layers of width ten add {span(found[0] for found in deeper)} points there")
    gains = [
        number("ding2018_table4", "score_mean", **frozen[depth])
        - number("ding2018_table4", "score_mean", **fourth[depth])
        for depth in fourth
    ]
    yield Claim(f"every row is {span(gains)} points better")
    third_gains = [
        number("ding2018_table3", "score_mean", dataset="sst2", recipe=wanted["recipe"], settings=_FROZEN)
        - number("ding2018_table3", "score_mean", **wanted)
        for wanted in third.values()
    ]
    yield Claim(
        "where every model is one to three points better on SST-2",
        {round(gain) for gain in gains + third_gains} == {1, 2, 3},
    )
    yield from _trained_twice()
    best_frozen = _epochs("ding2018_table4", _FROZEN)
    yield Claim(f"the best epoch is the {min(best_frozen)}th to the {max(best_frozen)}nd")
    five, ten, fifteen, twenty = ([one(value) for value in found] for found in deeper)
    published = number("ding2018_table4", "paper", **fourth[20]) - number("ding2018_table4", "paper", **fourth[0])
    yield Claim(
        f"Depth gains more there, {five[0]} points at 5 ({five[1]} to {five[2]}) and at 10 layers ({ten[1]} to "
        f"{ten[2]}), {fifteen[0]} at 15 ({fifteen[1]} to {fifteen[2]}), {twenty[0]} at 20 ({twenty[1]} to {twenty[2]})",
        five[0] == ten[0],
    )
    yield Claim(f"in the paper 20 layers gain {one(published)}")
    yield from _equal_size()
    mean, low, high = map(one, beside[0])
    best = max(third, key=lambda name: number("ding2018_table3", "score_mean", **third[name]))
    yield Claim(
        f"With trained vectors the best row, 5 x 40, is {mean} points above the Bi-LSTM ({low} to {high})",
        best == "5x40",
    )
    shallow, deep = (number("ding2018_table3", "paper", **third[name]) for name in ("0x10", "15x13"))
    yield Claim(f"In the paper 15 x 13 is {one(deep - shallow)} points above")
    yield Claim(f"gains no more than half a point ({one(beside[-1][1])} to {one(beside[-1][2])})")
    weights = [int(row("ding2018_table4", **fourth[depth])["encoder_parameters"]) for depth in (0, 20)]
    yield Claim(f"though it adds up to {one((weights[1] - weights[0]) / 1e6)} million weights")
    epochs = _epochs("ding2018_table3", "")
    yield Claim("every model is then at its best on dev after one to three epochs", max(epochs) == 3)
