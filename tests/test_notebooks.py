"""Every notebook runs from top to bottom in a fresh kernel, with the committed outputs."""

import base64
import copy
import importlib.util
import math
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MACHINE = re.compile(r"/(home|root|tmp|work|Users|var|opt|usr)/|site-packages")
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\d)")


def outputs_of(cell):
    """Return a cell's outputs: kind, words with a # for each number, the numbers. Streams in pieces are joined."""
    outputs = []
    for output in cell.get("outputs", []):
        if output.get("name") == "stderr":
            continue
        kind = (output["output_type"], output.get("name"), tuple(sorted(output.get("data", {}))))
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        if outputs and output["output_type"] == "stream" and outputs[-1][0] == kind:
            outputs[-1] = (kind, outputs[-1][1] + text, outputs[-1][2])
        else:
            outputs.append((kind, text, output.get("data", {})))
    return outputs


def close(ours, theirs):
    """Compare two numbers as a reader does: equal integers, shares to 0.03, other decimals to a tenth.

    Seeds make two runs on one machine equal to the bit. Another processor rounds otherwise, and training amplifies it.
    """
    if "." not in ours and "." not in theirs:
        return ours == theirs
    a, b = (float(number.replace(",", "")) for number in (ours, theirs))
    return abs(a - b) <= (0.03 if abs(b) <= 1 else 0.1 * abs(b))


def size(picture):
    """Width and height of a PNG in base64."""
    header = base64.b64decode(picture)[:24]
    assert header.startswith(b"\x89PNG")
    return [int.from_bytes(header[i : i + 4], "big") for i in (16, 20)]


def form(text, data):
    """Return the size of an output: rows and cells of a table, else lines."""
    table = data.get("text/html", "")
    return [table.count(tag) for tag in ("<tr", "<th", "<td")] if table else text.count("\n")


def differences(cell, committed):
    """Return what a cell says that is not what is stored of it, in a few words each."""
    ours, theirs = outputs_of(cell), outputs_of(committed)
    if [kind for kind, *_ in ours] != [kind for kind, *_ in theirs]:
        return [f"outputs {[kind for kind, *_ in ours]}, stored {[kind for kind, *_ in theirs]}"]
    messages = []
    for (_, text, data), (_, stored_text, stored_data) in zip(ours, theirs, strict=True):
        if "image/png" in data:
            pairs = zip(size(data["image/png"]), size(stored_data["image/png"]), strict=True)
            if not all(math.isclose(a, b, rel_tol=0.1) for a, b in pairs):
                messages.append("a picture of another size")
        if "learned" in committed.metadata.get("tags", ()):
            if form(text, data) != form(stored_text, stored_data):
                messages.append(f"another form: {text!r}, stored {stored_text!r}")
            continue
        words, stored_words = (NUMBER.sub("#", " ".join(t.split())) for t in (text, stored_text))
        if words != stored_words:
            messages.append(f"{words!r}, stored {stored_words!r}")
            continue
        numbers = zip(NUMBER.findall(text), NUMBER.findall(stored_text), strict=True)
        messages += [f"{a}, stored {b}" for a, b in numbers if not close(a, b)]
    return messages


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_is_committed(path, tmp_path, monkeypatch):
    monkeypatch.delenv("DENSE_LSTM_ZOO_PRESETS")  # the installed distribution, as for a user after ``make install``
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    execute = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(execute)
    committed = nbformat.read(path, as_version=4)
    fresh = execute.run(path, tmp_path)
    assert execute.complaints(fresh) == []
    cells = zip(fresh.cells, committed.cells, strict=True)
    all_differences = {
        i: messages for i, (cell, committed_cell) in enumerate(cells) if (messages := differences(cell, committed_cell))
    }
    assert not all_differences
    for text in (text for cell in fresh.cells for _, text, _ in outputs_of(cell)):
        assert not MACHINE.search(text)
        assert "Warning" not in text


def test_notebooks_are_committed_with_their_outputs_and_name_no_path_of_a_machine():
    nbformat = pytest.importorskip("nbformat")
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert any("image/png" in output.get("data", {}) for output in outputs)
        assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
        for text in (text for cell in notebook.cells for _, text, _ in outputs_of(cell)):
            assert not MACHINE.search(text)
            assert "Warning" not in text


def change(notebook, old, new):
    """A copy of a notebook's cells in which ``old``, an expression, is replaced in one output, and what it matched."""
    cells = copy.deepcopy(notebook.cells)
    (cell,) = (cell for cell in cells if any(re.search(old, text) for _, text, _ in outputs_of(cell)))
    old_words = []
    for output in cell.outputs:
        for holder, key in ((output, "text"), (output.get("data", {}), "text/plain")):
            if key in holder:
                old_words += re.findall(old, holder[key])
                holder[key] = re.sub(old, new, holder[key])
    return cells, old_words[0]


SCORE = r"(?<=test_accuracy )( +)(0\.\d+)"  # of the first model in the table of scores


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4,000 train", "4,001 train", "4,001, stored 4,000"),
        ("negative, positive", "negative, neutral", "neutral"),
        ("1,406,560", "1,406,561", "1,406,561, stored 1,406,560"),
        ("test_accuracy", "test_score", "test_score"),
        (r"\[b'(negative|positive)'", "[b'neither'", None),  # of a cell that is marked as learned
        (r"expected calibration error 0\.\d+", "two\nlines", "another form"),
    ],
)
def test_a_cell_that_says_something_else_is_noticed(old, new, message):
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    cells, _ = change(notebook, old, new)
    messages = [text for pair in zip(cells, notebook.cells, strict=True) for text in differences(*pair)]
    if message is None:
        assert messages == []
    else:
        assert message in " ".join(messages)


@pytest.mark.parametrize(("off", "noticed"), [(0.037, True), (0.007, False)])
def test_a_score_may_differ_a_little_but_not_more(off, noticed):
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    cells, (_, score) = change(notebook, SCORE, lambda match: f"{match[1]}{float(match[2]) - off:.3f}")
    messages = [text for pair in zip(cells, notebook.cells, strict=True) for text in differences(*pair)]
    assert messages == ([f"{float(score) - off:.3f}, stored {score}"] if noticed else [])
