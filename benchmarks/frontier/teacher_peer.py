"""A teacher of benchmarks.transformer_teacher: a transformer that was fine-tuned on a corpus, as it is served."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.frontier.peer import Peer


class FineTuned(Peer):
    """A sentence transformer with all of its weights trained. It is only loaded here, not trained."""

    packages = ("transformers", "torch")

    def load(self, folder: Path) -> None:
        """Read the folder that benchmarks.transformer_teacher wrote."""
        from benchmarks.transformer_teacher import Teacher

        about = scores_of(folder)
        self.label_names = about["label_names"]
        self.teacher = Teacher.load(folder / "model", about["bfloat16"])

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return a label for each text."""
        return [self.label_names[place] for place in self.teacher.probabilities(texts).argmax(1)]


def scores_of(folder: Path) -> dict[str, Any]:
    """Return what a teacher's folder says of it."""
    about: dict[str, Any] = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return about
