"""Train a registered model on a corpus, from raw text to a bundle."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, files, registry
from dense_lstm_zoo.training.recipes import Recipe, get_recipe

if TYPE_CHECKING:
    import numpy as np

    from dense_lstm_zoo.classification import ClassificationBundle
    from dense_lstm_zoo.data.corpus import Corpus
    from dense_lstm_zoo.training.checkpoint import Checkpoint

DEFAULTS = Recipe(name="", source="", models={})


def train(
    name: str,
    /,
    dataset: str | Corpus,
    run_dir: str | Path,
    *,
    recipe: str | None = None,
    vectors: str | Path | None = None,
    vector_words: int = 50_000,
    oov: str | None = None,
    seed: int = 1,
    epochs: int | None = None,
    patience: int | None = None,
    batch_size: int | None = None,
    learning_rate_decay: float | None = None,
    tensorboard: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    **arguments: Any,
) -> ClassificationBundle:
    """Train a classifier, keep the epoch with the best dev accuracy, score the test set once, write a bundle.

    A corpus without a dev set gives up a stratified share of its training texts (10 %, by ``seed``).

    After every epoch the run's state is written to ``RUN_DIR.unfinished/``: after a kill or Ctrl-C the same call goes
    on from there and ends with the weights that an uninterrupted run has.

    Args:
        name: A registered classification model.
        dataset: A corpus's name (``"demo"``, ``"trec"``, ``"trec_fine"``) or a ``Corpus``, such as
            ``load_corpus("csv", train_file="reviews.csv")``.
        run_dir: The folder to write the bundle to.
        recipe: A published result's settings, such as ``"ding2018"``; what is given here goes before it.
        vectors: A file of word vectors (GloVe's or word2vec's text format, plain, .gz or .zip).
        vector_words: How many of the file's most frequent words to know beside the training words.
        oov: Words outside the vocabulary: ``"drop"`` (default with vectors) or ``"unk"``.
        seed: Seed of the weights, dropout, order of the batches and the dev split.
        epochs: Most epochs (30, or the recipe's).
        patience: Epochs without a better dev accuracy before training stops (5, or the recipe's).
        batch_size: Texts a step (200, or the recipe's).
        learning_rate_decay: What the learning rate is multiplied by after each epoch (1, or the recipe's).
        tensorboard: Also write TensorBoard logs, to ``tensorboard/`` beside the run's folder.
        overwrite: Whether to replace a run that is there, or an interrupted one that had other settings.
        progress: Whether to print progress: a bar a epoch on a terminal, a line a epoch elsewhere.
        **arguments: Model arguments; see ``describe(name)``.

    Returns:
        The bundle, as ``load(run_dir)`` would return it.

    Raises:
        ValueError: An unknown name or a value out of range, with what is accepted.
        FileExistsError: ``run_dir`` is there and ``overwrite`` is False.
        FileNotFoundError: No such data or vector file.
        DivergenceError: The loss became infinite or no number. The best epoch before it is written all the same.

    Example:
        ``zoo.train("dc_bilstm", "trec", "runs/trec", recipe="ding2018", vectors="glove.42B.300d.zip")``
    """
    protocol = get_recipe(recipe) if recipe else DEFAULTS
    resolved = registry.resolve(name, arguments, recipe, complete=False)
    if (task := registry.entry(name).task) != "classification":
        raise ValueError(f"train() trains classifiers; {name} is a {task}: build() it and fit() it on windows of text.")
    for argument in registry.FROM_DATA:
        if argument in arguments:
            raise ValueError(f"{argument} follows from the data and the vectors; train() does not take it.")
    epochs = checks.integer("epochs", epochs if epochs is not None else protocol.epochs)
    patience = checks.integer("patience", patience if patience is not None else protocol.patience)
    batch_size = checks.integer("batch_size", batch_size if batch_size is not None else protocol.batch_size)
    decay = checks.positive(
        "learning_rate_decay", learning_rate_decay if learning_rate_decay is not None else protocol.learning_rate_decay
    )
    seed = checks.integer("seed", seed, minimum=0)
    run_dir = files.check_new_folder(run_dir, overwrite)
    if tensorboard and not _installed("tensorboard"):
        raise ValueError("tensorboard=True needs TensorBoard: pip install dense-lstm-zoo[tensorboard].")

    from dense_lstm_zoo.data.corpora import load_corpus
    from dense_lstm_zoo.data.corpus import split_dev

    corpus = load_corpus(dataset) if isinstance(dataset, str) else dataset
    corpus = split_dev(corpus, fraction=protocol.dev_fraction, seed=seed)
    say = print if progress else lambda *_: None
    say(corpus)
    if corpus.test is None:
        say("It has no test texts: folds=10 (--folds 10) would score it by cross-validation.")

    import keras

    from dense_lstm_zoo.classification import ClassificationBundle
    from dense_lstm_zoo.data.vocabulary import build_vocabulary

    keras.utils.set_random_seed(seed)
    built = build_vocabulary(corpus.train.texts, vectors=vectors, vector_words=vector_words, oov=oov)
    vocabulary = built.vocabulary
    if built.matrix is not None:
        if "embedding_dim" in arguments and arguments["embedding_dim"] != built.matrix.shape[1]:
            raise ValueError(f"embedding_dim={arguments['embedding_dim']}, but {vectors} has {built.matrix.shape[1]}.")
        resolved["embedding_dim"] = int(built.matrix.shape[1])
        say(f"{built.report}\n{built.coverage}")
    resolved |= {
        "vocab_size": vocabulary.size,
        "num_classes": len(corpus.label_names),
        "num_frozen_words": vocabulary.num_frozen_words,
    }
    del resolved["embedding_matrix"]
    model = registry.build(name, embedding_matrix=built.matrix, **resolved)
    config = {
        "task": "classification",
        "model": name,
        "arguments": resolved,
        "text": {"num_frozen_words": vocabulary.num_frozen_words, "oov": vocabulary.oov},
        "training": {
            "dataset": corpus.name,
            "data_sha256": fingerprint(corpus, built.matrix),
            "recipe": recipe,
            "seed": seed,
            "epochs": epochs,
            "patience": patience,
            "batch_size": batch_size,
            "learning_rate_decay": decay,
            "vectors": Path(vectors).name if vectors else None,
            "vector_report": str(built.report) if built.report else None,
            "vector_coverage": str(built.coverage) if built.coverage else None,
        },
        "versions": versions(),
    }
    say(f"{name}: {model.count_params():,} parameters, {vocabulary.size:,} words")

    import pandas as pd

    from dense_lstm_zoo.training import report
    from dense_lstm_zoo.training.callbacks import DivergenceError
    from dense_lstm_zoo.training.checkpoint import Checkpoint

    bundle = ClassificationBundle(model, config, vocabulary, list(corpus.label_names), {}, pd.DataFrame())
    log_dir = run_dir.with_name(run_dir.name + ".tensorboard") if tensorboard else None
    state_dir = run_dir.with_name(run_dir.name + ".unfinished")
    diverged = None
    with Checkpoint(state_dir, config, patience, overwrite=overwrite) as checkpoint:
        if checkpoint.epochs:
            say(f"going on after epoch {checkpoint.epochs}, which an interrupted run had reached")
        try:
            _fit(bundle, corpus, checkpoint, log_dir, progress)
        except KeyboardInterrupt:
            say(f"\ninterrupted; the same command goes on after epoch {checkpoint.epochs}")
            raise
        except DivergenceError as error:
            if checkpoint.best_epoch is None:
                checkpoint.remove()
                raise
            diverged = str(error)
        checkpoint.restore_best(model)
        bundle.history = pd.DataFrame(checkpoint.history)
        bundle.history.insert(0, "epoch", range(1, checkpoint.epochs + 1))
        _score(bundle, corpus, diverged)
        bundle.save(run_dir, overwrite=overwrite)
        checkpoint.remove()
    if diverged:
        raise DivergenceError(f"{diverged} The best epoch before it, {checkpoint.best_epoch}, is kept in {run_dir}.")
    say(f"{report.summary(bundle)}\nbundle            {run_dir}")
    return bundle


def _fit(
    bundle: ClassificationBundle, corpus: Corpus, checkpoint: Checkpoint, log_dir: Path | None, progress: bool
) -> None:
    import keras

    from dense_lstm_zoo.data.batching import TrainingBatches, evaluation_batches
    from dense_lstm_zoo.training.callbacks import EpochSeconds, FiniteLoss

    training = bundle.config["training"]
    encode = bundle.text_to_ids.encode
    batches = TrainingBatches(
        encode(corpus.train.texts), corpus.train.labels, batch_size=training["batch_size"], seed=training["seed"]
    )
    assert corpus.dev is not None  # split_dev made one
    dev = evaluation_batches(encode(corpus.dev.texts), corpus.dev.labels)
    callbacks = [batches, EpochSeconds(), FiniteLoss()]
    if training["learning_rate_decay"] != 1:
        rate = bundle.config["arguments"]["learning_rate"]
        callbacks.append(
            keras.callbacks.LearningRateScheduler(lambda epoch: rate * training["learning_rate_decay"] ** epoch)
        )
    callbacks.append(checkpoint)  # after those that add to the epoch's row
    if log_dir is not None:
        callbacks.append(keras.callbacks.TensorBoard(log_dir, write_graph=False))
    checkpoint.resume(bundle.model)
    if checkpoint.is_done:
        return
    bar = 1 if sys.stdout.isatty() else 2
    bundle.model.fit(
        batches.dataset,
        validation_data=dev,
        initial_epoch=checkpoint.epochs,
        epochs=training["epochs"],
        callbacks=callbacks,
        verbose=bar if progress else 0,
        shuffle=False,  # the batches come shuffled
    )


def fingerprint(corpus: Corpus, matrix: np.ndarray | None = None) -> str:
    """Return one checksum of all texts, labels and word vectors: what is resumed must have the same."""
    digest = hashlib.sha256(
        repr((corpus.label_names, corpus.train, corpus.dev, corpus.test)).encode("utf-8", "replace")
    )
    digest.update(b"" if matrix is None else matrix.tobytes())
    return digest.hexdigest()


def _score(bundle: ClassificationBundle, corpus: Corpus, diverged: str | None) -> None:
    """Fill in the bundle's metrics and evaluation: the one time that test texts are scored."""
    metrics: dict[str, Any] = {}
    for split, texts in {"dev": corpus.dev, "test": corpus.test}.items():
        if texts is not None:
            scores, analysis = bundle.score(texts)
            metrics |= {f"{split}_{measure}": value for measure, value in scores.items()}
            bundle.evaluation = {"split": split, **analysis}
    best = bundle.history["val_accuracy"].idxmax()
    bundle.metrics = metrics | {
        "best_epoch": int(bundle.history["epoch"][best]),
        "epochs": len(bundle.history),
        "train_texts": len(corpus.train),
        "parameters": int(bundle.model.count_params()),
        "encoder_parameters": registry.count_encoder_parameters(bundle.model),
        "seconds": round(float(bundle.history["seconds"].sum()), 1),
        **({"diverged": diverged} if diverged else {}),
    }


def versions() -> dict[str, str]:
    """Return the versions a result depends on."""
    packages = ("dense-lstm-zoo", "keras", "tensorflow", "tensorflow-text", "numpy")
    return {"python": platform.python_version()} | {p: importlib.metadata.version(p) for p in packages}


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
