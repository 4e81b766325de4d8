"""The papers' claims beside our rows: verdicts, and cells without rows."""

import math

import pytest

from benchmarks import claims, figures, paper_claims
from benchmarks.claims import CHANCE, FAILS, HOLDS, OPEN, REAL, Claim

SST2 = "classification_fixed:sst2:{dc_bilstm - cnn_mc}:runs"
PAPERS = [value for name, value in vars(paper_claims).items() if name[-4:].isdecimal()]


@pytest.mark.parametrize(
    ("gain", "interval", "verdict"),
    [
        (2.0, (1.0, 0.1, 1.9), HOLDS),
        (2.0, (-1.0, -1.9, -0.1), FAILS),
        (2.0, (0.5, -0.1, 1.1), FAILS),
        (2.0, (0.5, -2.0, 3.0), OPEN),
        (-2.0, (-1.0, -1.9, -0.1), HOLDS),
        (-2.0, (0.5, -0.1, 1.1), FAILS),
        (2.0, (5.0, math.nan, math.nan), OPEN),
        (None, (1.0, 0.1, 1.9), REAL),
        (None, (-1.0, -1.9, -0.1), REAL),
        (None, (0.5, -0.1, 1.1), CHANCE),
        (None, (5.0, math.nan, math.nan), OPEN),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_papers_gain(gain, interval, verdict):
    assert claims._verdict(gain, interval) == verdict


def test_a_claim_shows_the_differences_of_its_rows_and_is_open_where_there_are_none():
    mean, low, high = figures.interval(SST2)
    claim = Claim("x", {"SST-2": 1.6, "MR": 1.7, "CR": None}, {"SST-2": SST2}, decides="more seeds")
    text, gains, ours, verdict = (cell.replace("&nbsp;", " ") for cell in claim.cells())
    assert text == "x<br>To decide: more seeds"
    assert gains == "SST-2 +1.6<br>MR +1.7<br>CR -"
    assert ours == f"{mean:+.1f} ({low:+.1f} to {high:+.1f})<br>not run<br>not run"
    assert verdict == f"{HOLDS}<br>{OPEN}<br>{OPEN}"
    assert Claim("x", paper="-20 %").cells() == ("x", "-20 %", "not run", OPEN)


def test_figures_of_single_runs_are_filled_in():
    cell = "8<!-- language_model:godin2017_dense_200x2_30_epochs:test --> %"
    assert Claim("x", paper="-", ours=cell, verdict=HOLDS).cells()[2:] == (figures.fill(cell), HOLDS)


@pytest.mark.parametrize("paper", PAPERS, ids=len)
def test_every_case_of_our_rows_is_one_of_the_papers(paper):
    assert len(PAPERS) == 4
    for claim in paper:
        assert set(claim.rows) <= set(claim.gains)
        assert claim.gains or claim.paper
        assert bool(claim.ours) == bool(claim.verdict)
