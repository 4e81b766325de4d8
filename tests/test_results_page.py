"""Tables and figures of results/README.md and of other pages are made from the rows."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks import figures, tables
from tuning import result_files

PAGE = tables.README.read_text(encoding="utf-8")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in tables.README.parent.glob("*.md")}
WITHOUT_ROWS = re.findall(r"<!-- table: (\w+) -->\n\n<!-- end -->", PAGE)  # tables that a script has yet to fill


def test_the_tables_are_those_of_the_results():
    assert tables.render(PAGE) == PAGE
    assert "<!-- table: classification -->\n| corpus |" in PAGE


def test_every_file_of_rows_has_its_table():
    names = set(re.findall(r"<!-- table: (\w+) -->", "".join(PAGES.values()))) - set(WITHOUT_ROWS)
    extra = {"speed_cpu", "recipe_search", "language_model_curves", "dynamic_interaction_curves"}
    extra.add("runtime_server")  # its tables are in deploy/runtime/README.md
    extra.add("batch")  # in docs/batch.md
    assert {path.stem for path in tables.README.parent.glob("*.csv")} - extra == names - {"speed"}


def test_every_section_begins_with_what_it_shows_and_folds_its_commands_away():
    sections = [*re.split(r"^## ", PAGE, flags=re.M)[1:], PAGES["SPEED.md"]]
    assert len(sections) >= 6
    for section in sections:
        assert section.split("\n\n")[1].startswith("**What it shows.** "), section.splitlines()[0]
    text = "".join(PAGES.values())
    unfolded = re.sub(r"<details>\n<summary>Commands</summary>\n\n```\n[^`]*```\n\n</details>", "", text)
    assert text.count("<details>") == text.count("<!-- table: ") - len(WITHOUT_ROWS)
    assert "```" not in unfolded


def test_a_new_row_replaces_the_old_one_with_its_key(tmp_path):
    path = tmp_path / "r.csv"
    tables.merge(path, [{"model": "a", "score": 1}, {"model": "b", "score": 2}], ["model"])
    tables.merge(path, [{"model": "a", "score": 3, "seeds": "1 2"}], ["model"])
    assert path.read_text() == "model,score,seeds\nb,2,\na,3,1 2\n"


def test_rows_that_two_commands_add_at_once_are_both_in_the_file(tmp_path, monkeypatch):
    path, read_rows = tmp_path / "r.csv", result_files.read_rows

    def slow_rows(path):
        rows = read_rows(path)
        time.sleep(0.5)
        return rows

    result_files.merge(path, [{"model": "a"}], ["model"])
    monkeypatch.setattr(result_files, "read_rows", slow_rows)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda model: result_files.merge(path, [{"model": model}], ["model"]), "bc"))
    assert sorted(read_rows(path)["model"]) == ["a", "b", "c"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", tables.PAGES, ids=lambda path: str(path.relative_to(tables.ROOT)))
def test_a_page_says_what_the_rows_say_and_any_other_figure_is_found(path):
    page = path.read_text(encoding="utf-8")
    assert tables.problems(page) == []
    assert figures.fill(page) == page
    (problem,) = tables.problems(f"{page}\nIt gains 12.3 points.")
    assert problem.startswith("no row is named for a figure of")


FIXED = "classification:sst2:{dc_bilstm - bilstm}:fixed_vectors"


@pytest.mark.parametrize(
    ("comment", "figure"),
    [
        ("classification:sst2:dc_bilstm:fixed_vectors:test", "87.77"),
        ("classification:sst2:dc_bilstm:fixed_vectors:test", "87.8"),
        ("classification:sst2:dc_bilstm:fixed_vectors:weights", "1,406,560"),
        (f"{FIXED}:test", "+1.30"),
        ("low classification:trec:{dc_bilstm - bilstm}:ding2018:settings=:runs", "-3.7"),
        ("high classification:trec:{dc_bilstm - bilstm}:ding2018:settings=:runs", "-0.6"),
        ("max rounded_vectors:dc_bilstm:sst2;trec:dev_texts", "872"),
        ("kept_memory:lstm:imdb:{returned_s / kept_s}", "0.956"),
        ("less language_model:{godin2017_dense_200x2_30_epochs / godin2017_stacked_200x2_30_epochs}:test", "22"),
        ("source: Kim 2014", "88.1"),
    ],
)
def test_a_comment_names_the_cells_that_a_figure_is_made_of(comment, figure):
    page = f"It has {figure}<!-- {comment} --> there."
    assert figures.fill(page) == page
    assert list(figures.problems(page)) == []


def test_a_figure_that_is_not_its_rows_is_found_and_mended():
    page = "It has 88.9<!-- classification:sst2:dc_bilstm:fixed_vectors:test --> %."
    assert list(figures.problems(page)) == [
        "the page says 88.9, and classification:sst2:dc_bilstm:fixed_vectors:test is 87.8: make tables"
    ]
    assert figures.fill(page) == page.replace("88.9", "87.8")


def test_a_figure_that_cannot_be_made_is_named():
    with pytest.raises(ValueError, match=r"1\.0<!-- classification:sst2:test -->: \d+ rows have what a page names"):
        figures.fill("It is 1.0<!-- classification:sst2:test -->.")


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("It is 1.0<!-- classification:sst2:test -->.", "rows have what a page names; it must be one"),
        ("It is 1.0<!-- classification:sst9:test -->.", "has no row for classification:sst9:test"),
        ("Level<!-- check: apart classification:cr:ding2018:{dc_bilstm - bilstm}:runs -->.", "its rows are not apart"),
        ("a\n<!-- source: Kim 2014 --> b", "begins a line"),
        ("It takes 7 % of the time.", "no row is named for a figure of 'It takes 7 % of the time.'"),
    ],
)
def test_what_cannot_be_filled_in_is_a_problem(page, problem):
    assert any(problem in each for each in figures.problems(page))


def test_figures_of_tables_pictures_headings_and_code_are_not_prose():
    page = (
        "# Version 0.2\n\n![Depth 1.44](a.png)\n\n<!-- table: x -->\n| 3.5 |\n<!-- end -->\n\nSet `rate=0.1`, 1.5 ms."
    )
    assert list(figures.problems(page)) == ["no row is named for a figure of 'Set , 1.5 ms.'"]


def test_the_check_ends_with_what_is_wrong_and_the_command_mends_it(monkeypatch, tmp_path):
    page = tmp_path / "README.md"
    page.write_text(PAGE.replace("87.8<!--", "88.9<!--").replace("| 87.77", "| 88.77"), encoding="utf-8")
    monkeypatch.setattr(tables, "PAGES", [page])
    with pytest.raises(SystemExit) as ended:
        tables.main(["--check"])
    assert "its tables are older than their rows: make tables" in ended.value.code
    assert "the page says 88.9, and classification:sst2:dc_bilstm:fixed_vectors:test is 87.8" in ended.value.code
    tables.main([])
    assert page.read_text(encoding="utf-8") == PAGE
