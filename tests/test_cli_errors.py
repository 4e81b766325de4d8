"""Every command ends in one line, whatever goes wrong."""

import pytest

from dense_lstm_zoo.cli import main
from dense_lstm_zoo.cli.command import COMMANDS
from dense_lstm_zoo.search import plan, settings


def fail_with(monkeypatch, error):
    def failing(*args, **kwargs):
        raise error

    monkeypatch.setattr(COMMANDS["train"], "run", failing)


def tensorflow_error():
    import tensorflow as tf

    return tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor\nwith shape[9]\n\nstack: ...")


@pytest.mark.parametrize(
    ("make", "status", "start"),
    [
        (lambda: RuntimeError("the kernel died\nin line 3"), 1, "error: RuntimeError: the kernel died ("),
        (lambda: MemoryError(), 1, "error: out of memory; a smaller --batch-size or model needs less. ("),
        (
            lambda: RecursionError("maximum recursion depth exceeded"),
            1,
            "error: RecursionError: maximum recursion depth",
        ),
        (tensorflow_error, 1, "error: out of memory; a smaller --batch-size or model needs less. OOM when allocating"),
        (lambda: ValueError("two\nlines \x1b[31m"), 2, "error: two lines \\x1b[31m\n"),
        (lambda: OSError(28, "No space left on device"), 1, "error: [Errno 28] No space left on device\n"),
    ],
)
def test_an_error_is_one_line_and_its_traceback_is_there_for_the_asking(monkeypatch, capsys, make, status, start):
    fail_with(monkeypatch, make())
    monkeypatch.delenv("DENSE_LSTM_ZOO_DEBUG", raising=False)
    arguments = ["train", "bilstm", "--dataset", "demo", "--run-dir", "x"]
    assert main(arguments) == status
    err = capsys.readouterr().err
    assert err.startswith(start)
    assert err.count("\n") == 1
    assert ("DENSE_LSTM_ZOO_DEBUG=1 shows the traceback" in err) == (status == 1 and "Errno" not in start)
    monkeypatch.setenv("DENSE_LSTM_ZOO_DEBUG", "1")
    assert main(arguments) == status
    traced = capsys.readouterr().err
    assert "Traceback" in traced
    assert traced.endswith(err)


def test_other_tensorflow_errors_are_one_line(monkeypatch, capsys):
    import tensorflow as tf

    fail_with(monkeypatch, tf.errors.InvalidArgumentError(None, None, "indices[0,1] = -1 is not in [0, 20)\nmore"))
    assert main(["train", "bilstm", "--dataset", "demo", "--run-dir", "x"]) == 1
    assert capsys.readouterr().err.startswith("error: InvalidArgumentError: indices[0,1] = -1 is not in [0, 20) (")


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch):
    fail_with(monkeypatch, KeyError("x"))
    with pytest.raises(KeyError):
        main(["train", "bilstm", "--dataset", "demo", "--run-dir", "x"])


def test_an_option_nested_a_thousand_deep_is_a_string(monkeypatch):
    options_of_run = {}
    monkeypatch.setattr(COMMANDS["train"], "run", lambda **options: options_of_run.update(options))
    main(["train", "bilstm", "--dataset", "demo", "--run-dir", "x", "--units", "[" * 100_000])
    assert options_of_run["units"] == "[" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label\na,1\nb," + "9" * 5000 + "\n", "a.csv: 1 row (line 3) with a label longer than 1,000"),
        ("a.tsv", "text\tlabel\na\t1\nb\t" + "9" * 5000 + "\n", "a.tsv: 1 row (line 3) with a label longer than 1,000"),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n{"text": "b", "label": ' + "9" * 5000 + "}\n",
            "a.jsonl, line 2 holds a",
        ),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n' + "[" * 100_000 + "\n",
            "a.jsonl, line 2 is JSON that is nested too deeply",
        ),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n{"text": "b", "label": "x\\ud800"}\n',
            "1 row (line 2) with a label with",
        ),
    ],
)
@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_a_file_that_python_cannot_read_is_named_with_its_row(
    run, tmp_path, monkeypatch, capsys, command, name, content, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(content)
    arguments = {
        "train": ["train", "bilstm", "--train-file", name, "--run-dir", "run"],
        "evaluate": ["evaluate", str(run[1]), "--test-file", name],
    }
    assert main(arguments[command]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert len(err) < 400


def test_overwriting_is_advised_only_where_it_can_be_asked_for(run, tmp_path, capsys):
    (tmp_path / "a.csv").write_text("text,label\nfine,positive\n")
    with pytest.raises(FileExistsError, match=r"already exists; choose another folder\.$"):
        settings.claim(tmp_path, plan.plan("bilstm", "demo", space={"units": [4, 5]}))
    arguments = ["--test-file", str(tmp_path / "a.csv"), "--report", str(tmp_path)]
    assert main(["evaluate", str(run[1]), *arguments]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path} already exists; choose another folder.\n"


def test_a_librarys_error_is_not_called_bad_input(monkeypatch, capsys):
    import numpy as np

    def failing_inside(**options):
        np.testing.assert_array_compare("not a function", 1, 2)  # raises within NumPy's own Python code

    arguments = ["train", "bilstm", "--dataset", "demo", "--run-dir", "x"]
    monkeypatch.delenv("DENSE_LSTM_ZOO_DEBUG", raising=False)
    monkeypatch.setattr(COMMANDS["train"], "run", failing_inside)
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: TypeError: ")
    assert "raised in numpy" in err
    assert err.count("\n") == 1
