"""results/README.md: its tables are generated from the rows, and its sentences agree with them."""

import json
import re
from decimal import ROUND_HALF_UP, Decimal

import pandas as pd
import pytest

from benchmarks import tables

PAGE = tables.README.read_text(encoding="utf-8")
SENTENCES = " ".join(re.sub(r"<!-- table: .*?<!-- end -->", "", PAGE, flags=re.S).replace("**", "").split())


def test_the_tables_are_those_of_the_results():
    assert tables.render(PAGE) == PAGE
    assert "<!-- table: classification -->\n| corpus |" in PAGE


def test_every_file_of_rows_has_its_table():
    shown = set(re.findall(r"<!-- table: (\w+) -->", PAGE))
    extra = {"speed_cpu", "recipe_search", "language_model_curves", "dynamic_interaction_curves"}
    extra.add("runtime_server")  # its tables are in deploy/runtime/README.md
    extra.add("batch")  # in docs/batch.md
    assert {path.stem for path in tables.README.parent.glob("*.csv")} - extra == shown - {"speed"}


def test_every_section_begins_with_what_it_shows_and_folds_its_commands_away():
    sections = re.split(r"^## ", PAGE, flags=re.M)[1:]
    assert len(sections) >= 6
    for section in sections:
        assert section.split("\n\n")[1].startswith("**What it shows.** "), section.splitlines()[0]
    unfolded = re.sub(r"<details>\n<summary>Commands</summary>\n\n```\n[^`]*```\n\n</details>", "", PAGE)
    assert PAGE.count("<details>") == PAGE.count("<!-- table: ")
    assert "```" not in unfolded


def test_a_new_row_replaces_the_old_one_with_its_key(tmp_path):
    path = tmp_path / "r.csv"
    tables.merge(path, [{"model": "a", "score": 1}, {"model": "b", "score": 2}], ["model"])
    tables.merge(path, [{"model": "a", "score": 3, "seeds": "1 2"}], ["model"])
    assert path.read_text() == "model,score,seeds\nb,2,\na,3,1 2\n"


def row(file, **wanted):
    rows = pd.read_csv(tables.ROOT / "results" / f"{file}.csv", dtype=str).fillna("").to_dict("records")
    (found,) = [row for row in rows if wanted.items() <= row.items()]
    return found


def accuracy(dataset, model, recipe="ding2018", settings=""):
    return Decimal(
        row("classification", dataset=dataset, model=model, recipe=recipe, settings=settings)["accuracy_mean"]
    )


def best(dataset):
    rows = pd.read_csv(tables.ROOT / "results" / "classification.csv")
    return Decimal(str(rows[rows["dataset"] == dataset]["accuracy_mean"].max()))


def tagger(model, settings, dataset="ewt_upos", column="accuracy_mean"):
    return Decimal(row("tagging", dataset=dataset, model=model, settings=settings)[column])


def small(layers, model="gated_skip_tagger", **settings):
    extra = "".join(f" {name}={value}" for name, value in settings.items())
    return tagger(model, f"num_layers={layers} units=64 epochs=8{extra}")


def perplexity(recipe, column="test_perplexity_mean"):
    return Decimal(row("language_model", recipe=recipe)[column])


def deep(layers, model, dataset="ewt_upos", crf="", column="accuracy_mean"):
    return tagger(model, f"num_layers={layers}{crf}", dataset, column)


def pooled(dataset, encoder, pooling):
    return Decimal(row("dynamic_interaction", dataset=dataset, encoder=encoder, pooling=pooling)["accuracy_mean"])


def interval(file, column, ours, theirs):
    """The mean difference of two rows and its interval, by SciPy's own test of pairs."""
    from scipy import stats

    ours, theirs = ([float(score) for score in row(file, **wanted)[column].split()] for wanted in (ours, theirs))
    found = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    mean = sum(ours) / len(ours) - sum(theirs) / len(theirs)
    return mean, found.low, found.high


