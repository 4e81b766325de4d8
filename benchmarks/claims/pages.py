"""What pages other than the results say, by the rows of ``results/``; README.md has a test of its own."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from benchmarks.claims import serving_pages
from benchmarks.claims.fixed_vectors import above_linear, score, trained_again
from benchmarks.claims.rows import Claim, Quoted, interval, level, number, one, row, rows, span


def _pretraining(column: str, dataset: str, start: str, model: str = "dc_bilstm") -> Decimal:
    return number("pretraining", column, dataset=dataset, start=start, model=model)


def _curve(start: str) -> str:
    return one(number("pretraining_curves", "accuracy_mean", dataset="sst2", texts="500", start=start))


def choose() -> Iterator[Claim | Quoted]:
    """Yield the claims of docs/choose.md."""
    shown = [one(_pretraining("accuracy_mean", dataset, "scratch")) for dataset in ("sst2", "trec")]
    batches = row("transfer", dataset="trec", start="from scratch", texts="all", model="dc_bilstm")
    yield Claim(
        f"{shown[0]} % on SST-2 and {shown[1]} % on TREC ({one(batches['accuracy_mean'])} % in batches of 50)",
        "batch_size=50" in batches["settings"],
    )
    lags = [
        _pretraining("accuracy_mean", dataset, "scratch") - _pretraining("accuracy_mean", dataset, "scratch", "bilstm")
        for dataset in ("sst2", "trec")
    ]
    lags += [score(dataset, "dc_bilstm") - score(dataset, "bilstm") for dataset in ("sst2", "trec")]
    lags += [Decimal(str(trained_again(dataset)[0])) for dataset in ("sst2", "trec")]
    yield Claim(
        f"from {one(max(lags))} points less to {one(-min(lags))} more on SST-2 and TREC, which may be chance",
        all(level(trained_again(dataset)) for dataset in ("sst2", "trec")),
    )
    context = [one(_pretraining("accuracy_mean", dataset, "context")) for dataset in ("sst2", "imdb")]
    yield Claim(f"{context[0]} % on SST-2, {context[1]} % on IMDB")
    tuned, scratch = _curve("fine-tuned"), _curve("from scratch")
    yield Claim(f"{tuned} % with 500 sentences of SST-2, where the above from scratch has {scratch}")
    models = rows("language_model", dataset="ptb")
    best = min(models, key=lambda each: Decimal(each["dev_perplexity_mean"]))
    yield Claim(
        f"the best perplexity here, with {one(int(best['parameters']) / 1e6)} million weights",
        best["recipe"] == "regularised_dense_400x3",
    )
    deep, single = (
        [
            number("tagging", "accuracy_mean", dataset=d, model=f"{m}_tagger", settings=f"num_layers={n}")
            for d in ("ewt_upos", "ewt_xpos")
        ]
        for m, n in (("gated_skip", 7), ("bilstm", 1))
    )
    most = max(ours - theirs for ours, theirs in zip(deep, single, strict=True))
    yield Claim(f"seven gated layers have added at most {one(most)} points to parts of speech here")
    cr = [
        interval("classification", "accuracies", {"dataset": "cr", "model": "nb_svm"}, each)
        for each in (
            {"dataset": "cr", "model": model, "recipe": "ding2018", "settings": ""} for model in ("dc_bilstm", "bilstm")
        )
    ]
    yield Claim(f"on CR it is {span(found[0] for found in cr)} points ahead, which may be chance", all(map(level, cr)))
    linear = max(number("frontier", "disk_mb", dataset=name, model="NB-SVM") for name in ("sst2", "trec", "cr"))
    yield Claim("or a model of 2 MB", round(linear) <= 2)
    yield from _frontier()
    yield Claim(f"with the zoo's frozen word vectors are ahead of it by {span(above_linear())} points")
    yield Quoted("DistilBERT 91.3 % on SST-2's dev sentences", "Sanh et al. 2019, Table 1")


def _frontier() -> Iterator[Claim]:
    """Yield what docs/choose.md says of our presets and of other libraries."""
    presets = {each["model"]: each for each in rows("frontier", kind="ONNX")}
    times = {name: Decimal(each["p50_ms_1"]) for name, each in presets.items()}
    small = ("bilstm_sst2", "bilstm_tagger_ewt_upos")
    large = [time for name, time in times.items() if name not in small]
    yield Claim(
        "the light runtime answers in half a millisecond to four", min(times.values()) > 0.35 and max(large) < 4
    )
    sentences = [time for name, time in times.items() if name.startswith("dc_")]
    yield Claim("in one or two milliseconds for a sentence", min(sentences) > 0.9 and max(sentences) < 2)
    scores = {name: Decimal(each["test_accuracy"]) for name, each in presets.items()}
    lags = (scores["dc_bilstm_sst2"] - scores[small[0]], scores["gated_skip_tagger_ewt_upos"] - scores[small[1]])
    yield Claim(
        "less than a millisecond, at one to three points less | a small preset, `bilstm_sst2` or "
        "`bilstm_tagger_ewt_upos`",
        max(times[name] for name in small) < 1 and all(1 <= lag < 3 for lag in lags),
    )
    quick = rows("frontier", model="NB-SVM") + rows("frontier", model="fastText")
    yield Claim(
        "or fastText (80 MB): a tenth of a millisecond or less, trained in seconds",
        all(Decimal(each["p50_ms_1"]) <= Decimal("0.1") and Decimal(each["train_s"]) < 60 for each in quick)
        and all(78 <= Decimal(each["disk_mb"]) <= 83 for each in rows("frontier", model="fastText")),
    )
    theirs, ours = row("frontier", model="spaCy tagger"), presets[small[1]]
    ahead = scores["gated_skip_tagger_ewt_upos"] - Decimal(theirs["test_accuracy"])
    yield Claim(
        "a tagger of parts of speech in 4 MB | spaCy's tagger: a point less accurate than our large one, and faster; "
        "our small one is ahead of it in both, in 30 MB",
        round(Decimal(theirs["disk_mb"])) == 4
        and round(ahead) == 1
        and Decimal(theirs["p50_ms_1"]) < times["gated_skip_tagger_ewt_upos"]
        and scores[small[1]] > Decimal(theirs["test_accuracy"])
        and times[small[1]] < Decimal(theirs["p50_ms_1"])
        and 29 < Decimal(ours["disk_mb"]) < 31,
    )


def pretraining() -> Iterator[Claim | Quoted]:
    """Yield the claims of docs/pretraining.md."""
    yield Quoted("19.6 million words three times", "tokens of imdb_raw's training text, and the preset's epochs")

    def gain(dataset: str, model: str = "dc_bilstm") -> Decimal:
        ways = ({"dataset": dataset, "start": start, "model": model} for start in ("context", "scratch"))
        return Decimal(str(interval("pretraining", "accuracies", *ways)[0]))

    films = [gain("sst2"), gain("sst2", "bilstm"), gain("sst1")]
    small = [gain("mr"), gain("subj"), gain("trec"), gain("trec", "bilstm"), gain("cr")]
    yield Claim(
        f"`--context` adds {span(films)} points on SST-2 and SST-1, whose texts are of films, as the encoder's are, "
        f"{one(gain('cr', 'bilstm'))} to a Bi-LSTM on reviews of products (CR), and half a point or less on MR, Subj "
        "and TREC and to `dc_bilstm` on CR",
        max(small) <= Decimal("0.55"),
    )
    slower = [
        Decimal(found["seconds_median"]) / Decimal(plain[0]["seconds_median"])
        for found in rows("pretraining", start="context")
        if (plain := rows("pretraining", start="scratch", dataset=found["dataset"], model=found["model"]))
    ]
    yield Claim(f"A run with context takes {span(slower)} times as long")
    imdb = one(_pretraining("accuracy_mean", "imdb", "context"))
    yield Claim(f"is right on {imdb} % of the test texts")
    yield Claim(
        f"it has {_curve('fine-tuned')} %, context {_curve('context')} and training from scratch "
        f"{_curve('from scratch')}"
    )
    dense, stacked = (
        one(number("review_models", "dev_perplexity_mean", model=f"{name}_lstm_lm")) for name in ("dense", "stacked")
    )
    yield Claim(f"its perplexity on dev is {dense}, and that of the stacked one {stacked}")


def language_models() -> Iterator[Claim | Quoted]:
    """Yield the claims of docs/language_models.md."""
    sampled, full = (row("cpu_seconds", dataset="ptb", way=way) for way in ("2,048 samples", "all words"))
    yield Claim(
        f"took {sampled['cpu_s']} CPU seconds and gave a dev perplexity of {sampled['dev_perplexity']}; "
        f"with all words, {full['cpu_s']} seconds and {full['dev_perplexity']}"
    )
    yield Quoted("19.6 million tokens", "the corpus imdb_raw, read")
    yield Quoted("`imdb_raw/`, 100 MB", "the cache, once it is written")


def your_data() -> Iterator[Claim | Quoted]:
    """Yield the claims of docs/your_data.md."""
    dataset, arrays = (
        row("cpu_seconds", dataset="trec", way=f"fit on {way}")["cpu_s"]
        for way in ("zoo.text_dataset", "padded arrays")
    )
    yield Claim(f"takes {dataset} CPU seconds, and {arrays} on arrays that are padded to the longest text")
    yield Quoted('`{"1": 3.0}`', "an example of weights")


def changelog() -> Iterator[Claim | Quoted]:
    """Yield the claims of CHANGELOG.md."""
    yield Quoted("needs ONNX Runtime 1.24", "dense_lstm_zoo_runtime/pyproject.toml")
    perplexity = number("language_model", "test_perplexity_mean", recipe="regularised_dense_400x3")
    yield Claim(f"for a test perplexity of {perplexity} on the Penn Treebank")

    def dev(model: str, recipe: str, **settings: str) -> Decimal:
        return number("recipe_search", "dev_accuracy_mean", dataset="sst2", model=model, recipe=recipe, **settings)

    stacks = [dev("stacked_bilstm", "fixed_vectors", settings=f"learning_rate={rate}") for rate in ("0.005", "0.002")]
    yield Claim(
        "at a rate of 0.002. At 0.005 the first did not learn "
        f"({stacks[0]:.0f} % on SST-2's dev texts, {one(stacks[1])} now)"
    )
    tagger, *others = (
        number("kept_memory", "ratio", model=name, dataset=dataset, texts=texts)
        for name, dataset, texts in (
            ("gated_skip_tagger", "ewt_upos", "1000"),
            ("dc_bilstm", "sst2", "3000"),
            ("lstm", "sst2", "3000"),
        )
    )
    yield Claim(
        "takes two thirds of the time, one of a classifier six sevenths",
        round(1 / tagger, 1) == Decimal("0.7")
        and all(Decimal("0.85") < 1 / ratio < Decimal("0.9") for ratio in others),
    )


PAGES = {
    "CHANGELOG.md": changelog,
    "deploy/runtime/README.md": serving_pages.server,
    "docs/batch.md": serving_pages.batch,
    "docs/choose.md": choose,
    "docs/language_models.md": language_models,
    "docs/pretraining.md": pretraining,
    "docs/runtime.md": serving_pages.runtime,
    "docs/your_data.md": your_data,
}
