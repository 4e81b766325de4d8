"""Train the zoo's presets, each with one command, and write them into the distribution.

Of several seeds the one with the best dev score is kept. Its weights are rounded to float16, its scores are those of
the rounded weights, and its word vectors are those of an installed table. Its ONNX export, in the subfolder ``onnx``
and in int8, is for the light runtime. A corpus without test texts is cut into ten folds: the first is tested
on, the others are trained on, and the card says so. A preset with a teacher learns from the probabilities that
``benchmarks.transformer_teacher`` has written. A text encoder is made of one language model in each direction.
Runs that are finished are kept in the work folder, and an interrupted one goes on. From the repository's root:

    python -m presets.build dc_bilstm_trec
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TEACHERS = Path("runs/teachers")
MODELS = Path(__file__).parent / "dense_lstm_zoo_presets" / "models"
_SPEED_BATCH, _SPEED_CALLS = 32, 200
FOLDS = 10  # a corpus without test texts is trained on nine folds, and scored on the first


@dataclass(frozen=True)
class Plan:
    """The training of a preset: the arguments of ``train``, and the tables of soft labels that it learns from.

    ``teacher`` is the line of its card that says who labelled them, with the terms of those texts.
    """

    model: str
    corpus: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    soft_labels: tuple[str, ...] = ()
    teacher: str = ""


# ``zoo_300d`` makes a model half as large.
_SMALL = {"recipe": "fixed_vectors", "vectors": "zoo_300d"}

# Sentences of SST-2, phrases of its trees and sentences of IMDB's reviews, with the probabilities that a transformer
# gives them (results/teaching.csv). For 100,000 of the reviews' sentences:
#     python -m benchmarks.transformer_teacher sst2 --encoder all-mpnet-base-v2 --bfloat16 --phrases \
#         --raw 100000 --output runs/teachers/sst2_100000
# or, of those that results/teachers has kept,
#     python -m benchmarks.teacher_answers unpack sst2_100000 runs/teachers
_TAUGHT = tuple(f"sst2_100000/{part}.parquet" for part in ("train", "phrases", "raw"))
_TEACHER = (
    "all-mpnet-base-v2 (Apache-2.0, pretrained on a billion pairs of sentences) fine-tuned on SST-2, for its texts, "
    "their phrases and sentences of IMDB's reviews (Maas et al. 2011, research use)"
)

# Four changed copies of SST-1's sentences, its phrases and 20,000 sentences of the reviews, in the same way:
#     python -m benchmarks.transformer_teacher sst1 --encoder all-mpnet-base-v2 --bfloat16 --augment 4 --phrases \
#         --raw 20000 --output runs/teachers/sst1
_TAUGHT_GRADES = tuple(f"sst1/{part}.parquet" for part in ("copies_4", "phrases", "raw"))
_TEACHER_OF_GRADES = (
    "all-mpnet-base-v2 (Apache-2.0, pretrained on a billion pairs of sentences) fine-tuned on SST-1, for its texts, "
    "changed copies of them, their phrases and sentences of IMDB's reviews (Maas et al. 2011, research use)"
)

PLANS = {
    "dc_bilstm_sst2": Plan(
        *("dc_bilstm", "sst2", {"recipe": "fixed_vectors", "vectors": "zoo_600d", "epochs": 10}, _TAUGHT, _TEACHER)
    ),
    "bilstm_sst2": Plan("bilstm", "sst2", {**_SMALL, "units": 100, "epochs": 12}, _TAUGHT, _TEACHER),
    "dc_bilstm_sst1": Plan(
        *("dc_bilstm", "sst1", {"recipe": "fixed_vectors", "vectors": "zoo_600d", "epochs": 12}),
        *(_TAUGHT_GRADES, _TEACHER_OF_GRADES),
    ),
    # results/transfer.csv: two points better on dev than from scratch
    "dc_bilstm_cr": Plan("dc_bilstm", "cr", {"init_from": "dc_bilstm_sst2", "batch_size": 50}),
    "dc_bilstm_subj": Plan("dc_bilstm", "subj", _SMALL),
    "dc_bilstm_trec": Plan("dc_bilstm", "trec", {"recipe": "fixed_vectors", "vectors": "zoo_600d"}),
    "gated_skip_tagger_ewt_upos": Plan(
        "gated_skip_tagger",
        "ewt_upos",
        {"recipe": "batched_fixed_vectors", "vectors": "zoo_600d", "num_layers": 5},
    ),
    "bilstm_tagger_ewt_upos": Plan(
        "bilstm_tagger",
        "ewt_upos",
        {"recipe": "batched_fixed_vectors", "vectors": "zoo_300d", "units": 64, "num_layers": 1},
    ),
    # With these tags seven gated layers are level with one layer (results/tagging.csv) and three times its size.
    "bilstm_tagger_ewt_xpos": Plan(
        "bilstm_tagger",
        "ewt_xpos",
        {"recipe": "batched_fixed_vectors", "vectors": "zoo_300d", "num_layers": 1},
    ),
}
# Each is a forward and a backward language model.
ENCODERS = {
    "dense_lm_reviews": Plan("dense_lstm_lm", "imdb_raw", {"recipe": "reviews_lm", "dtype": "mixed_bfloat16"}),
}


def build(
    name: str,
    work: Path,
    output: Path = MODELS,
    seeds: int = 3,
    plans: Mapping[str, Plan] = PLANS,
    teachers: Path = TEACHERS,
) -> Path:
    """Train a preset, write it to ``output``, and return its folder.

    Raises:
        ValueError: No plan of that name.
        FileNotFoundError: ``teachers`` has not the soft labels that the preset learns from.
    """
    import dense_lstm_zoo as zoo
    from dense_lstm_zoo import checks
    from dense_lstm_zoo import tasks as task
    from dense_lstm_zoo.models import registry

    plan = plans[checks.one_of("preset", name, plans)]
    kind = task.find(registry.entry(plan.model).task)
    corpus, tested_on = _corpus(plan.corpus, kind.name)
    taught = corpus.with_train(_soft_labels(plan, teachers)) if plan.soft_labels else corpus
    runs = [work / name / f"seed{seed}" for seed in range(1, seeds + 1)]
    for seed, run in enumerate(runs, start=1):
        if not (run / "manifest.json").is_file():
            print(f"\n{name}, seed {seed} of {seeds}", flush=True)
            zoo.train(plan.model, taught, run, seed=seed, **plan.settings)
    bundles = [zoo.load(run) for run in runs]
    sign = 1 if kind.higher_is_better else -1
    best = max(bundles, key=lambda bundle: sign * bundle.metrics[f"dev_{kind.measure}"])
    corpus = corpus_of(best)
    if seeds > 1:
        best.metrics["chosen"] = f"best of {seeds} seeds on dev"
    if tested_on:
        best.config["training"]["fold"] = [1, FOLDS]
    if plan.teacher:
        best.config["training"]["taught_by"]["teachers"] = [plan.teacher]
    best.metrics |= {**tested_on, **speed(best, corpus.dev)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*the export of the bundle that was there")  # exported anew below
        folder = best.save_to_preset(
            output / name, dtype="float16", shared_words=True, dev=corpus.dev, test=corpus.test, overwrite=True
        )
    preset = zoo.load(folder)
    # What int8 changes is in docs/runtime.md: a label in 400 at most.
    preset.export(folder / "onnx", format="onnx", weights="int8", shared_words=True)
    print(preset.summary())
    return folder


def _corpus(name: str, task: str) -> tuple[Any, dict[str, str]]:
    """Return the corpus that a preset is trained on, and what its metrics say of the test texts."""
    import dense_lstm_zoo as zoo

    corpus: Any = zoo.load_corpus(name, task)
    if corpus.test is not None:
        return corpus, {}
    return corpus.fold(1, FOLDS), {"tested_on": f"fold 1 of {FOLDS}"}


def _soft_labels(plan: Plan, teachers: Path) -> Any:
    """Return the corpus of the texts that a preset's teacher has labelled."""
    import pandas as pd

    import dense_lstm_zoo as zoo

    paths = [teachers / name for name in plan.soft_labels]
    for path in paths:
        if not path.is_file():
            command = f"python -m benchmarks.teacher_answers unpack {path.parent.name} {teachers}"
            raise FileNotFoundError(f"{path} is missing. {command} writes it.")
    return zoo.load_corpus(pd.concat([pd.read_parquet(path) for path in paths]), "classification")


