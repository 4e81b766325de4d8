"""A sentence transformer, fine-tuned on a corpus, as a teacher: its probabilities for training texts and raw sentences.

It needs PyTorch and transformers, in the environment of the peers of ``benchmarks/frontier``, and the folder of an
encoder, such as all-mpnet-base-v2. The encoder is trained on the training texts alone, with a linear layer over the
mean of its states (batch 32, learning rate 3e-5 with a warm-up, two epochs). In the output folder, ``scores.json``
has its accuracy on dev and test, and ``model`` is what ``benchmarks.frontier`` serves. Its probabilities are in
``train.parquet`` for the training texts, in ``copies_N.parquet`` for these and changed copies of them, in
``phrases.parquet`` for the phrases of a treebank's training sentences, and in ``raw.parquet`` for sentences of IMDB's
unlabelled reviews.
Weights are saved after each epoch, answers after each batch: after a kill, the same command goes on. From the
repository's root:

    peers/bin/python -m benchmarks.transformer_teacher sst2 --encoder all-mpnet-base-v2 --raw 20000 --output OUT
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

import dense_lstm_zoo as zoo
from benchmarks import teacher_answers
from dense_lstm_zoo import checks

_BATCH, _RATE, _WARM_UP = 32, 3e-5, 0.1
_PIECES = 128  # word pieces of a text, at most
_LOGITS = "logits.safetensors"


class Teacher(torch.nn.Module):
    """An encoder with a linear layer over the mean of its states."""

    def __init__(self, folder: Path, num_classes: int, bfloat16: bool) -> None:
        super().__init__()
        self.bfloat16 = bfloat16
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.encoder = AutoModel.from_pretrained(folder)
        self.logits = torch.nn.Linear(self.encoder.config.hidden_size, num_classes)

    def forward(self, texts: list[str]) -> torch.Tensor:
        """Return logits (texts, labels)."""
        inputs = self.tokenizer(texts, padding=True, truncation=True, max_length=_PIECES, return_tensors="pt")
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bfloat16):
            states = self.encoder(**inputs).last_hidden_state.float()
        mask = inputs["attention_mask"][..., None]
        return self.logits((states * mask).sum(1) / mask.sum(1))

    def save(self, folder: Path) -> None:
        """Write the weights and the tokenizer, and nothing of the optimiser."""
        self.encoder.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        save_file(self.logits.state_dict(), folder / _LOGITS)

    @classmethod
    def load(cls, folder: Path, bfloat16: bool) -> Teacher:
        """Read what ``save`` wrote."""
        weights = load_file(folder / _LOGITS)
        teacher = cls(folder, len(weights["bias"]), bfloat16)
        teacher.logits.load_state_dict(weights)
        return teacher

    def probabilities(self, texts: list[str]) -> np.ndarray:
        """Return probabilities (texts, labels). Texts of one length are read together."""
        self.eval()
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows = np.zeros((len(texts), self.logits.out_features))
        with torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                places = order[start : start + _BATCH]
                rows[places] = self([texts[place] for place in places]).double().softmax(1).numpy()
        return rows

    def accuracy(self, part: Any) -> float:
        """Return the share of right answers."""
        return float((self.probabilities(list(part.texts)).argmax(1) == np.asarray(part.labels)).mean())


def fine_tune(teacher: Teacher, part: Any, epochs: int, seed: int, folder: Path) -> None:
    """Train a teacher, or what is left of its training."""
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=_RATE, weight_decay=0.01)
    steps = -(-len(part) // _BATCH)
    scale = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(step / (_WARM_UP * epochs * steps), 1 - step / (epochs * steps))
    )
    state_file = folder / "state.pt"
    first = 0
    if state_file.exists():
        state = torch.load(state_file, weights_only=True)
        first = state["epochs"]
        for name, each in (("teacher", teacher), ("optimizer", optimizer), ("scale", scale)):
            each.load_state_dict(state[name])
    labels = torch.tensor(part.labels)
    for epoch in range(first, epochs):
        began, losses = time.perf_counter(), []
        torch.manual_seed(seed + epoch)
        teacher.train()
        for number, places in enumerate(torch.randperm(len(part)).split(_BATCH)):
            loss = torch.nn.functional.cross_entropy(teacher([part.texts[i] for i in places]), labels[places])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
            optimizer.step()
            scale.step()
            losses.append(loss.item())
            if number % 20 == 0:
                print(f"epoch {epoch + 1}: {number}/{steps}, loss {np.mean(losses[-20:]):.3f}", flush=True)
        state = {"teacher": teacher, "optimizer": optimizer, "scale": scale}
        torch.save({"epochs": epoch + 1, **{k: x.state_dict() for k, x in state.items()}}, folder / "state.new")
        (folder / "state.new").replace(state_file)
        print(f"epoch {epoch + 1}: {time.perf_counter() - began:.0f} s", flush=True)


def main(argv: list[str] | None = None) -> None:
    """Fine-tune a teacher and let it label."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.transformer_teacher",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", help="a corpus of sentences, such as sst2 or trec")
    parser.add_argument("--encoder", required=True, type=Path, help="the encoder's folder")
    parser.add_argument("--sha256", help="of its model.safetensors, to be checked")
    parser.add_argument("--output", required=True, type=Path, help="the folder to write")
    parser.add_argument("--fold", type=int, metavar="K", help="test on this one of ten folds (default: test texts)")
    parser.add_argument("--augment", type=int, default=0, metavar="N", help="changed copies of each text (default: 0)")
    parser.add_argument("--raw", type=int, default=0, metavar="N", help="sentences of raw reviews (default: 0)")
    parser.add_argument("--phrases", action="store_true", help="the phrases of a treebank's training sentences too")
    parser.add_argument("--bfloat16", action="store_true", help="products in bfloat16, where the processor has them")
    parser.add_argument("--epochs", type=int, default=2, help="(default: 2)")
    parser.add_argument("--seed", type=int, default=1, help="(default: 1)")
    options = parser.parse_args(argv)
    checks.integer("--epochs", options.epochs)
    if options.sha256:
        digest = hashlib.sha256((options.encoder / "model.safetensors").read_bytes()).hexdigest()
        if digest != options.sha256:
            raise SystemExit(f"{options.encoder}: the sha256 of model.safetensors is {digest}, not {options.sha256}.")
    corpus = teacher_answers.corpus_of(options.dataset, options.fold)
    options.output.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(options.seed)
    teacher = Teacher(options.encoder, len(corpus.label_names), options.bfloat16)
    fine_tune(teacher, corpus.train, options.epochs, options.seed, options.output)
    scores = {f"{name}_accuracy": teacher.accuracy(getattr(corpus, name)) for name in ("dev", "test")}
    print(scores, flush=True)
    labelled = {"augment": options.augment, "phrases": options.phrases, "raw": options.raw}
    sources = teacher_answers.sources(corpus, options.dataset, **labelled)
    about = {"dataset": options.dataset, "fold": options.fold, "encoder": options.encoder.name}
    about |= {"epochs": options.epochs, "seed": options.seed, **scores, "labelled": labelled, "sources": list(sources)}
    about |= {"label_names": list(corpus.label_names)}
    about |= {"parameters": sum(weights.numel() for weights in teacher.parameters()), "bfloat16": options.bfloat16}
    (options.output / teacher_answers.SCORES).write_text(json.dumps(about | {"torch": torch.__version__}, indent=2))
    teacher.save(options.output / "model")

    def answers(texts: list[str]) -> np.ndarray:
        return teacher.probabilities(texts)

    answers.__name__ = f"{options.encoder.name}, fine-tuned on {options.dataset}"  # as cards name the teacher
    for name, settings in sources.items():
        if not (output := options.output / f"{name}.parquet").exists():
            zoo.teach(answers, output=output, **settings)


if __name__ == "__main__":
    main()
