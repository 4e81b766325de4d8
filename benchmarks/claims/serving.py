"""What results/README.md says of word vectors and of serving without TensorFlow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal

from benchmarks.claims.rows import Claim, Quoted, number, one, rows
from benchmarks.result_files import ROOT

_TABLE = ROOT / "presets" / "dense_lstm_zoo_presets" / "vectors" / "zoo_600d" / "config.json"
_PRESETS = ("dc_bilstm_sst2", "dc_bilstm_trec", "gated_skip_tagger_ewt_upos")


def _vectors(dataset: str, name: str) -> Decimal:
    return number("word_vectors", "dev_accuracy_mean", dataset=dataset, settings=f"vectors={name}")


def word_vectors() -> Iterator[Claim]:
    """Yield the claims of Word vectors."""
    corpora, halves = ("trec", "sst2", "cr"), ("reviews_300d", "distilled_300d")
    ahead = all(_vectors(d, "zeros_600d") > max(_vectors(d, name) for name in halves) for d in corpora)
    yield Claim(
        "Both halves side by side, with zeros for a half that a word does not have, are ahead of either alone on every "
        "corpus, and of values predicted from the other half in the place of the zeros",
        ahead and all(_vectors(dataset, "zeros_600d") > _vectors(dataset, "regression_600d") for dataset in corpora),
    )
    yield Claim(
        f"worth {one(_vectors('trec', 'zeros_600d') - _vectors('trec', 'none'))} points on TREC's dev questions"
    )
    cosine = Decimal(str(json.loads(_TABLE.read_text())["lowest_cosine"]))
    yield Claim(f"no word's vector has a cosine below {cosine:.4f} with the one before rounding")
    rounded = rows("rounded_vectors")
    texts = sum(int(found["dev_texts"]) for found in rounded)
    same = all(found["labels_that_differ"] == "0" for found in rounded)
    yield Claim(f"none of the {texts:,} dev texts gets another label", same)


def serving() -> Iterator[Claim | Quoted]:
    """Yield the claims of Serving without TensorFlow."""

    def cost(column: str, kind: str, model: str = "W", weights: str = "float32") -> Decimal:
        return number("onnx_export", column, model=model, kind=kind, weights=weights)

    smaller = [(name, weights) for name in _PRESETS for weights in ("float16", "int8")]
    other = {way: cost("answers_that_differ", "onnx", *way) for way in smaller}
    starts = [max(cost("start_s", kind, name) for name in _PRESETS) for kind in ("onnx", "export", "bundle")]
    slow = [cost("p50_ms_1", kind) / cost("p50_ms_1", "onnx") for kind in ("export", "bundle")]
    many = [cost("p50_ms_200", kind) for kind in ("onnx", "export")]
    peaks = [Decimal(each["peak_mb"]) for each in rows("onnx_export", kind="onnx")]
    yield Claim(f"of the table below answers at most {one(starts[0])} s after its process starts")
    yield Claim(f"a SavedModel takes {one(starts[1])} s and a bundle {one(starts[2])} s")
    yield Claim(f"In {one(cost('p50_ms_1', 'onnx'))} ms it reads a text of 30 words with W")
    yield Claim(f"{one(slow[0])} times as fast as the SavedModel, {one(slow[1])} times as fast as the bundle")
    yield Claim(f"at 200 texts it is slower ({many[0]:.0f} ms against {many[1]:.0f})", many[0] > many[1])
    heavy = [Decimal(each["peak_mb"]) for each in rows("onnx_export", kind="export")]
    yield Claim(f"{min(peaks):.0f} to {max(peaks):.0f} MB of memory")
    yield Claim(f"a SavedModel takes {min(heavy):,.0f} or more")
    yield Quoted("which take 0.8 ms on a core", "84 million over the rate of NumPy's products, 107 thousand million")
    yield Claim(
        "Weights in float16 change no answer of the three presets on dev",
        all(count == 0 for (_, weights), count in other.items() if weights == "float16")
        and all(cost("accuracy", "onnx", *way) == cost("accuracy", "bundle", way[0]) for way in smaller),
    )
    yield Claim(
        f"int8 changes {max(other.values()):.0f} of the tagger's tags and nothing else",
        [way for way, count in other.items() if count] == [("gated_skip_tagger_ewt_upos", "int8")],
    )