def speed(name, peer):
    rows = pd.read_csv(tables.ROOT / "results" / "speed_cpu.csv", dtype=str).fillna("")
    rows = rows[(rows["name"] == name) & (rows["peer"] == peer) & (rows["kernel"] == "")]
    return rows["ratio"].astype(float).min()


def one(value):
    """A number to one decimal, as people round."""
    return str(Decimal(str(value)).quantize(Decimal("0.1"), ROUND_HALF_UP))


def above_linear(dataset, recipe="ding2018"):
    """How far the two Bi-LSTMs are above the better linear model, the lesser first."""
    linear = max(accuracy(dataset, f"unigram_{model}", "") for model in ("naive_bayes", "linear_svm"))
    gains = sorted(accuracy(dataset, model, recipe) - linear for model in ("bilstm", "dc_bilstm"))
    return " to ".join(map(one, gains))


def by_the_search_for_a_recipe():
    rates, fixed = ("0.005", "0.002", "0.001"), "trainable_embeddings=false"
    trained = [row("recipe_search", settings=f"learning_rate={rate}" if rate != "0.005" else "") for rate in rates]
    kept = [row("recipe_search", settings=f"{fixed} learning_rate={rate}") for rate in rates if rate != "0.002"]
    kept.insert(1, row("recipe_search", settings=f"learning_rate=0.002 {fixed}"))
    pairs = zip(kept, trained, strict=True)
    gains = [Decimal(ours["dev_accuracy_mean"]) - Decimal(theirs["dev_accuracy_mean"]) for ours, theirs in pairs]
    epochs = [int(found["best_epochs"]) for found in kept]
    return [
        f"DC-Bi-LSTM gained {one(min(gains))} to {one(max(gains))} points with it at three learning rates",
        f"with fixed ones DC-Bi-LSTM was best after {min(epochs)} to {max(epochs)} epochs",
    ]


def by_the_rows_of_classification():
    dense, plain = (accuracy("sst2", model, "fixed_vectors") for model in ("dc_bilstm", "bilstm"))
    fixed = {"recipe": "fixed_vectors"}
    mr = [{"dataset": "mr", "model": model, **fixed} for model in ("dc_bilstm", "bilstm")]
    spread = [row("classification", dataset="sst2", model=m, **fixed)["accuracy_std"] for m in ("bilstm", "dc_bilstm")]
    mean, low, high = map(one, interval("classification", "accuracies", *mr))
    fixes = {m: accuracy("mr", m, "fixed_vectors") - accuracy("mr", m) for m in ("bilstm", "dc_bilstm")}
    cnn, zhou, whole = accuracy("trec", "cnn_mc", "kim2014"), ("sst2", "blstm_2dcnn", "zhou2016"), "pool_size=null"
    return [
        *by_the_search_for_a_recipe(),
        f"worth {one(fixes['bilstm'])} points to the Bi-LSTM and {one(fixes['dc_bilstm'])} to DC-Bi-LSTM",
        f"On SST-2 the paper's recipe is {above_linear('sst2')} points above the better linear model, `fixed_vectors` "
        f"{above_linear('sst2', 'fixed_vectors')}; on SST-1 the paper's recipe is {above_linear('sst1')} points above "
        f"it, on TREC {above_linear('trec')}",
        f"{one(cnn - accuracy('trec', 'bilstm'))} points above the Bi-LSTM and level with what Kim published",
        f"on SST-2 they are {one(accuracy(*zhou, whole) - accuracy('sst2', 'bilstm'))} points above it with the "
        f"paper's recipe and {one(plain - accuracy(*zhou, whole))} below it with `fixed_vectors`",
        f"DC-Bi-LSTM has the best score on SST-2, {one(dense)} %",
        f"On SST-2 it is then {one(dense - plain)} points above the Bi-LSTM of equal size",
        f"standard deviations of {one(spread[0])} and {one(spread[1])}",
        f"DC-Bi-LSTM is {mean} points above the Bi-LSTM, with a 95 % interval of {low} to {high}",
        f"Their {one(cnn)} on TREC is the best figure there",
        f"at depth 8 it is at {accuracy('sst1', 'stacked_bilstm'):.0f} % on SST-1's five labels",
    ]


