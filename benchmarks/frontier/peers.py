"""The alternatives to the zoo: linear models, fastText, spaCy, static and transformer embeddings.

Each peer is trained on a corpus' training texts, with what it leaves open chosen on dev, saved, and loaded again in a
fresh process. Their packages are listed in ``requirements.txt``. Each is imported where it is used.
"""

from __future__ import annotations

from benchmarks.frontier.embedded_peers import MiniLM, StaticMiniLM
from benchmarks.frontier.fasttext_peer import FastText
from benchmarks.frontier.linear_peers import NbSvm, TfIdf
from benchmarks.frontier.peer import Peer
from benchmarks.frontier.spacy_peers import Spacy, SpacyTagger
from benchmarks.frontier.teacher_peer import FineTuned

CLASSIFIERS: dict[str, type[Peer]] = {
    "tf-idf + logistic regression": TfIdf,
    "NB-SVM": NbSvm,
    "fastText": FastText,
    "spaCy textcat": Spacy,
    "model2vec + logistic regression": StaticMiniLM,
    "MiniLM + logistic regression": MiniLM,
}
TAGGERS: dict[str, type[Peer]] = {"spaCy tagger": SpacyTagger}
PEERS = CLASSIFIERS | TAGGERS
FINE_TUNED = "fine-tuned transformer"  # trained before, by benchmarks.transformer_teacher
SERVED = PEERS | {FINE_TUNED: FineTuned}
