"""What results/README.md says of our presets beside what one would take instead."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from benchmarks.claims.rows import Claim, Quoted, number, one, row, rows, span

_SENTENCES = ("sst2", "trec", "cr")
_BEST = {**{name: f"dc_bilstm_{name}" for name in _SENTENCES}, "ewt_upos": "gated_skip_tagger_ewt_upos"}


def _others(dataset: str) -> list[dict[str, str]]:
    """Return the rows of the peers on a corpus, the best first."""
    found = [each for each in rows("frontier", dataset=dataset) if not each["kind"]]
    return sorted(found, key=lambda each: -Decimal(each["test_accuracy"]))


def _cells(column: str, *models: str) -> list[Decimal]:
    """Return a column of peers on the corpora of sentences."""
    return [number("frontier", column, dataset=dataset, model=model) for dataset in _SENTENCES for model in models]


def frontier() -> Iterator[Claim | Quoted]:
    """Yield the claims of Accuracy against cost."""
    ours = {name: row("frontier", dataset=name, kind="ONNX", model=preset) for name, preset in _BEST.items()}
    best = {name: _others(name)[0] for name in ours}
    shown = {name: f"{Decimal(each['test_accuracy']):.2f}" for name, each in ours.items()}
    theirs = {name: f"{Decimal(each['test_accuracy']):.2f}" for name, each in best.items()}
    yield Claim(f"on SST-2 {shown['sst2']} % against {theirs['sst2']} ({best['sst2']['model']})")
    yield Claim(f"on TREC {shown['trec']} against {theirs['trec']} ({best['trec']['model']})")
    yield Claim(f"on CR {shown['cr']} against {theirs['cr']} ({best['cr']['model'].partition(' ')[0]})")
    yield Claim(
        "Our presets are the most accurate on each corpus",
        all(Decimal(shown[name]) > Decimal(theirs[name]) for name in ours),
    )
    times = [ours[name]["p50_ms_1"] for name in _SENTENCES]
    minilm = _cells("p50_ms_1", "MiniLM + logistic regression")
    yield Claim(f"they read a sentence in {span(times)} ms, MiniLM in {span(minilm)}")
    yield Claim(
        "fastText and NB-SVM take at most a tenth of a millisecond",
        max(_cells("p50_ms_1", "fastText", "NB-SVM")) <= Decimal("0.1"),
    )
    linear = max(_cells("disk_mb", "NB-SVM", "tf-idf + logistic regression"))
    yield Claim(f"NB-SVM and tf-idf with a logistic regression are at most {linear} MB")
    tagger = best["ewt_upos"]
    yield Claim(
        f"{shown['ewt_upos']} % against the {theirs['ewt_upos']} of spaCy's tagger", tagger["model"] == "spaCy tagger"
    )
    yield Claim(
        f"which is smaller ({tagger['disk_mb']} MB) and faster ({one(tagger['p50_ms_1'])} ms against "
        f"{one(ours['ewt_upos']['p50_ms_1'])})"
    )
    yield from _small(tagger)
    size = one(row("onnx_export", model="dc_bilstm_sst2", kind="onnx", weights="float16")["disk_mb"])
    yield Claim(f"{Decimal(ours['sst2']['disk_mb']):.0f} MB here are {size} MB beside the zoo's table of word vectors")
    yield Quoted(
        "has 91.3 % on SST-2's dev sentences as GLUE has them, with 66 million weights",
        "Sanh et al. 2019, Tables 1 and 3",
    )


def _small(peer: dict[str, str]) -> Iterator[Claim]:
    """Yield what is said of the small presets; ``peer`` is the row of the best other tagger."""
    sentences, words = (
        row("frontier", dataset=dataset, kind="ONNX", model=model)
        for dataset, model in (("sst2", "bilstm_sst2"), ("ewt_upos", "bilstm_tagger_ewt_upos"))
    )
    yield Claim(f"`bilstm_sst2` has {sentences['test_accuracy']} % at {one(sentences['p50_ms_1'])} ms")
    yield Claim(
        f"`bilstm_tagger_ewt_upos`, with {words['test_accuracy']} % at {one(words['p50_ms_1'])} ms, is ahead of "
        "spaCy's tagger in both",
        Decimal(words["test_accuracy"]) > Decimal(peer["test_accuracy"])
        and Decimal(words["p50_ms_1"]) < Decimal(peer["p50_ms_1"]),
    )
