"""The README and the pages of docs/: their code runs, their commands parse, their links resolve."""

import dataclasses
import json
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import layers
from dense_lstm_zoo.classification.demo import LABEL_NAMES
from dense_lstm_zoo.cli.parser import parser
from dense_lstm_zoo.data.word_table import quantised
from dense_lstm_zoo.models import registry
from tests import pages
from tests.shell_harness import PRESETS
from tuning import command as results

WITH_PYTHON = [path for path in pages.GUIDES if pages.blocks(path, "python")]
TRAINING = re.compile(r"\b(train|explain|tune|run_protocol|fit|export|save_to_preset)\(")
# Caps that keep a quick run quick, whatever a page asks for.
SIZES = {"num_dense_layers": 1, "num_layers": 1, "dense_units": 3, "top_units": 4, "units": 6, "embedding_dim": 8}
PARTS = {"train": 80, "dev": 20, "test": 20}


def shortened(corpus):
    def shorten(split, size):
        if isinstance(split, list | tuple):
            return split[:size]
        columns = {field.name: getattr(split, field.name) for field in dataclasses.fields(split)}
        return dataclasses.replace(
            split, **{n: x[:size] for n, x in columns.items() if isinstance(x, list | np.ndarray)}
        )

    splits = {part: shorten(getattr(corpus, part), n) for part, n in PARTS.items() if getattr(corpus, part) is not None}
    return dataclasses.replace(corpus, **splits)


