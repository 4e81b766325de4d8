"""What README.md and pages of docs/ say of scores and times, by the rows of ``results/``."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from benchmarks.claims.fixed_vectors import above_linear
from benchmarks.claims.rows import Claim, Quoted, interval, number, one, row, rows, span

_PYTHONS = Quoted("Python 3.11, 3.12 or 3.13", "setup.py")
_LICENCE = Quoted("Apache 2.0", "LICENSE")
_DISK = Quoted("(2.5 GB, mostly TensorFlow)", "the size of .venv")


def _fixed(dataset: str, model: str, column: str = "accuracy_mean") -> Decimal:
    return number("classification_fixed", column, dataset=dataset, model=model)


def _ahead_on_dev(dataset: str) -> bool:
    """Return whether DC-Bi-LSTM is the best on dev of what has been trained from the zoo's word vectors alone."""
    scratch = rows("pretraining", dataset=dataset, start="scratch")
    found = [Decimal(found["dev_accuracy_mean"]) for found in rows("classification_fixed", dataset=dataset) + scratch]
    return _pretraining("dev_accuracy_mean", dataset, "scratch") == max(found)


def _pretraining(column: str, dataset: str, start: str, model: str = "dc_bilstm") -> Decimal:
    return number("pretraining", column, dataset=dataset, start=start, model=model)


def _curve(start: str) -> str:
    return one(number("pretraining_curves", "accuracy_mean", dataset="sst2", texts="500", start=start))


def readme() -> Iterator[Claim | Quoted]:
    """Yield the claims of README.md."""
    yield from (_PYTHONS, _LICENCE, _DISK)
    for model in ("dc_bilstm", "bilstm", "cnn_mc"):
        found = row("classification_fixed", dataset="sst2", model=model)
        yield _best(found["encoder_parameters"], found["accuracy_mean"], "sst2", "`sst2`, `zoo_300d`")
    names = {"dataset": "trec", "encoder": "dense", "pooling": "position", "settings": ""}
    found = row("dynamic_interaction", **names)
    yield _best(found["encoder_parameters"], found["accuracy_mean"], "trec", "`trec`, `dense`, `position`")
    for model, recipe in (
        ("dense_lstm_lm", "regularised_dense_400x3"),
        ("stacked_lstm_lm", "godin2017_stacked_200x2_30_epochs"),
    ):
        perplexity = number("language_model", "test_perplexity_mean", model=model, recipe=recipe)
        yield Claim(f"perplexity {perplexity} on PTB | `ptb`, `{recipe}`")
    yield from _taggers()
    preset, minilm, linear = (
        row("frontier", dataset="sst2", **named)
        for named in ({"kind": "ONNX"}, {"model": "MiniLM + logistic regression"}, {"model": "NB-SVM"})
    )
    shown = [one(found["test_accuracy"]) for found in (preset, minilm, linear)]
    yield Claim(
        f"the preset has {shown[0]} % at {one(preset['p50_ms_1'])} ms per sentence, MiniLM with a logistic regression "
        f"{shown[1]} % at {one(minilm['p50_ms_1'])} ms, NB-SVM {shown[2]} % at {float(linear['p50_ms_1']):.2f} ms"
    )


def _best(weights: str, accuracy: str, dataset: str, where: str) -> Claim:
    name = {"sst2": "SST-2", "trec": "TREC"}[dataset]
    return Claim(f"{int(weights):,} | {Decimal(accuracy):.2f} % on {name} | {where}")


def _taggers() -> Iterator[Claim]:
    one_layer = {"dataset": "ewt_upos", "model": "bilstm_tagger", "recipe": "batched_fixed_vectors"}
    found = row("tagging", **one_layer, settings="num_layers=1")
    yield Claim(
        f"{int(found['encoder_parameters']):,} | {found['accuracy_mean']} % on UD EWT tags | `ewt_upos`, `num_layers=1`"
    )
    deep = row("tagging", dataset="conll2000", model="gated_skip_tagger", settings="num_layers=7 crf=true")
    yield Claim(f"{int(deep['encoder_parameters']):,} | F1 {deep['f1_mean']} on CoNLL-2000")


def choose() -> Iterator[Claim | Quoted]:
    """Yield the claims of docs/choose.md."""
    shown = [one(_pretraining("accuracy_mean", dataset, "scratch")) for dataset in ("sst2", "trec")]
    yield Claim(
        f"{shown[0]} % on SST-2 and {shown[1]} % on TREC, the best on dev without pretraining",
        all(_ahead_on_dev(dataset) for dataset in ("sst2", "trec")),
    )
    lags = [
        _pretraining("accuracy_mean", dataset, "scratch") - _pretraining("accuracy_mean", dataset, "scratch", "bilstm")
        for dataset in ("sst2", "trec")
    ]
    lags += [_fixed(dataset, "dc_bilstm") - _fixed(dataset, "bilstm") for dataset in ("sst2", "trec")]
    yield Claim(f"{span(lags)} points less on SST-2 and TREC, which may be chance")
    context = [one(_pretraining("accuracy_mean", dataset, "context")) for dataset in ("sst2", "imdb")]
    yield Claim(f"{context[0]} % on SST-2, {context[1]} % on IMDB")
    tuned, scratch = _curve("fine-tuned"), _curve("from scratch")
    yield Claim(f"{tuned} % with 500 sentences of SST-2, where the above from scratch has {scratch}")
    yield Quoted("with 6.4 million weights", "describe dense_lstm_lm --recipe regularised_dense_400x3")
    linear = max(number("frontier", "disk_mb", dataset=name, model="NB-SVM") for name in ("sst2", "trec", "cr"))
    yield Claim("or a model of 2 MB", round(linear) <= 2)
    tagger = row("frontier", dataset="ewt_upos", model="spaCy tagger")
    ours = number("frontier", "test_accuracy", dataset="ewt_upos", kind="ONNX")
    yield Claim(
        "a tagger of parts of speech in 4 MB | spaCy's tagger: a point less accurate, and faster",
        round(Decimal(tagger["disk_mb"])) == 4 and round(ours - Decimal(tagger["test_accuracy"])) == 1,
    )
    yield Claim(f"with the zoo's frozen word vectors are ahead of it by {span(above_linear())} points")
    yield Quoted("DistilBERT 91.3 % on SST-2's dev sentences", "Sanh et al. 2019, Table 1")


def pretraining() -> Iterator[Claim | Quoted]:
    """Yield the claims of docs/pretraining.md."""
    yield Quoted("19.6 million words three times", "tokens of imdb_raw's training text, and the preset's epochs")

    def gain(dataset: str, model: str = "dc_bilstm") -> Decimal:
        ways = ({"dataset": dataset, "start": start, "model": model} for start in ("context", "scratch"))
        return Decimal(str(round(interval("pretraining", "accuracies", *ways)[0], 6)))

    films = [gain("sst2"), gain("sst2", "bilstm"), gain("sst1")]
    small = [gain("mr"), gain("subj"), gain("trec"), gain("trec", "bilstm"), gain("cr")]
    yield Claim(
        f"`--context` adds {span(films)} points on SST-2 and SST-1, whose texts are of films, as the encoder's are, "
        f"{one(gain('cr', 'bilstm'))} to a Bi-LSTM on reviews of products (CR), and half a point or less on MR, Subj "
        "and TREC and to `dc_bilstm` on CR",
        max(small) <= Decimal("0.55"),
    )
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


PAGES = {"README.md": readme, "docs/choose.md": choose, "docs/pretraining.md": pretraining}