def by_the_rows_of_depth_against_width():
    table3 = [{"recipe": f"ding2018_table3_{size}"} for size in ("5x40", "0x10", "15x13")]
    table4 = [{"recipe": f"ding2018_table4_{depth}x10"} for depth in (20, 0)]
    mean, low, high = map(one, interval("ding2018_table3", "scores", *table3[:2]))
    _, low4, high4 = map(one, interval("ding2018_table4", "scores", *table4))
    shallow, deep = (Decimal(row("ding2018_table3", **wanted)["paper"]) for wanted in table3[1:])
    return [
        f"The best row, 5 x 40, is {mean} points above the Bi-LSTM ({low} to {high})",
        f"In the paper 15 x 13 is {one(deep - shallow)} points above",
        f"gains no more than half a point ({low4} to {high4})",
    ]


def by_the_rows_of_dynamic_interaction():
    def gains(dataset, pooling):
        beside = (
            pooled(dataset, encoder, pooling) - pooled(dataset, encoder, "constant") for encoder in ("stack", "dense")
        )
        return " and ".join(one(abs(gain)) for gain in beside)

    pairs = [(dataset, encoder) for dataset in ("trec", "sst2") for encoder in ("stack", "dense")]
    fixed = {pair: pooled(*pair, "constant") - pooled(*pair, "mean") for pair in pairs}
    gain = fixed.pop(("trec", "dense"))
    losses = sorted(-loss for loss in fixed.values())
    return [
        f"they are {one(gain)} points higher over DC-Bi-LSTM on TREC and {one(losses[0])} to {one(losses[-1])} lower "
        "elsewhere",
        f"`position` is {gains('trec', 'position')} points lower on TREC, {gains('sst2', 'position')} higher on SST-2, "
        f"and `vector` {gains('sst2', 'vector')} higher",
    ]


def by_the_rows_of_language_models():
    short = ("godin2017_dense_200x2_30_epochs", "godin2017_stacked_200x2_30_epochs")
    ours, stacked = (perplexity(recipe) for recipe in short)
    theirs = [perplexity(recipe, "paper") for recipe in short]
    long = row("language_model", recipe="regularised_dense_400x3")
    reached, weights = Decimal(long["test_perplexity_mean"]), int(long["parameters"]) / 1e6
    return [
        f"test perplexity is {100 * (1 - ours / stacked):.0f} % below the stacked model's; in the paper, after 100, it "
        f"is {100 * (1 - theirs[0] / theirs[1]):.0f} %",
        f"Our own recipe reaches {one(reached)} with {weights:.1f} million weights",
        f"is {100 * (1 - reached / ours):.0f} % below the paper's dense recipe",
        f"it is best after {long['best_epochs']} of its {long['epochs']} epochs",
    ]


