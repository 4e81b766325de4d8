"""The report of a sweep: a table of trials, and a page with accuracy against parameters."""

from __future__ import annotations

import html
import io
import numbers
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import one_line, plots
from dense_lstm_zoo.reports.base import has_matplotlib
from dense_lstm_zoo.search.published import SIZES, of_phrases, published
from dense_lstm_zoo.search.trial import RESULT, bundles, read_result, read_spec
from dense_lstm_zoo.storage import files

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo.search.plan import Sweep

_OWN = ("trial", "status", "score", "std", "reason", "encoder_parameters", "parameters", "seconds")


def table(run_dir: Path, sweep: Sweep) -> pd.DataFrame:
    """Return one row per trial, best first, failed ones last."""
    import pandas as pd

    test = sweep.test_score
    rows = []
    folders = [folder for folder in sorted((run_dir / "trials").glob("*/")) if (folder / RESULT).is_file()]
    specs = [read_spec(folder) for folder in folders]
    searched = dict.fromkeys(name for spec in specs for name in spec["values"])  # no trial need have all of them
    for folder, spec in zip(folders, specs, strict=True):
        result = read_result(folder, sweep.score)
        rows.append(
            {
                "trial": folder.name,
                "status": "failed" if "reason" in result else "completed",
                "score": result.get(sweep.score),
                "std": result.get("std"),
                **({test: result.get(test)} if sweep.test == "all" else {}),
                **{**searched, **spec["values"]},
                "encoder_parameters": result.get("encoder_parameters"),
                "parameters": result.get("parameters"),
                "epochs": " ".join(map(str, result.get("epochs", []))),
                "best_epochs": " ".join(map(str, result.get("best_epochs", []))),
                "seconds": result.get("seconds"),
                "reason": one_line(result.get("reason", "")),
            }
        )
    frame = pd.DataFrame(rows, columns=list(rows[0]) if rows else list(_OWN))
    frame = frame.astype({name: "Int64" for name in ("encoder_parameters", "parameters") if name in frame})
    return frame.sort_values("score", ascending=not sweep.higher_is_better, kind="stable", ignore_index=True)


def value_columns(trials: pd.DataFrame) -> list[str]:
    """Return the columns of a table that hold searched values."""
    own = (*_OWN, "epochs", "best_epochs")
    return [name for name in trials.columns if name not in own and not name.startswith("test_")]


def point_text(row: pd.Series, trials: pd.DataFrame) -> str:
    """Return the values of a trial in a line. A width that a budget did not decide has none."""
    values = {name: row[name] for name in value_columns(trials)}
    return " ".join(f"{name}={short(value)}" for name, value in values.items() if value == value)


