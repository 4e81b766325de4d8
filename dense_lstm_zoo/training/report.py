"""What a run tells a person: a model card, a learning curve, a summary."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dense_lstm_zoo.bundle import Bundle


def write(bundle: Bundle, folder: Path) -> None:
    """Write the model card and, where matplotlib is installed, the learning curve into a bundle's folder."""
    from dense_lstm_zoo import plots

    (folder / "README.md").write_text(model_card(bundle), encoding="utf-8")
    if importlib.util.find_spec("matplotlib"):
        training = bundle.config["training"]
        title = f"{bundle.config['model']} on {training['dataset']}, seed {training['seed']}"
        plots.learning_curve(bundle.history, folder / "learning_curve.png", title)


def summary(bundle: Bundle) -> str:
    """Return a run's result in a few lines: accuracy, parameters, seconds."""
    metrics = bundle.metrics
    lines = [
        f"best epoch        {metrics['best_epoch']} of {metrics['epochs']}",
        f"dev accuracy      {metrics['dev_accuracy']:.4f} ({metrics['dev_texts']:,} texts)",
    ]
    if "test_accuracy" in metrics:
        lines.append(f"test accuracy     {metrics['test_accuracy']:.4f} ({metrics['test_texts']:,} texts)")
    lines += [
        f"parameters        {metrics['parameters']:,} in all, {metrics['encoder_parameters']:,} in the encoder",
        f"training seconds  {metrics['seconds']:.1f}",
    ]
    return "\n".join(lines)


def model_card(bundle: Bundle) -> str:
    """Return the bundle's README: what it is, how it was trained, how well it does, how to use it."""
    config = bundle.config
    training = config["training"]
    settings = "\n".join(f"- {name}: {value}" for name, value in sorted(training.items()) if value is not None)
    arguments = "\n".join(f"- {name}: {value}" for name, value in sorted(config["arguments"].items()))
    return f"""# {config["model"]} trained on {training["dataset"]}

Labels: {", ".join(bundle.labels)}

```
{summary(bundle)}
```

## Use

```python
import dense_lstm_zoo as zoo

bundle = zoo.load("this folder")
bundle.predict(["a sentence", "another one"])
bundle.export("exports/my_model/1")  # a SavedModel for TF Serving: strings in, labels and probabilities out
```

## Training

{settings}

## Model arguments

{arguments}
"""