def by_the_rows_of_tagging():
    plain = [one(small(layers, "bilstm_tagger")) for layers in (1, 3, 5, 7, 9, 11)]
    kinds = ("outputs", "internals", "gated_internals", "gates", "gated_sigmoid")
    ahead = [small(7) - small(7, "bilstm_tagger"), *(small(7, skip=k) - small(7, "bilstm_tagger") for k in kinds)]
    skip = {kind: one(small(7, skip=kind)) for kind in kinds}
    fine = [deep(n, m, "ewt_xpos") for n, m in ((1, "bilstm_tagger"), (7, "bilstm_tagger"), (7, "gated_skip_tagger"))]
    return [
        f"1, 3, 5, 7 and 9 layers with gated skips all reach {one(small(7))}, and 11 layers {one(small(11))}",
        f"Without them it is {', '.join(plain[:4])} and {plain[4]}, and eleven layers learn next to nothing",
        f"next to nothing ({plain[5]})",
        f"to the output without a gate ({skip['outputs']}), then with its gate ({one(small(7))}), to the internals "
        f"({skip['internals']}), those with a gate ({skip['gated_internals']}), to the gates ({skip['gates']}), the "
        f"gate with a sigmoid ({skip['gated_sigmoid']}); without skips {plain[3]}",
        f"A recurrent highway network is at {one(tagger('rhn_tagger', 'depth=3 units=64 epochs=8'))}, a highway LSTM "
        f"at {one(small(7, 'highway_tagger'))}, one plain layer at {plain[0]}",
        f"every skip is ahead of none, by {one(min(ahead))} to {one(max(ahead))} points",
        f"seven layers without skips are {one(deep(1, 'bilstm_tagger') - deep(7, 'bilstm_tagger'))} points below one",
        f"seven layers are {one(fine[0] - fine[1])} points below one layer without skips, "
        f"{fine[2] - fine[0]:.2f} above it with them",
        f"seven plain layers of 128 units reach {one(deep(7, 'bilstm_tagger'))}",
        f"seven layers gain {chunks('gated_skip_tagger')} points of F1 with skips and lose {chunks('bilstm_tagger')}",
        f"random field adds {crf_adds(1, 'bilstm_tagger')} points over one layer, "
        f"{crf_adds(7, 'gated_skip_tagger')} over seven with skips",
    ]


def vectors(dataset, name):
    return Decimal(row("word_vectors", dataset=dataset, settings=f"vectors={name}")["dev_accuracy_mean"])


def by_the_rows_of_transfer():
    def gain(dataset, texts):
        found = [
            Decimal(row("transfer", dataset=dataset, texts=texts, start=start)["accuracy_mean"])
            for start in ("from dc_bilstm_sst2", "from scratch")
        ]
        return found[0] - found[1]

    cr, trec = ([gain(dataset, texts) for texts in ("100", "500", "all")] for dataset in ("cr", "trec"))
    assert min(cr) > 0
    assert trec[0] < 0 < trec[1]
    return [
        f"adds {one(cr[0])} points with 100 training texts, {one(cr[1])} with 500 and {one(cr[2])} with all",
        f"costs {one(-trec[0])} points with 100 texts, adds {one(trec[1])} with 500 and "
        f"{'adds' if trec[2] > 0 else 'costs'} {one(abs(trec[2]))} with all",
    ]


def by_the_rows_of_onnx_exports():
    def cost(column, kind, model="W", weights="float32"):
        return Decimal(row("onnx_export", model=model, kind=kind, weights=weights)[column])

    presets = ("dc_bilstm_sst2", "dc_bilstm_trec", "gated_skip_tagger_ewt_upos")
    smaller = [(name, weights) for name in presets for weights in ("float16", "int8")]
    for name, weights in smaller:
        assert cost("accuracy", "onnx", name, weights) == cost("accuracy", "bundle", name)
    other = {way: cost("answers_that_differ", "onnx", *way) for way in smaller}
    assert [way for way, count in other.items() if count] == [("gated_skip_tagger_ewt_upos", "int8")]
    starts = [max(cost("start_s", kind, name) for name in presets) for kind in ("onnx", "export", "bundle")]
    slow = [cost("p50_ms_1", kind) / cost("p50_ms_1", "onnx") for kind in ("export", "bundle")]
    many = [cost("p50_ms_200", kind) for kind in ("onnx", "export")]
    peaks = [cost("peak_mb", "onnx", name) for name in ("W", *presets)]
    return [
        f"answers at most {one(starts[0])} s after its process starts",
        f"a SavedModel takes {one(starts[1])} s and a bundle {one(starts[2])} s",
        f"In {one(cost('p50_ms_1', 'onnx'))} ms it reads a text of 30 words with W",
        f"{one(slow[0])} times as fast as the SavedModel, {one(slow[1])} times as fast as the bundle",
        f"at 200 texts it is slower ({many[0]:.0f} ms against {many[1]:.0f})",
        f"{min(peaks):.0f} to {max(peaks):.0f} MB of memory",
        f"a SavedModel takes {cost('peak_mb', 'export'):,.0f} or more",
        f"int8 changes {max(other.values()):.0f} of the tagger's tags and nothing else",
    ]


