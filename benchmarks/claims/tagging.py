"""What results/README.md says of taggers."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from benchmarks.claims.rows import Claim, Quoted, interval, level, number, one, row, rows, span

_KINDS = ("outputs", "internals", "gated_internals", "gates", "gated_sigmoid")


def _score(model: str, settings: str, dataset: str = "ewt_upos", column: str = "accuracy_mean") -> Decimal:
    return number("tagging", column, dataset=dataset, model=model, settings=settings)


def _small(layers: int, model: str = "gated_skip_tagger", **settings: Any) -> Decimal:
    """Return the score of a tagger of 64 units after 8 epochs."""
    extra = "".join(f" {name}={value}" for name, value in settings.items())
    return _score(model, f"num_layers={layers} units=64 epochs=8{extra}")


def _deep(layers: int, model: str, dataset: str = "ewt_upos") -> Decimal:
    return _score(model, f"num_layers={layers}", dataset)


def _f1(layers: int, model: str, crf: str = "") -> Decimal:
    return _score(model, f"num_layers={layers}{crf}", "conll2000", "f1_mean")


def tagging() -> Iterator[Claim | Quoted]:
    """Yield the claims of Tagging."""
    lost = _deep(1, "bilstm_tagger") - _deep(7, "bilstm_tagger")
    yield Claim(f"seven layers without them are {one(lost)} points below one layer on coarse parts of speech")
    yield Claim(f"seven layers without skips are {one(lost)} points below one")
    gated, plain = (
        {"dataset": "ewt_upos", "model": f"{m}_tagger", "settings": f"num_layers={n}"}
        for m, n in (("gated_skip", 7), ("bilstm", 1))
    )
    weights = [int(row("tagging", **each)["encoder_parameters"]) for each in (gated, plain)]
    _, low, high = interval("tagging", "scores", gated, plain)
    yield Claim(
        "with skips, seven layers are level with one, for nearly three times the weights",
        low < 0 < high and 2.5 < weights[0] / weights[1] < 3,
    )
    fine = [_deep(n, f"{m}_tagger", "ewt_xpos") for n, m in ((1, "bilstm"), (7, "bilstm"), (7, "gated_skip"))]
    yield Claim(
        f"seven layers are {one(fine[0] - fine[1])} points below one layer without skips, {fine[2] - fine[0]:.2f} "
        "above it with them"
    )
    yield from _depths()
    yield from _skips()
    yield from _at_the_papers_width()
    yield from _chunks()
    yield Quoted("(94.67 and 94.69, on CCGbank's 1,286 tags)", "Wu et al. 2016, Table 4")
    yield Quoted("without a gate is last (93.98) and with one among the first (94.67)", "Wu et al. 2016, Table 1")
    yield Quoted("where the paper loses 0.7", "Wu et al. 2016, Table 3")


def _depths() -> Iterator[Claim]:
    without = [one(_small(layers, "bilstm_tagger")) for layers in (1, 3, 5, 7, 9, 11)]
    reached = {one(_small(1, "bilstm_tagger")), *(one(_small(layers)) for layers in (3, 5, 7, 9))}
    yield Claim(
        f"1, 3, 5, 7 and 9 layers with gated skips all reach {one(_small(7))}, and 11 layers {one(_small(11))}",
        reached == {one(_small(7))},
    )
    yield Claim(
        f"Without them it is {', '.join(without[:4])} and {without[4]}, and eleven layers learn next to nothing "
        f"({without[5]})"
    )


def _skips() -> Iterator[Claim]:
    skip = {kind: _small(7, skip=kind) for kind in _KINDS}
    gated, none, single = _small(7), _small(7, "bilstm_tagger"), _small(1, "bilstm_tagger")
    ahead = [score - none for score in (gated, *skip.values())]
    yield Claim(
        f"to the output without a gate ({one(skip['outputs'])}), then with its gate ({one(gated)}), to the internals "
        f"({one(skip['internals'])}), those with a gate ({one(skip['gated_internals'])}), to the gates "
        f"({one(skip['gates'])}), the gate with a sigmoid ({one(skip['gated_sigmoid'])}); without skips {one(none)}"
    )
    yield Claim(
        f"A recurrent highway network is at {one(_score('rhn_tagger', 'depth=3 units=64 epochs=8'))}, a highway LSTM "
        f"at {one(_small(7, 'highway_tagger'))}, one plain layer at {one(single)}"
    )
    small = {"dataset": "ewt_upos", "model": "bilstm_tagger", "settings": "num_layers=7 units=64 epochs=8"}
    settings = [small["settings"], *(f"{small['settings']} skip={kind}" for kind in _KINDS)]
    beside = [
        interval("tagging", "scores", {**small, "model": "gated_skip_tagger", "settings": each}, small)
        for each in settings
    ]
    yield Claim(
        f"every skip is ahead of none, by {span(ahead)} points, though with two seeds every interval contains zero",
        all(map(level, beside)),
    )
    yield Claim(
        "Of the skips, only the output without a gate is ahead of one layer",
        [kind for kind, score in skip.items() if score > single] == ["outputs"] and gated < single,
    )
    no_ends, no_dropout = (gated - _small(7, **each) for each in ({"char_dim": 0}, {"dropout": "0 window_dropout=0"}))
    yield Claim(
        f"seven gated layers lose {one(no_ends)} points, as in the paper; without dropout they also lose "
        f"{one(no_dropout)}",
        one(no_ends) == one(no_dropout),
    )
    yield Claim(f"trained to the end, seven plain layers of 128 units reach {one(_deep(7, 'bilstm_tagger'))}")


def _wide(layers: int, skip: str, column: str = "accuracy_mean") -> Decimal:
    batches = "batch_size=32 epochs=12 trainable_embeddings=false dtype=mixed_bfloat16"
    return _score("gated_skip_tagger", f"num_layers={layers} skip={skip} {batches}", column=column)


def _at_the_papers_width() -> Iterator[Claim | Quoted]:
    single, plain, gated = (1, "none"), (7, "none"), (7, "gated_outputs")
    weights = [_wide(*which, "encoder_parameters") for which in (single, gated)]
    yield Claim(
        f"one layer reaches {one(_wide(*single))}, seven with gated skips {one(_wide(*gated))}, "
        f"{one(_wide(*single) - _wide(*gated))} points less, for six times the weights; seven without skips learn "
        f"next to nothing ({one(_wide(*plain))})",
        round(weights[1] / weights[0]) == 6,
    )
    yield Quoted("SGD at 0.02", "Wu et al. 2016, section 6.1.2")
    best = [_wide(*which, "best_epochs") for which in (single, gated)]
    ours = min(_deep(1, "bilstm_tagger"), _deep(7, "gated_skip_tagger"))
    yield Claim(
        "Both are at their best after eleven of the twelve epochs, and below the smaller models of our own recipe",
        best == [11, 11] and ours > _wide(*single) > _wide(*gated),
    )


def _chunks() -> Iterator[Claim]:
    def gains(model: str) -> list[Decimal]:
        """How far seven layers are from one in F1, without and with a conditional random field."""
        return [_f1(7, model, crf) - _f1(1, "bilstm_tagger", crf) for crf in ("", " crf=true")]

    def adds(layers: int, model: str) -> Decimal:
        return _f1(layers, model, " crf=true") - _f1(layers, model)

    yield Claim(
        f"seven layers gain {span(gains('gated_skip_tagger'))} points of F1 with skips and lose "
        f"{span(-loss for loss in gains('bilstm_tagger'))} without"
    )
    every = rows("tagging", dataset="conll2000")
    higher = [Decimal(each["dev_accuracy_mean"]) - Decimal(each["accuracy_mean"]) for each in every]
    yield Claim(f"Accuracy is {span(higher)} points higher on dev than on test")
    below = max(_f1(1, "bilstm_tagger"), _f1(7, "gated_skip_tagger")) < 93
    yield Claim(
        f"random field adds {one(adds(1, 'bilstm_tagger'))} points over one layer, "
        f"{one(adds(7, 'gated_skip_tagger'))} over seven with skips; without it both stay below 93",
        below,
    )
