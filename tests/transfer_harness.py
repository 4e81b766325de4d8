"""Small corpora of each task, and runs that go on from trained models of each."""

from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.language.corpus import LanguageCorpus
from dense_lstm_zoo.models.registry import network
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus
from dense_lstm_zoo.training import prepare, request
from tests import bundle_harness

MODELS = {"classification": "bilstm", "tagging": "gated_skip_tagger", "language_model": "dense_lstm_lm"}
ARGUMENTS = {"classification": {}, "tagging": {"crf": True}, "language_model": {}}
LABELS = bundle_harness.LABELS
# Known words, two words of which the source knows nothing: one occurs twice, the other once.
TEXTS = ["the film was good !", "it was very bad", "the film was short , splendid", "splendid but long , dull"] * 1
TESTS = ["the good film was very very long", "it was bad and dull !"]


def classification(labels=LABELS, texts=TEXTS, name="mine", tests=TESTS):
    def split(texts):
        return Split(list(texts), [i % len(labels) for i in range(len(texts))])

    return Corpus(name, tuple(labels), split([*texts, texts[0]]), split(tests[:1]), split(tests[1:]))


def tagging(labels=("T0", "T1", "T2", "T3"), texts=TEXTS, name="mine", tests=TESTS):
    def split(texts):
        tokens = [text.split() for text in texts]
        return TaggedSplit(tokens, [[labels[i % len(labels)] for i in range(len(row))] for row in tokens])

    return TaggingCorpus(name, split(texts), split(tests[:1]), split(tests[1:]))


def language_model(texts=TEXTS, name="mine", tests=TESTS):
    return LanguageCorpus(name, list(texts) * 9, list(tests[:1]), list(tests[1:]))


CORPORA = {"classification": classification, "tagging": tagging, "language_model": language_model}
OPTIONS = {"language_model": {"batch_size": 2, "num_steps": 4, "min_count": 10}}  # a word that occurs twice in TEXTS


def make_sources(folder):
    """A bundle of each task with weights large enough to show, and hashes of a text it was trained on."""
    folders = {}
    for task, model in MODELS.items():
        bundle = bundle_harness.with_random_weights(bundle_harness.bundle(model, **ARGUMENTS[task]))
        bundle.train_texts = text_hashes.hash_texts([["a", "text", "seen", "before"]])
        bundle.config["training"]["dataset"] = "reviews"
        folders[task] = bundle.save(folder / task)
    return folders


def prepared(task, source, folder, corpus=None, progress=False, **options):
    """A run that is ready to start."""
    options = {"epochs": 2, **OPTIONS.get(task, {}), "init_from": source, **options}
    corpus = CORPORA[task]() if corpus is None else corpus
    return prepare.prepare(request.check(MODELS[task], folder / "run", options), corpus, progress)


def bundle_of(run):
    return run.job.bundle(run.model, run.config, None, None)


def origin_of(run):
    return run.config["training"]["init_from"]


def encoder(model):
    return [w for layer in network(model).layers if layer.name in ("encoder", "stack") for w in layer.get_weights()]


def words_of(run):
    return run.job.words.vocabulary.words if run.task.name != "language_model" else run.job.vocabulary.words
