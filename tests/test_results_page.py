"""Tables of results/README.md are made from the rows; its sentences, and those of other pages, agree with them."""

import re

import pytest

from benchmarks import claims, tables
from benchmarks.claims.pages import PAGES
from benchmarks.claims.rows import Claim, Quoted

PAGE = tables.README.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_results():
    assert tables.render(PAGE) == PAGE
    assert "<!-- table: classification -->\n| corpus |" in PAGE


def test_every_file_of_rows_has_its_table():
    shown = set(re.findall(r"<!-- table: (\w+) -->", PAGE))
    extra = {"speed_cpu", "recipe_search", "language_model_curves", "dynamic_interaction_curves"}
    extra.add("runtime_server")  # its tables are in deploy/runtime/README.md
    extra.add("batch")  # in docs/batch.md
    assert {path.stem for path in tables.README.parent.glob("*.csv")} - extra == shown - {"speed"}


def test_every_section_begins_with_what_it_shows_and_folds_its_commands_away():
    sections = re.split(r"^## ", PAGE, flags=re.M)[1:]
    assert len(sections) >= 6
    for section in sections:
        assert section.split("\n\n")[1].startswith("**What it shows.** "), section.splitlines()[0]
    unfolded = re.sub(r"<details>\n<summary>Commands</summary>\n\n```\n[^`]*```\n\n</details>", "", PAGE)
    assert PAGE.count("<details>") == PAGE.count("<!-- table: ")
    assert "```" not in unfolded


def test_a_new_row_replaces_the_old_one_with_its_key(tmp_path):
    path = tmp_path / "r.csv"
    tables.merge(path, [{"model": "a", "score": 1}, {"model": "b", "score": 2}], ["model"])
    tables.merge(path, [{"model": "a", "score": 3, "seeds": "1 2"}], ["model"])
    assert path.read_text() == "model,score,seeds\nb,2,\na,3,1 2\n"


def test_the_sentences_say_what_their_rows_say():
    assert list(claims.problems(PAGE)) == []


@pytest.mark.parametrize("name", PAGES)
def test_other_pages_say_what_the_rows_say(name):
    page = (tables.ROOT / name).read_text(encoding="utf-8")
    assert list(claims.problems(page, [PAGES[name]])) == []
    figure = next(claim.text for claim in PAGES[name]() if isinstance(claim, Claim))
    said = claims.prose(page)
    assert list(claims.problems(said.replace(figure, figure.replace(".", ".9")), [PAGES[name]]))
    assert list(claims.problems(f"{said} It gains 12.3 points.", [PAGES[name]]))


def test_every_section_with_figures_has_claims():
    assert all(len(list(section())) >= 3 for section in claims.SECTIONS)


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        (
            "DC-Bi-LSTM has the best score of that table on SST-2, 87.8 %",
            "DC-Bi-LSTM has 88.9 % on SST-2",
            "the rows say",
        ),
        ("9.0 million) is at 87.9", "9.0 million) is at 86.9", "Godin et al. 2017, Table 1 is quoted with"),
        ("**Speed.** All layers", "It gains 12.3 points. All layers", "no row is named for a figure of"),
        ("Its dropout, weight", "It takes 7 % of the time. Its dropout, weight", "no row is named for a figure of"),
    ],
)
def test_a_sentence_that_its_rows_do_not_bear_out_is_found(was, becomes, said):
    assert was in PAGE
    assert any(problem.startswith(said) for problem in claims.problems(PAGE.replace(was, becomes)))


def test_a_claim_whose_rows_have_changed_is_found(monkeypatch):
    text = "every interval contains zero"
    monkeypatch.setattr(claims, "SECTIONS", (*claims.SECTIONS, lambda: [Claim(text, holds=False)]))
    assert list(claims.problems(PAGE)) == [f"the page says {text!r}, and its rows do not"]


def test_figures_of_tables_pictures_headings_and_code_are_not_prose():
    page = (
        "# Version 0.2\n\n![Depth 1.44](a.png)\n\n<!-- table: x -->\n| 3.5 |\n<!-- end -->\n\nSet `rate=0.1`, 1.5 ms."
    )
    assert list(claims.unexplained(claims.prose(page), [])) == ["Set `rate=0.1`, 1.5 ms."]
    assert list(claims.unexplained(claims.prose(page), [Quoted("1.5 ms", "a test").text])) == []


def test_the_check_ends_with_what_is_wrong(monkeypatch, tmp_path):
    page = tmp_path / "README.md"
    page.write_text(PAGE.replace("87.8 %", "88.9 %").replace("| 87.77", "| 88.77"), encoding="utf-8")
    monkeypatch.setattr(tables, "README", page)
    with pytest.raises(SystemExit) as ended:
        tables.main(["--check"])
    assert "its tables are older than their rows: make tables" in ended.value.code
    assert "the rows say 'DC-Bi-LSTM has the best score of that table on SST-2, 87.8 %'" in ended.value.code
    tables.main([])
    assert "| 87.77" in page.read_text(encoding="utf-8")