def corpus_of(bundle: Any) -> Any:
    """Return the corpus of a preset, with the dev texts that ``train`` held out if it has none of its own."""
    training = bundle.config["training"]
    corpus, _ = _corpus(training["dataset"], bundle.task.name)
    return corpus.with_dev(seed=training["seed"]) if corpus.dev is None else corpus


def build_encoder(name: str, work: Path, output: Path = MODELS, plans: Mapping[str, Plan] = ENCODERS) -> Path:
    """Train the language models of a text encoder, join them into ``output``, and return its folder."""
    import dense_lstm_zoo as zoo
    from dense_lstm_zoo.tasks.options import DIRECTIONS

    plan, runs = plans[name], [work / name / direction for direction in DIRECTIONS]
    for direction, run in zip(DIRECTIONS, runs, strict=True):
        if not (run / "manifest.json").is_file():
            print(f"\n{name}, {direction}", flush=True)
            zoo.train(plan.model, plan.corpus, run, direction=direction, **plan.settings)
    return zoo.join_language_models(*runs).save(output / name, overwrite=True)


def speed(bundle: Any, part: Any) -> dict[str, Any]:
    """Return what a bundle's predictions of the texts of a split cost on this machine, for its card."""
    from dense_lstm_zoo import machine
    from dense_lstm_zoo.measuring.latency import time_calls

    texts: Sequence[Any] = part.texts if hasattr(part, "texts") else part.tokens
    cores = machine.cores()
    single, batch = (time_calls(bundle.predict, texts, size, _SPEED_CALLS) for size in (1, _SPEED_BATCH))
    return {
        "p50_ms_1": round(single["p50_ms"], 2),
        "p99_ms_1": round(single["p99_ms"], 2),
        "texts_per_s": round(batch["texts_per_s"]),
        "speed_batch": _SPEED_BATCH,
        "speed_of": f"bundle.predict, {cores} core{'s' if cores > 1 else ''}, {machine.processor()}",
    }


def main() -> None:
    """Build the presets that are named, and write the index."""
    from dense_lstm_zoo import checks
    from dense_lstm_zoo.bundles import presets
    from tuning import protocols

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="+", choices=[*PLANS, *ENCODERS], metavar="NAME", help=", ".join([*PLANS, *ENCODERS])
    )
    parser.add_argument("--seeds", type=int, default=3, help="of a model with labels or tags (default: 3)")
    parser.add_argument("--teachers", type=Path, default=TEACHERS, help=f"folder of soft labels (default: {TEACHERS})")
    parser.add_argument("--work", type=Path, default=Path("runs/presets"), help="default: runs/presets")
    options = parser.parse_args()
    with protocols.plain_errors():
        checks.integer("--seeds", options.seeds)
        for name in options.names:
            if name in ENCODERS:
                build_encoder(name, options.work)
            else:
                build(name, options.work, seeds=options.seeds, teachers=options.teachers)
        presets.write_index(MODELS)


if __name__ == "__main__":
    main()