def short(value: object) -> str:
    """Return a value for display.

    Example:
        >>> short(0.00123456), short(1440000), short("mean")
        ('0.001235', '1,440,000', 'mean')
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, numbers.Integral) and not isinstance(value, bool) else str(value)


def write(run_dir: Path, sweep: Sweep, test: dict[str, Any] | None = None) -> pd.DataFrame:
    """Write ``results.csv`` and ``report.html`` and return the table."""
    trials = table(run_dir, sweep)
    with files.new_file(run_dir / "results.csv", "w") as file:
        trials.to_csv(file, index=False)
    with files.new_file(run_dir / "report.html", "w") as file:
        file.write(page(trials, sweep, test or {}))
    return trials


def summary(trials: pd.DataFrame, run_dir: Path, sweep: Sweep, test: dict[str, Any]) -> str:
    """Return a summary of a sweep from its table, in a few lines."""
    best, failures = trials.iloc[0], int((trials["status"] == "failed").sum())
    values = point_text(best, trials)
    lines = [f"best of {len(trials)} trials ({failures} failed): trial {best['trial']}: {values}"]
    lines.append(f"{sweep.score} {_with_spread(best['score'], best['std'])}, chosen on")
    measure = sweep.test_score
    if measure in test:
        lines.append(f"{measure} {_with_spread(test[measure]['mean'], test[measure]['std'])}, scored once")
    if runs := bundles(run_dir / "trials" / best["trial"]):
        lines.append(f"bundle in {escape_controls(str(runs[0]))}")
    lines.append(f"table and report in {escape_controls(str(run_dir))}: results.csv, report.html")
    return "\n".join(lines)


def _with_spread(mean: float, std: float | None) -> str:
    return f"{mean:.4f}" + (f" ± {std:.4f}" if std is not None and std == std else "")


def pareto(trials: pd.DataFrame, higher_is_better: bool) -> pd.DataFrame:
    """Return the trials that no other trial beats with as few parameters, fewest parameters first."""
    completed = trials[trials["status"] == "completed"].sort_values("encoder_parameters", kind="stable")
    front, best = [], None
    for index, row in completed.iterrows():
        if best is None or (row["score"] > best if higher_is_better else row["score"] < best):
            front.append(index)
            best = row["score"]
    return completed.loc[front]


def page(trials: pd.DataFrame, sweep: Sweep, test: dict[str, Any]) -> str:
    """Return the report: a single HTML file with embedded pictures, which loads nothing else."""
    completed = trials[trials["status"] == "completed"]
    title = f"{f'{len(sweep.rows)} rows' if sweep.rows else sweep.model} on {sweep.corpus}: {sweep.tuner} search"
    parts = [f"<h1>{html.escape(title)}</h1>", f"<p>{len(trials)} trials, {len(trials) - len(completed)} failed.</p>"]
    measure = sweep.test_score
    if measure in test:
        scored = _with_spread(test[measure]["mean"], test[measure]["std"])
        parts.append(f"<p>The winner's {measure.replace('_', ' ')}, scored once: {scored}.</p>")
    if len(completed) and has_matplotlib():
        try:
            with plots.own_settings():
                parts += _pictures(completed, pareto(trials, sweep.higher_is_better), sweep)
        except Exception as error:  # a missing picture must not stop a sweep
            parts.append(f"<p>No picture: {html.escape(one_line(f'{type(error).__name__}: {error}', 200))}.</p>")
    best = set(pareto(trials, sweep.higher_is_better)["trial"])
    parts.append("<h2>Trials</h2><p>Shaded: no other trial has a better score with as few parameters.</p>")
    parts.append(_html_table(trials, shaded=best))
    papers = published(trials, sweep)
    if len(papers):
        measure = sweep.task.measure + " in percent" * sweep.task.percent
        training = "after training on phrases, too, " if of_phrases(sweep.dataset) else ""
        parts.append(f"<h2>Published</h2><p>The papers' {measure} is {training}on test; ours is on dev.</p>")
        parts.append(_html_table(papers))
    return _PAGE.format(title=html.escape(title), body="\n".join(parts))


def _html_table(rows: pd.DataFrame, shaded: Collection[str] = ()) -> str:
    """Return a table. Rows whose trial is in ``shaded`` are shaded."""
    lines = []
    for row in rows.to_dict("records"):
        cells = "".join(f"<td>{html.escape(_cell(name, x))}</td>" for name, x in row.items())
        lines.append(f'<tr class="pareto">{cells}</tr>' if row["trial"] in shaded else f"<tr>{cells}</tr>")
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in rows.columns)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(name: str, value: Any) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    return f"{value:.4f}" if name in ("score", "std") or name.startswith("test_") else short(value)


def _pictures(completed: pd.DataFrame, front: pd.DataFrame, sweep: Sweep) -> list[str]:
    """Return the score against parameters with the Pareto front, and against each searched size."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    sizes = [name for name in completed.columns if name in SIZES]
    names = ["encoder_parameters", *[name for name in sizes if completed[name].nunique() > 1]]
    figure = Figure(figsize=(4.5 * len(names), 3.6), layout="constrained")
    FigureCanvasSVG(figure)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        axes.scatter(completed[name].astype(float), completed["score"], s=14, label="trial")
        if name == "encoder_parameters":
            axes.plot(front[name].astype(float), front["score"], color="tab:red", marker="o", label="Pareto front")
            axes.legend(fontsize="small")
        else:
            best = completed.groupby(name)["score"].agg("max" if sweep.higher_is_better else "min")
            axes.plot(best.index.astype(float), best.values, color="gray", linewidth=1)
        axes.set(xlabel=name.replace("_", " "), ylabel=sweep.score.replace("_", " "))
        axes.grid(alpha=0.3)
    svg = io.StringIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    return [f"<figure>{svg.getvalue()[svg.getvalue().index('<svg') :]}</figure>"]


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 2em; color: #222; }}
table {{ border-collapse: collapse; font-size: 0.9em; }}
td, th {{ border-bottom: 1px solid #ddd; padding: 0.3em 0.7em; text-align: right; }}
tr.pareto {{ background: #fdeeee; }}
figure {{ margin: 1em 0; }} svg {{ max-width: 100%; height: auto; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
