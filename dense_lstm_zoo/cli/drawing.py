"""Commands that print a table and also draw it: curves, gates, explain."""

from __future__ import annotations

from pathlib import Path

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.bundle import read_dev_curve
from dense_lstm_zoo.bundles.checks import read_labels
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli.arguments import BUNDLE, output
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, check_command, load_bundle
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo_runtime import install


@command(
    "curves",
    "Compare the dev accuracy of runs by batch; train them with --dev-every.",
    argument("bundles", nargs="+", metavar="bundle", help="folders that train --dev-every wrote, or presets"),
    *output("also draw them, as .png, .svg or .pdf"),
    example="curves runs/di runs/dc --output curves.png",
)
def curves(bundles: list[Source], output: str | None, overwrite: bool) -> None:
    """Print the best dev accuracy of each run by batch, and draw the curves."""
    picture = check_picture(output, overwrite)
    curves = {}
    for bundle in bundles:
        curve = read_dev_curve(BundleFolder.open(bundle).path)
        if curve is None:
            raise ValueError(f"{bundle} has no learning curve by batch; train it with --dev-every 1.")
        if curve.empty:
            raise ValueError(f"{bundle} was trained for fewer batches than its --dev-every; give 1 to train it again.")
        curves[str(bundle)] = curve
    print("bundle\tbatches\tbest dev accuracy\tat batch")
    for bundle, curve in curves.items():
        best = curve.loc[curve["dev_accuracy"].idxmax()]
        print(
            f"{escape_controls(bundle)}\t{int(curve['batch'].max())}\t{best['dev_accuracy']:.4f}\t{int(best['batch'])}"
        )
    if picture:
        from dense_lstm_zoo.display import plots

        plots.by_batch({"": curves}, picture, "dev accuracy by batch")


@command(
    "gates",
    "Show how far a tagger's skip gates are open, by layer and token.",
    BUNDLE,
    argument("sentence", help="a raw sentence"),
    *output("also draw it, as .png, .svg or .pdf"),
    example='gates runs/upos "I saw it."',
)
def gates(bundle: Source, sentence: str, output: str | None, overwrite: bool) -> None:
    """Print how far a tagger's skip gates are open, one token per line, and draw them."""
    picture = check_picture(output, overwrite)
    tagger = load_bundle(bundle, "gates")
    gates = tagger.gates(sentence)
    columns = [f"{direction} {layer}" for direction in ("forward", "backward") for layer in gates.layers]
    print("\t".join(["token", *columns]))
    for t, token in enumerate(gates.tokens):
        print("\t".join([escape_controls(token), *(f"{value:.3f}" for value in gates.values[:, :, t].T.reshape(-1))]))
    if picture:
        tagger.task.module("pictures").gates(gates, picture, f"gates of {tagger.config['model']}")


@command(
    "explain",
    "Show which words influenced a classifier, and which its layers looked at.",
    BUNDLE,
    argument("text", help="a raw text"),
    argument("--label", metavar="NAME", help="the label to explain (default: the likeliest)"),
    *output("also draw it, as .png, .svg or .pdf"),
    example='explain runs/sst2 "a smart , sweet and playful romantic comedy ."',
)
def explain(bundle: Source, text: str, label: str | None, output: str | None, overwrite: bool) -> None:
    """Print the saliency of a text's words and what each layer looked at, one word per line, and draw them."""
    picture = check_picture(output, overwrite)
    folder = BundleFolder.open(bundle)
    check_command(folder, folder.read_config(), "explain")
    if label is not None and label not in (labels := read_labels(folder.path / "labels.json")):
        raise checks.unknown_name("label of the model:", label, labels)
    model = load_bundle(folder, "explain")
    reading = model.explain(text, label=label)
    print(f"{escape_controls(reading.label)}\t{reading.probability:.4f}")
    print("\t".join(["token", "saliency", *reading.layers]))
    for token, saliency, shares in zip(reading.tokens, reading.saliency, reading.shares, strict=True):
        print("\t".join([escape_controls(token), f"{saliency:+.4f}", *(f"{share:.3f}" for share in shares)]))
    if picture:
        title = f"{model.config['model']}: {reading.label}, {reading.probability:.2f}"
        model.task.module("pictures").explanation(reading, picture, title)


def check_picture(output: str | None, overwrite: bool) -> Target | None:
    """Return the file of a picture, if there is to be one. Raise for one that cannot be written."""
    if output is None:
        return None
    from dense_lstm_zoo.reports.base import has_matplotlib

    if not has_matplotlib():
        raise ValueError(f"--output needs matplotlib: {install.extra('plots')}.")
    if Path(output).suffix not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--output must end in .png, .svg or .pdf; received {output!r}.")
    return check_output(output, overwrite)