def by_the_rows_of_long_texts():
    def found(column, measure, step, side, times=("50", "250", "1000"), network="dc_bilstm"):
        wanted = {"network": network, "measure": measure, "step": step, "side": side}
        return [Decimal(row("long_texts", time=time, **wanted)[column]) for time in times]

    def peaks(step, side, **place):
        return [f"{value:,}" for value in found("value", "peak MB", step, side, **place)]

    ratios = found("ratio", "tokens/s", "train", "keras")
    ours, keras, torch = (peaks("train", side) for side in ("ours", "keras", "torch"))
    predicted, light = peaks("predict", "ours"), peaks("predict", "torch")
    plain = [peaks("predict", side, network="bilstm") for side in ("ours", "keras", "torch")]
    return [
        f"W trains {one(ratios[0])} times as fast as stock Keras at 50 words and {one(ratios[2])} times at 1,000",
        f"{ours[0]}, {ours[1]} and {ours[2]} MB in training",
        f"where stock Keras needs {min(keras)} to {max(keras)} MB",
        f"and {predicted[0]}, {predicted[1]} and {predicted[2]} MB in prediction",
        f"PyTorch predicts in less, {light[0]}, {light[1]} and {light[2]} MB",
        f"and trains in {min(torch)} to {max(torch)} MB",
        f"it predicts in {plain[0][0]} to {plain[0][2]} MB, where stock Keras needs {plain[1][0]} to {plain[1][2]} and "
        f"PyTorch {plain[2][0]} to {plain[2][2]}",
    ]


def by_the_rows_of_word_vectors():
    table = tables.ROOT / "presets" / "dense_lstm_zoo_presets" / "vectors" / "zoo_600d" / "config.json"
    cosine = Decimal(str(json.loads(table.read_text())["lowest_cosine"]))
    rounded = pd.read_csv(tables.ROOT / "results" / "rounded_vectors.csv")
    assert rounded["labels_that_differ"].sum() == 0
    return [
        f"worth {one(vectors('trec', 'zeros_600d') - vectors('trec', 'none'))} points on TREC's dev questions",
        f"no word's vector has a cosine below {cosine:.4f} with the one before rounding",
        f"none of the {rounded['dev_texts'].sum():,} dev texts gets another label",
    ]


def f1(layers, model, crf=""):
    return deep(layers, model, "conll2000", crf, "f1_mean")


def crf_adds(layers, model):
    return one(f1(layers, model, " crf=true") - f1(layers, model))


def chunks(model):
    """How far seven layers are from one in F1, without and with a conditional random field."""
    gains = [f1(7, model, crf) - f1(1, "bilstm_tagger", crf) for crf in ("", " crf=true")]
    return " to ".join(sorted(one(abs(gain)) for gain in gains))


def by_the_rows_of_pretraining():
    starts = ("scratch", "context", "fine-tuned")
    rows = {start: row("pretraining", dataset="trec", start=start) for start in starts}
    dev, test = ({k: Decimal(v[f"{c}accuracy_mean"]) for k, v in rows.items()} for c in ("dev_", ""))
    spreads = [Decimal(found[f"{part}accuracy_std"]) for found in rows.values() for part in ("dev_", "")]
    return [
        f"has {dev['context']} % on dev, {dev['context'] - dev['scratch']} points more than from scratch",
        f"{test['context']} % on test, {test['context'] - test['scratch']} more",
        f"fine-tuned, has {dev['fine-tuned']} % and {test['fine-tuned']} %",
        f"standard deviations of {one(min(spreads))} to {one(max(spreads))}",
    ]


