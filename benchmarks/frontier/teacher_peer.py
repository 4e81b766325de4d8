"""A teacher of benchmarks.transformer_teacher: a transformer that was fine-tuned on a corpus, as it is served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.frontier.peer import Peer


class FineTuned(Peer):
    """A sentence transformer with all of its weights trained. It is only loaded here, not trained."""

    packages = ("transformers", "torch")

    def load(self, folder: Path) -> None:
        """Read the folder that benchmarks.transformer_teacher wrote."""
        from benchmarks import teacher_answers
        from benchmarks.transformer_teacher import Teacher

        about = teacher_answers.scores_of(folder)
        self.label_names = about["label_names"]
        self.teacher = Teacher.load(folder / "model", about["bfloat16"])

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return a label for each text."""
        return [self.label_names[place] for place in self.teacher.probabilities(texts).argmax(1)]
