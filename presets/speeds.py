"""Measure what predictions of the presets cost, all in one session, and write it into their cards.

Times of different machines or hours cannot be compared, and cards are: run this after presets were built, with nothing
else running. The presets take turns, and each figure is the median of its rounds. From the repository's root:

    python -m presets.speeds
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from presets.build import MODELS, corpus_of, speed


def measure(bundles: Mapping[str, Any], parts: Mapping[str, Any], rounds: int) -> dict[str, dict[str, Any]]:
    """Return the figures of bundles that take turns, by name: the median of each figure over the rounds."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in bundles}
    for number in range(1, rounds + 1):
        for name, bundle in bundles.items():
            rows[name].append(speed(bundle, parts[name]))
            print(f"round {number} of {rounds}: {name}, {rows[name][-1]['p50_ms_1']} ms", flush=True)
    return {name: _medians(figures) for name, figures in rows.items()}


def _medians(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("p50_ms_1", "p99_ms_1", "texts_per_s")
    return {**rounds[0], **{name: statistics.median(row[name] for row in rounds) for name in names}}


def write(folder: Path, figures: Mapping[str, Any]) -> None:
    """Write figures into a preset and its card, and its new checksum into its export. No weights are written."""
    import dense_lstm_zoo as zoo
    from dense_lstm_zoo.bundles.folder import BundleFolder, write_manifest
    from dense_lstm_zoo.exports.onnx import folder as onnx_folder
    from dense_lstm_zoo.reports import base, cards
    from dense_lstm_zoo.storage import files

    names = BundleFolder.open(folder).names
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    files.write_json(folder / "metrics.json", {**metrics, **figures})
    write_manifest(folder, names)
    bundle = zoo.load(folder)
    base.write_readme(lambda: cards.model_card(bundle, folder), folder)
    export = folder / "onnx"
    config = json.loads((export / "config.json").read_text(encoding="utf-8"))
    files.write_json(export / "config.json", {**config, "bundle": files.sha256(folder / "manifest.json")})
    onnx_folder.write_manifest(export)
    base.write_card(bundle, export, onnx_folder.USE)


def main() -> None:
    """Measure the presets, and write their cards and the index."""
    import dense_lstm_zoo as zoo
    from dense_lstm_zoo import checks
    from dense_lstm_zoo.bundles import presets
    from tuning import protocols

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each preset, in turn (default: 3)")
    options = parser.parse_args()
    with protocols.plain_errors():
        checks.integer("--rounds", options.rounds)
        names = [path.parent.name for path in sorted(MODELS.glob("*/metrics.json")) if "p50_ms_1" in path.read_text()]
        bundles = {name: zoo.load(MODELS / name) for name in names}
        parts = {name: corpus_of(bundle).dev for name, bundle in bundles.items()}
        for name, figures in measure(bundles, parts, options.rounds).items():
            write(MODELS / name, figures)
        presets.write_index(MODELS)


if __name__ == "__main__":
    main()