@pytest.mark.parametrize(
    "claims",
    [
        by_the_rows_of_classification,
        by_the_rows_of_depth_against_width,
        by_the_rows_of_dynamic_interaction,
        by_the_rows_of_language_models,
        by_the_rows_of_long_texts,
        by_the_rows_of_tagging,
        by_the_rows_of_onnx_exports,
        by_the_rows_of_pretraining,
        by_the_rows_of_transfer,
        by_the_rows_of_word_vectors,
    ],
)
def test_the_sentences_say_what_their_rows_say(claims):
    for claim in claims():
        assert claim in SENTENCES


def test_what_a_sentence_calls_the_best_is_the_best():
    assert best("sst2") == accuracy("sst2", "dc_bilstm", "fixed_vectors")
    assert best("trec") == accuracy("trec", "cnn_mc", "kim2014")
    reached = [small(1, "bilstm_tagger"), *map(small, (3, 5, 7, 9))]
    assert {one(score) for score in reached} == {one(small(7))}


@pytest.mark.parametrize("dataset", ["trec", "sst2", "cr"])
def test_the_table_that_ships_is_the_best_one_on_dev(dataset):
    others = ("reviews_300d", "distilled_300d", "regression_600d")
    assert vectors(dataset, "zeros_600d") > max(vectors(dataset, name) for name in others)


def test_the_ratios_of_speed_are_at_least_what_the_page_says():
    claim = re.search(r"trains at least (\w+) as fast as in stock Keras .* predicts at least ([\d.]+) times", SENTENCES)
    assert claim[1] == "twice"
    assert speed("train", "keras") >= 2
    assert speed("predict", "keras") >= float(claim[2])
    assert speed("train", "torch") > 1
    assert speed("predict", "torch") > 1


def test_the_aims_of_speed_that_are_named_are_those_that_are_not_reached():
    found = {
        (name, batch): ratio(name, batch, "torch") for name in ("train", "predict") for batch in ("200", "32", "1")
    }
    below = {key: value for key, value in found.items() if value < Decimal("1.5")}
    assert set(below) == {("train", "1"), ("predict", "200"), ("predict", "32")}
    first, second, third = below["train", "1"], below["predict", "200"], below["predict", "32"]
    assert (
        f"({first:.2f}x, aimed at 1.5x) and with 200 and 32 in prediction ({second:.2f}x and {third:.2f}x)" in SENTENCES
    )
    single, half = ratio("language_model", "20", "keras"), ratio("language_model_bfloat16", "20", "keras")
    assert f"({single:.2f}x and, in bfloat16, {half:.2f}x; aimed at 1.6x and 2x)" in SENTENCES
    for batch, aim in (("200", "2.5"), ("32", "4"), ("1", "12")):
        assert ratio("train", batch, "keras") >= Decimal(aim)


def ratio(name, batch, peer):
    return Decimal(row("speed_cpu", name=name, batch=batch, peer=peer, kernel="")["ratio"])


def test_what_is_at_its_limit_and_what_is_not_is_so_in_the_rows():
    profile = pd.read_csv(tables.ROOT / "results" / "profile.csv").set_index(["network", "batch", "work"])
    shares = profile.xs("whole step", level="work")["share_of_peak"]
    assert "W at batch 200 is near it, with two thirds of the peak" in SENTENCES
    assert 0.7 > shares["classifier", 200] > 0.63 > shares["classifier", 32] > shares["classifier", 1]
    assert "the products of the softmax" in SENTENCES or "the three products of the softmax" in SENTENCES
    assert profile.loc[("language_model", 20, "products"), "share_of_threads"] > 0.7
    assert speed("language_model", "keras") < 1.6
    pooling = Decimal(row("speed_cpu", name="pooling", batch="200", peer="keras")["ratio"])
    assert f"over 200 sentences is level with its peer ({pooling:.2f}x)" in SENTENCES
