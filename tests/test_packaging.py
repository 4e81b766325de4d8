"""Distributions: one version, a page for the index, licences of data and models, and wheels that work."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser

import pytest
import setuptools
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import dense_lstm_zoo as zoo
import dense_lstm_zoo_runtime as runtime
from dense_lstm_zoo.corpora import loader, terms
from dense_lstm_zoo_runtime import install
from tests import pages

VERSION = runtime.__version__
DISTRIBUTIONS = {
    "dense_lstm_zoo": ".",
    "dense_lstm_zoo_runtime": "dense_lstm_zoo_runtime",
    "dense_lstm_zoo_presets": "presets",
}
NOT_SHIPPED = ("tests", "benchmarks", "tuning", "notebooks", "deploy", "results", "runs")


@pytest.fixture
def declared(monkeypatch):
    """Return the arguments that setup.py passes to setuptools."""
    arguments = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: arguments.update(options))
    monkeypatch.chdir(pages.ROOT)
    runpy.run_path("setup.py")
    return arguments


def test_the_version_is_the_same_wherever_it_is_read(declared):
    assert zoo.__version__ == declared["version"] == VERSION
    assert f"dense-lstm-zoo-runtime=={VERSION}" in declared["install_requires"]
    assert re.search(r"^## (\S+)", (pages.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[1] == VERSION
    places = [path for path in (pages.ROOT / "dense_lstm_zoo").rglob("*.py") if VERSION in path.read_text("utf-8")]
    assert places == []
    presets = (pages.ROOT / "presets" / "dense_lstm_zoo_presets" / "__init__.py").read_text(encoding="utf-8")
    assert f'__version__ = "{VERSION}"' in presets  # a distribution of files alone, which imports nothing


def test_the_pins_admit_what_loads_and_leave_out_what_does_not(declared):
    zoo_needs = {need.name: need.specifier for need in map(Requirement, declared["install_requires"])}
    assert "2.21.0" not in zoo_needs["tensorflow-text"]  # it does not load beside TensorFlow 2.21.0
    assert "2.21.1" in zoo_needs["tensorflow-text"]
    project = tomllib.loads((pages.ROOT / "dense_lstm_zoo_runtime" / "pyproject.toml").read_text("utf-8"))["project"]
    pythons = SpecifierSet(project["requires-python"])
    assert all(version in pythons for version in ("3.11", "3.13", "3.14", "3.15"))
    assert not [line for line in project["classifiers"] if "Linux" in line or "POSIX" in line]
    names = {Requirement(need).name for need in project["dependencies"]}
    assert names == {"numpy", "onnxruntime", "google-re2"}


def test_commands_that_install_this_project_are_written_in_one_place():
    shipped = [
        path for name in ("dense_lstm_zoo", "dense_lstm_zoo_runtime") for path in (pages.ROOT / name).rglob("*.py")
    ]
    places = {path.name for path in shipped if re.search(r"\bpip3? install\b", path.read_text("utf-8"))}
    assert places == {"install.py"}
    commands = [install.RUNTIME, install.PRESETS, install.extra("plots"), install.extra("beam")]
    for command in commands:
        assert command.startswith("pip install ./")
        assert "dense-lstm-zoo" not in command  # a name that is on no index
        for folder in re.findall(r"\./(\w+)", command):
            assert (pages.ROOT / folder / "pyproject.toml").is_file()


def test_an_extra_that_a_message_names_is_declared(declared):
    extras = set()
    for path in (pages.ROOT / "dense_lstm_zoo").rglob("*.py"):
        extras |= set(re.findall(r"install\.extra\(\"(\w+)\"\)", path.read_text("utf-8")))
    assert extras
    assert extras <= set(declared["extras_require"])


def test_the_citation_has_what_its_format_requires_and_the_papers():
    text = (pages.ROOT / "CITATION.cff").read_text(encoding="utf-8")
    citation = yaml.safe_load(text)
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert (citation["cff-version"], citation["version"], citation["license"]) == ("1.2.0", VERSION, "Apache-2.0")
    years = {(row["authors"][0]["family-names"], row["year"]) for row in citation["references"]}
    assert years == {("Ding", 2018), ("Godin", 2017), ("Wu", 2016), ("Xie", 2019)}
    assert "@" not in text


def test_the_page_of_the_index_leads_nowhere_that_is_not_there(declared):
    page = declared["long_description"]
    assert len(page.encode()) < 10_000
    assert declared["long_description_content_type"] == "text/markdown"
    assert "<!--" not in page
    assert "![" not in page
    assert all(link.startswith("https://") for link in re.findall(r"\]\(([^)]*)\)", page))
    assert "trained models" in page  # the words of a link stay
    assert "docs/presets.md" in (pages.ROOT / "README.md").read_text(encoding="utf-8")


def test_who_made_it_and_what_it_is_are_declared_without_personal_data(declared):
    assert declared["author"]
    assert "author_email" not in declared
    assert "@" not in str({name: value for name, value in declared.items() if name != "long_description"})
    assert all(address.startswith("https://") for address in declared["project_urls"].values())
    assert {"Programming Language :: Python :: 3.11", "Topic :: Text Processing :: Linguistic"} <= set(
        declared["classifiers"]
    )
    assert not [need for need in declared["install_requires"] if need.startswith("torch")]
    assert all(name.partition(".")[0] == "dense_lstm_zoo" for name in declared["packages"])


def rows(heading):
    """The cells of the tables below a heading of the page on licences."""
    page = (pages.ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and "`" in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_on_licences_has_the_terms_of_every_corpus():
    terms_by_corpus = {name: cells[1] for cells in rows("Corpora") for name in re.findall(r"`(\w+)`", cells[0])}
    assert terms_by_corpus.keys() == set(loader.published())
    for name in terms_by_corpus:
        assert terms_by_corpus[name].startswith(terms.terms_of(name)), name


def test_the_page_on_licences_has_every_preset_that_is_distributed():
    index = json.loads((pages.ROOT / "dense_lstm_zoo" / "bundles" / "presets_index.json").read_text(encoding="utf-8"))
    terms_by_preset = {
        cells[0].split("`")[1]: (cells[1].strip("`"), cells[2].strip("`")) for cells in rows("Trained models")
    }
    assert terms_by_preset == {row["name"]: (row["corpus"], row["vectors"]) for row in index["presets"]}
    licensed = {name for name in loader.published() if "LDC" in terms.terms_of(name)} | {"conll2000"}
    assert not licensed.intersection(corpus for corpus, _ in terms_by_preset.values())


def test_the_page_on_presets_names_those_that_are_not_the_best_of_several_seeds():
    page = (pages.ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
    sentence = page.partition(" were trained with seed 1 only")[0].rpartition(". ")[2]
    single_seeds = set(re.findall(r"`(\w+)`", sentence))
    cards = pages.ROOT.glob("presets/dense_lstm_zoo_presets/models/*/README.md")
    assert single_seeds == {
        card.parent.name for card in cards if "best of 3 seeds on dev" not in card.read_text("utf-8")
    }


def ran(*command, cwd=None):
    """The output of a command that sees none of the settings of this project's tests."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("DENSE_LSTM_ZOO", "PYTHON"))}
    result = subprocess.run([*map(str, command)], cwd=cwd, env=own, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
    return result.stdout


def environment(folder):
    """A clean virtual environment, and the start of its pip commands."""
    ran(sys.executable, "-m", "venv", folder)
    return folder / "bin" / "python", [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """A copy of the tree, the sdists of the three distributions, and the wheels that pip makes of them."""
    place = tmp_path_factory.mktemp("built")
    ignored = shutil.ignore_patterns(".venv", ".git", "runs", "_build", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(pages.ROOT, place / "tree", ignore=ignored)
    python, pip = environment(place / "builder")
    ran(*pip, "install", "setuptools>=77")
    make = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    for folder in DISTRIBUTIONS.values():
        ran(python, "-c", make, place / "sdists", cwd=place / "tree" / folder)
    sdists = {name: place / "sdists" / f"{name}-{VERSION}.tar.gz" for name in DISTRIBUTIONS}
    ran(*pip, "wheel", "--no-deps", "--wheel-dir", place / "wheels", *sdists.values())
    wheels = {name: next((place / "wheels").glob(f"{name}-*.whl")) for name in DISTRIBUTIONS}
    return place / "tree", sdists, wheels


@pytest.mark.slow
def test_distributions_hold_what_they_need_and_nothing_else(distributions):
    tree, sdists, wheels = distributions
    for name, wheel in wheels.items():
        with zipfile.ZipFile(wheel) as archive:
            members = set(archive.namelist())
            metadata = next(member for member in members if member.endswith(".dist-info/METADATA"))
            fields = Parser().parsestr(archive.read(metadata).decode())
        assert {member.partition("/")[0] for member in members} == {name, metadata.partition("/")[0]}
        assert (fields["Name"].replace("-", "_"), fields["Version"]) == (name, VERSION)
        assert fields["Author"] == "The dense_lstm_zoo authors"
        assert fields["Keywords"]
        assert fields["Classifier"]
        assert fields.get_payload().strip()
        requirements = [need for need in fields.get_all("Requires-Dist", []) if "extra ==" not in need]
        assert not any(need.startswith("torch") for need in requirements)
        with tarfile.open(sdists[name]) as archive:
            files = {member.partition("/")[2] for member in archive.getnames()}
        assert not [member for member in files if member.partition("/")[0] in NOT_SHIPPED]
        assert {"PKG-INFO", "pyproject.toml", "README.md"} <= files
    source = tree / "dense_lstm_zoo"
    with zipfile.ZipFile(wheels["dense_lstm_zoo"]) as archive:
        members = {member for member in archive.namelist() if member.startswith("dense_lstm_zoo/")}
        assert any(member.endswith("licenses/LICENSE") for member in archive.namelist())
    assert members == {f"dense_lstm_zoo/{path.relative_to(source)}" for path in source.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_three_wheels_work_in_a_clean_environment(distributions, tmp_path):
    python, pip = environment(tmp_path / "venv")
    ran(*pip, "install", *distributions[2].values())
    ran(*pip, "check")
    packages = {row["name"].lower() for row in json.loads(ran(*pip, "list", "--format", "json"))}
    assert {"dense-lstm-zoo", "dense-lstm-zoo-runtime", "dense-lstm-zoo-presets", "tensorflow"} <= packages
    assert "torch" not in packages
    command = python.with_name("dense-lstm-zoo")
    assert ran(command, "--version", cwd=tmp_path).strip() == f"dense-lstm-zoo {VERSION}"
    assert "dc_bilstm_sst2" in ran(command, "list", "presets", cwd=tmp_path)
    answer = ran(command, "predict", "dc_bilstm_sst2", "A smart and sweet comedy.", cwd=tmp_path)
    assert answer.startswith("positive")
    small = ["--units", "4", "--embedding-dim", "8", "--epochs", "1", "--vectors", "none"]
    ran(command, "train", "bilstm", "--dataset", "demo", *small, "--run-dir", "run", cwd=tmp_path)
    assert ran(command, "predict", "run", "A dull film.", cwd=tmp_path).split()[0] in ("positive", "negative")
    script = "import dense_lstm_zoo as zoo; print(zoo.__file__)"
    assert ran(python, "-c", script, cwd=tmp_path).startswith(str(tmp_path / "venv"))


@pytest.mark.slow
def test_the_runtime_and_the_presets_answer_without_tensorflow(distributions, tmp_path):
    python, pip = environment(tmp_path / "venv")
    ran(*pip, "install", *(wheel for name, wheel in distributions[2].items() if name != "dense_lstm_zoo"))
    packages = {row["name"].lower() for row in json.loads(ran(*pip, "list", "--format", "json"))}
    assert not packages & {"tensorflow", "keras", "torch", "pandas", "dense-lstm-zoo"}
    output = ran(python, "-m", "dense_lstm_zoo_runtime", "dc_bilstm_sst2", "A smart and sweet comedy.", cwd=tmp_path)
    assert "positive" in output
