"""Pages made from the code when the site is built: the help of commands, the cards of the presets, drawn figures."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import drawings

WIDTH = 80  # columns of the commands' help
ANSWERS = {  # what a preset says of a text, by the corpus it was trained on
    "sst2": "positive or negative, of film reviews (SST-2)",
    "sst1": "one of five degrees, of film reviews (SST-1)",
    "cr": "positive or negative, of product reviews (CR)",
    "subj": "fact or opinion (Subj)",
    "trec": "what kind of answer a question wants (TREC)",
    "ewt_upos": "parts of speech, 17 universal tags (UD EWT)",
    "ewt_xpos": "parts of speech, Penn tags (UD EWT)",
    "imdb_raw": "nothing by itself: other models train with it (IMDb)",
}


def write(folder: Path) -> None:
    """Write the pages into ``folder``, and remove those of an earlier build."""
    (folder / "presets").mkdir(parents=True, exist_ok=True)
    for old in folder.rglob("*.md"):
        old.unlink()
    (folder / "commands.md").write_text(commands(), encoding="utf-8")
    cards = dict(preset_cards())
    for name, card in cards.items():
        (folder / "presets" / f"{name}.md").write_text(card, encoding="utf-8")
    (folder / "presets.md").write_text(list_of_presets(list(cards)), encoding="utf-8")
    drawings.write(folder)
    (folder / "preset_scores.inc").write_text(preset_scores(list(cards)), encoding="utf-8")


def commands() -> str:
    """Return a page with the help of every command, as the parser prints it."""
    from dense_lstm_zoo.cli.parser import parser

    (subcommands,) = (action for action in parser()._actions if isinstance(action.choices, dict))
    parts = [
        "# Every command's help",
        "`train MODEL --help` and `tune MODEL --help` also list the model's own options.",
    ]
    for name, command in subcommands.choices.items():
        command.formatter_class = functools.partial(command.formatter_class, width=WIDTH)
        parts.append(f"## {name}\n\n```text\n{command.format_help().rstrip()}\n```")
    parts += ["## Options of train by task, in full", "The help of a model shortens what does not fit in a line."]
    return "\n\n".join([*parts, *options_by_task()]) + "\n"


def options_by_task() -> Iterator[str]:
    """Yield a heading and a table for the options of ``train`` that each task has."""
    from dense_lstm_zoo import tasks
    from dense_lstm_zoo.corpora.dataset import as_option

    for task in tasks.every():
        rows = []
        for option in task.options:
            values = f" ({', '.join(option.choices)})" if option.choices else ""
            cells = (f"`{as_option(option.name)}`", f"{option.help}{values}", option.default_text)
            rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        yield f"### {task.title.capitalize()}"
        yield "\n".join(["| option | what it does | default |", "|---|---|---|", *rows])


def preset_cards() -> Iterator[tuple[str, str]]:
    """Yield the name and the card of each installed preset of the zoo."""
    import dense_lstm_zoo_presets

    for card in sorted((Path(dense_lstm_zoo_presets.__file__).parent / "models").glob("*/README.md")):
        yield card.parent.name, card.read_text(encoding="utf-8")


def preset_scores(names: list[str]) -> str:
    """Return a short table of the zoo's own presets, for the home page."""
    import dense_lstm_zoo as zoo

    rows = []
    corpora = list(ANSWERS)
    for preset in sorted(zoo.list_presets(), key=lambda preset: corpora.index(preset.corpus)):
        if preset.name in names:
            link = f"[`{preset.name}`](generated/presets/{preset.name}.md)"
            size = f"{preset.size / 2**20:.1f}\N{NO-BREAK SPACE}MB"
            rows.append(f"| {link} | {ANSWERS[preset.corpus]} | {_score(preset)} | {size} |")
    return "\n".join(["| preset | answers with | score | size |", "|---|---|---|---|", *rows]) + "\n"


def _score(preset: Any) -> str:
    if preset.score is None:
        return "-"
    return f"dev perplexity {preset.score:.1f}" if preset.score > 1 else f"{100 * preset.score:.1f} %"


def list_of_presets(names: list[str]) -> str:
    """Return a page with a row for each of the presets and links to their cards."""
    import dense_lstm_zoo as zoo

    rows = []
    for preset in zoo.list_presets():
        name = f"[`{preset.name}`](presets/{preset.name}.md)" if preset.name in names else f"`{preset.name}`"
        score = "-" if preset.score is None else f"{preset.measure} {preset.score:.4f}, {preset.protocol}"
        cells = (name, preset.task, preset.corpus, score, f"{preset.size / 2**20:.1f} MB")
        rows.append(f"| {' | '.join(cells)} |")
    head = "| preset | task | corpus | score | size |"
    parts = [
        "# Every preset",
        "[Presets](../presets.md) says how to use them. Each name leads to a card, which has the terms of the data.",
        "\n".join([head, "|---|---|---|---|---|", *rows]),
        "\n".join(["```{toctree}", ":hidden:", "", *(f"presets/{name}" for name in names), "```"]),
    ]
    return "\n\n".join(parts) + "\n"