@pytest.fixture
def workplace(run, tmp_path, monkeypatch):
    """A folder with the files and the bundle that the pages read. Everything that they write lands there."""
    monkeypatch.chdir(tmp_path)
    for name in ("reviews", "demo"):
        shutil.copytree(run[1], tmp_path / "runs" / name)
    reviews, tagged = zoo.load_corpus("demo").train, zoo.load_corpus("demo", task="tagging").train
    lines = [f"{stars + 1},{json.dumps(text)}\n" for text, stars in zip(reviews.texts, reviews.labels, strict=True)]
    (tmp_path / "reviews.csv").write_text("stars,review\n" + "".join(lines[:300]), encoding="utf-8")
    labelled = [f"{LABEL_NAMES[i]},{json.dumps(text)}\n" for text, i in zip(reviews.texts, reviews.labels, strict=True)]
    (tmp_path / "labelled.csv").write_text("label,text\n" + "".join(labelled[-50:]), encoding="utf-8")
    (tmp_path / "mine.txt").write_text("\n".join(reviews.texts[:100]), encoding="utf-8")
    sentences = zip(tagged.tokens[:100], tagged.tags[:100], strict=True)
    columns = ("\n".join(map(" ".join, zip(*sentence, strict=True))) for sentence in sentences)
    (tmp_path / "mine.conll").write_text("\n\n".join(columns) + "\n", encoding="utf-8")
    words = ["movie", "film", "good", "bad", "fine", "dull"]
    matrix = np.random.default_rng(0).normal(size=(len(words), 6))
    quantised("zoo_600d", words, matrix).write(tmp_path / "presets" / "vectors" / "zoo_600d")
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Let the zoo train one epoch of small models on a part of each corpus, with the kernel that compiles nothing."""
    load_corpus, build = zoo.load_corpus, zoo.build

    def small(model, options):
        arguments = registry.entry(model).arguments
        caps = {size: min(options.get(size) or cap, cap) for size, cap in SIZES.items() if size in arguments}
        return options | caps | {"kernel": "native"}

    def trains(run):
        def _run(model, dataset, run_dir, **options):
            if isinstance(dataset, str):
                dataset = load_corpus(dataset, task=registry.entry(model).task)
            settings = {**small(model, options), "epochs": 1, "batch_size": 10, "progress": False}
            return run(model, shortened(dataset), run_dir, **settings)

        return _run

    for run in (zoo.train, zoo.run_protocol):
        monkeypatch.setattr(zoo, run.__name__, trains(run))
    monkeypatch.setattr(zoo, "load_corpus", lambda *arguments, **options: shortened(load_corpus(*arguments, **options)))
    monkeypatch.setattr(zoo, "build", lambda model, **options: build(model, **small(model, options)))


def page(path):
    """The page as a case, slow if it trains, exports or scores."""
    trains = any(TRAINING.search(block.text) for block in pages.blocks(path, "python") if block.mark != "not run")
    return pytest.param(path, marks=[pytest.mark.slow] if trains else [], id=pages.name(path))


def remove_what_it_trains(path, workplace):
    """Remove the runs that a page trains itself."""
    code = "\n".join(block.text for block in pages.blocks(path, "python") if block.mark != "not run")
    for name in re.findall(r'\btrain\([^)]*"runs/(reviews|demo)"', code):
        shutil.rmtree(workplace / "runs" / name)


@pytest.mark.parametrize("path", [page(path) for path in WITH_PYTHON])
def test_the_code_of_a_page_runs(path, workplace, quick, monkeypatch):
    remove_what_it_trains(path, workplace)
    namespace = {}
    for block in pages.blocks(path, "python"):
        # Empty lines before it, so that a traceback has the page's own line numbers.
        code = compile("\n" * block.line + block.text, str(path), "exec")
        if block.mark == "presets":
            with monkeypatch.context() as patched:
                patched.setenv("DENSE_LSTM_ZOO_PRESETS", str(PRESETS))
                exec(code, namespace)
        elif not block.mark:
            exec(code, namespace)


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_PYTHON, ids=pages.name)
def test_the_code_of_a_page_runs_as_it_stands_in_a_fresh_process(path, workplace):
    remove_what_it_trains(path, workplace)
    code = "\n".join(block.text for block in pages.blocks(path, "python") if block.mark not in ("not run", "presets"))
    run = subprocess.run([sys.executable, "-c", code], cwd=workplace, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    counts = [len(list(workplace.glob(f"exports/{file}"))) for file in ("*/1/saved_model.pb", "*/model.onnx")]
    assert sum(counts) == code.count(".export(")


def test_every_mark_of_a_page_belongs_to_a_block():
    for path in pages.GUIDES:
        marked = [block for block in pages.blocks(path, "python", *pages.SHELL) if block.mark]
        assert len(marked) == len(re.findall(r"<!-- (?:not run|slow|presets):", path.read_text(encoding="utf-8"))), path


def test_every_command_is_in_a_block_that_is_run():
    names = r"(?:\$ )?(?:dense-lstm-zoo|python3?|pip|make|docker|curl|export|hf) "
    for path in pages.GUIDES:
        fences = [token for token in pages.tokens(path) if token.type == "fence"]
        others = [token.content for token in fences if token.info.strip() not in ("python", *pages.SHELL)]
        assert not [text for text in others if re.match(names, text, re.M)], path


def commands(path):
    """The commands of a page: lines of its shell blocks, and those in sentences that have arguments."""
    lines = [line for block in pages.blocks(path, "shell") for line in block.text.splitlines()]
    assert all(line.startswith("dense-lstm-zoo ") for line in lines), lines
    in_sentences = [text for text in pages.code_in_sentences(path) if re.match(r"dense-lstm-zoo [a-z-]+ .", text)]
    return lines + in_sentences


def check(command):
    """Parse a command, and fail as a user would see it."""
    try:
        parser().parse_args(shlex.split(command)[1:])
    except SystemExit as error:
        raise AssertionError(f"{command} does not parse") from error


@pytest.mark.parametrize("path", [path for path in pages.GUIDES if commands(path)], ids=pages.name)
def test_every_command_of_a_page_parses(path):
    for command in commands(path):
        check(command)


def test_a_command_with_an_option_that_is_gone_would_be_found():
    with pytest.raises(AssertionError, match="does not parse"):
        check("dense-lstm-zoo train dc_bilstm --dataset trec --run-dir runs/trec --gone 3")


def subcommands():
    (commands_action,) = (action for action in parser()._actions if isinstance(action.choices, dict))
    return commands_action.choices


def test_every_option_that_a_sentence_names_is_one_of_a_command():
    tables = map(results.parser_of, map(results.load, (*results.PAPERS, *results.OTHERS)))
    options = {option for parser in (*subcommands().values(), *tables) for option in parser._option_string_actions}
    for path in pages.GUIDES:
        spans = [text for text in pages.code_in_sentences(path) if not text.startswith("python -m ")]
        names = {option for text in spans for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
        assert names <= options, (path, names - options)


def test_every_command_is_in_the_list_of_commands():
    commands_of_page = re.findall(
        r"^\| `([a-z-]+)` \| .+ \| \[", (pages.ROOT / "docs" / "commands.md").read_text(), re.M
    )
    assert set(subcommands()) <= set(commands_of_page)
    assert len(commands_of_page) == len(set(commands_of_page))


@pytest.mark.parametrize("path", [*pages.PAGES, *pages.OTHERS], ids=pages.name)
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(path):
    for link in pages.links(path):
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        assert file.exists() or file.is_relative_to(pages.ROOT / "docs" / "generated"), link  # written by make docs
        assert not anchor or anchor in pages.anchors(file), link


@pytest.mark.parametrize("path", pages.PAGES, ids=pages.name)
def test_every_file_that_a_sentence_names_is_there(path):
    folders = "|".join(entry.name for entry in pages.ROOT.iterdir() if entry.is_dir() and entry.name != "runs")
    for text in pages.code_in_sentences(path):
        if re.fullmatch(rf"({folders})/[\w./-]*", text) and not text.startswith("docs/_build"):
            assert (pages.ROOT / text).exists(), text


def documented():
    """The names that the pages of the reference document, in full."""
    names_of_pages = []
    for path in pages.GUIDES:
        for block in pages.blocks(path, "{eval-rst}"):
            module = re.search(r"currentmodule:: (\S+)", block.text)
            names = re.findall(r"^\.\. auto(?:class|data|exception|function):: (\S+)$", block.text, re.M)
            names_of_pages += [f"{module[1]}.{name}" if module else name for name in names]
    return names_of_pages


@pytest.mark.parametrize("module", [zoo, layers], ids=lambda module: module.__name__)
def test_every_public_name_is_in_the_reference(module):
    names = documented()
    assert len(names) == len(set(names))
    assert {f"{module.__name__}.{name}" for name in module.__all__} <= set(names)
    ours = {name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == module.__name__}
    assert ours <= set(module.__all__)
