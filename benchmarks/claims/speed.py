"""What results/README.md says of speed and memory."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from benchmarks.claims.rows import Claim, Quoted, number, one, row, rows

_AIMS = {"200": "2.5", "32": "4", "1": "12"}


def _ratio(name: str, batch: str, peer: str) -> Decimal:
    return number("speed_cpu", "ratio", name=name, batch=batch, peer=peer, kernel="")


def _least(name: str, peer: str) -> Decimal:
    return min(Decimal(found["ratio"]) for found in rows("speed_cpu", name=name, peer=peer, kernel=""))


def speed() -> Iterator[Claim | Quoted]:
    """Yield the claims of Speed."""
    yield Claim("trains at least twice as fast as", _least("train", "keras") >= 2)
    yield Claim("predicts at least 1.5 times as fast", _least("predict", "keras") >= Decimal("1.5"))
    yield Claim(
        "PyTorch is slower in training and in prediction at every batch size",
        _least("train", "torch") > 1 and _least("predict", "torch") > 1,
    )
    found = {(name, batch): _ratio(name, batch, "torch") for name in ("train", "predict") for batch in _AIMS}
    below = {key: value for key, value in found.items() if value < Decimal("1.5")}
    first, second, third = found["train", "1"], found["predict", "200"], found["predict", "32"]
    yield Claim(
        f"PyTorch is not reached with one text in training ({first:.2f}x, aimed at 1.5x) and with 200 and 32 in "
        f"prediction ({second:.2f}x and {third:.2f}x)",
        set(below) == {("train", "1"), ("predict", "200"), ("predict", "32")}
        and all(_ratio("train", batch, "keras") >= Decimal(aim) for batch, aim in _AIMS.items()),
    )
    single, half = (_ratio(name, "20", "keras") for name in ("language_model", "language_model_bfloat16"))
    yield Claim(f"({single:.2f}x and, in bfloat16, {half:.2f}x; aimed at 1.6x and 2x)", single < 1.6 and half < 2)
    pooling = _ratio("pooling", "200", "keras")
    yield Claim(f"over 200 sentences is level with its peer ({pooling:.2f}x)", abs(pooling - 1) < Decimal("0.05"))
    looped = _ratio("pooling", "32", "keras")
    yield Claim(
        f"which is {looped:.2f} times as fast as a loop over them in batches of 32, and level with it in "
        "batches of 200",
        abs(pooling - 1) < Decimal("0.05"),
    )
    exported = row("speed_cpu", name="predict", batch="1", peer="keras", kernel="native")
    model = row("speed_cpu", name="language_model", batch="20", peer="keras", kernel="")
    floors = " and ".join(f"{float(each['floor']):g}x" for each in (exported, model))
    yield Claim(
        f"the kernel of exported graphs and one text ({float(exported['ratio']):.2f}x, aimed at "
        f"{float(exported['aim']):g}x). "
        f"The last and the language model ({single:.2f}x) are below their floors, {floors}",
        all(Decimal(each["ratio"]) < Decimal(each["floor"]) for each in (exported, model)),
    )
    yield from _limits()


def _limits() -> Iterator[Claim | Quoted]:
    def share(network: str, batch: str, column: str = "share_of_peak", work: str = "whole step") -> float:
        return float(row("profile", network=network, batch=batch, work=work)[column])

    near, middle, far = (share("classifier", batch) for batch in ("200", "32", "1"))
    before = float(row("speed_cpu", name="train", batch="200", peer="keras", kernel="")["gflops_share"])
    yield Claim(
        f"W at batch 200 is near it, with {100 * before:.0f} to {100 * near:.0f} % of the peak in two measurements",
        near > before > middle > far,
    )

    def beside_products(batch: str) -> float:
        took = {each["work"]: float(each["ms"]) for each in rows("profile", network="classifier", batch=batch)}
        rest = took["dispatch"] + took["pointwise and copies"] + took["optimiser"]
        return rest / (took["products"] + took["products in the loop"])

    yield Claim(
        "take two thirds as long as the products at 32, and four times as long at 1",
        abs(beside_products("32") - 2 / 3) < 0.05 and round(beside_products("1")) == 4,
    )
    softmax = share("language_model", "20", "share_of_threads", "products")
    yield Claim("most of its step is the three products of the softmax over 10,000 words", softmax > 0.7)
    yield Quoted("and 1.6x would leave half of what the rest takes", "the aim, and the profile's products")


def kept_memory() -> Iterator[Claim | Quoted]:
    """Yield the claims of Memory between steps."""
    measured = [
        ("gated_skip_tagger", "ewt_upos", "1000"),
        ("dc_bilstm", "sst2", "3000"),
        ("lstm", "sst2", "3000"),
        ("dense_lstm_lm", "ptb", "2000"),
    ]

    def found(column: str, model: str, dataset: str, texts: str) -> Decimal:
        return number("kept_memory", column, model=model, dataset=dataset, texts=texts)

    def growth(*which: str) -> str:
        return f"{100 * (found('kept_peak_mb', *which) / found('returned_peak_mb', *which) - 1):.0f}"

    ratios = [found("ratio", *which) for which in measured]
    yield Claim(f"An epoch of the tagger takes {ratios[0]} times as long without it")
    yield Claim(
        f"one of `dc_bilstm` {ratios[1]}, one of `lstm` {ratios[2]} and one of a language model {ratios[3]} times"
    )
    growths = sorted((growth(*which) for which in measured), key=int)
    yield Claim(f"grows by {growths[0]} to {growths[-1]} %")
    long = ("lstm", "imdb", "2000")
    yield Claim(
        f"an epoch without it takes {found('ratio', *long)} times as long, and {growth(*long)} % more memory is held "
        "with it"
    )


def cpu_seconds() -> Iterator[Claim | Quoted]:
    """Yield the claims of Batches and samples."""

    def seconds(dataset: str, way: str) -> Decimal:
        return number("cpu_seconds", "cpu_s", dataset=dataset, way=way)

    batches = seconds("trec", "fit on zoo.text_dataset") / seconds("trec", "fit on padded arrays")
    samples = seconds("ptb", "2,048 samples") / seconds("ptb", "all words")
    sampled, full = (
        number("cpu_seconds", "dev_perplexity", dataset="ptb", way=way) for way in ("2,048 samples", "all words")
    )
    third = 1 / Decimal(3)
    yield Claim("stock `fit` takes a third of the time that it takes on padded arrays", abs(batches - third) < 0.04)
    yield Claim("takes a third of that over all 10,000 words", abs(samples - third) < 0.04)
    yield Claim("over all 10,000 words, at the same perplexity", abs(sampled / full - 1) < 0.01)


def long_texts() -> Iterator[Claim | Quoted]:
    """Yield the claims of Long texts."""

    def found(column: str, measure: str, step: str, side: str, network: str = "dc_bilstm") -> list[Decimal]:
        wanted = {"network": network, "measure": measure, "step": step, "side": side}
        return [number("long_texts", column, time=time, **wanted) for time in ("50", "250", "1000")]

    def peaks(step: str, side: str, network: str = "dc_bilstm") -> list[str]:
        return [f"{value:,}" for value in found("value", "peak MB", step, side, network)]

    ratios = found("ratio", "tokens/s", "train", "keras")
    ours, keras, torch = (peaks("train", side) for side in ("ours", "keras", "torch"))
    predicted, light = peaks("predict", "ours"), peaks("predict", "torch")
    plain = [peaks("predict", side, "bilstm") for side in ("ours", "keras", "torch")]
    yield Claim(
        f"W trains {one(ratios[0])} times as fast as stock Keras at 50 words and {one(ratios[2])} times at 1,000"
    )
    yield Claim(
        f"{ours[0]}, {ours[1]} and {ours[2]} MB in training at 50, 250 and 1,000 words, where stock Keras needs "
        f"{min(keras)} to {max(keras)} MB, and {predicted[0]}, {predicted[1]} and {predicted[2]} MB in prediction"
    )
    yield Claim(
        f"PyTorch predicts in less, {light[0]}, {light[1]} and {light[2]} MB, and trains in {min(torch)} to "
        f"{max(torch)} MB"
    )
    yield Claim(
        f"it predicts in {plain[0][0]} to {plain[0][2]} MB, where stock Keras needs {min(plain[1])} to {max(plain[1])} "
        f"and PyTorch {min(plain[2])} to {max(plain[2])}"
    )
    keras, torch = (_bilstm(side) for side in ("keras", "torch"))
    yield Claim(
        f"at 50 words it also predicts more slowly than PyTorch ({torch['ratio']}x), and level with stock Keras",
        float(torch["ratio_high"]) < 1 and float(keras["ratio_low"]) < 1 < float(keras["ratio_high"]),
    )
    yield Quoted("8,000 tokens in every batch", "benchmarks.speed.long_texts")


def _bilstm(side: str) -> dict[str, Any]:
    return row("long_texts", network="bilstm", measure="tokens/s", step="predict", side=side, time="50")
