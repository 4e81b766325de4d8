"""The standard streams of the commands."""

import argparse
import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dense_lstm_zoo_runtime import streams


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_stream_that_the_shell_has_closed_is_opened(name, monkeypatch):
    monkeypatch.setattr(sys, name, None)
    streams.open_streams()
    if name == "stdin":
        assert sys.stdin.buffer.peek(1) == b""
        assert list(sys.stdin.buffer) == []
    else:
        print("lost", file=getattr(sys, name))
        getattr(sys, name).flush()
    getattr(sys, name).close()


def test_no_file_gets_the_number_of_a_closed_stream(tmp_path):
    code = (
        "import os, sys\n"
        "from dense_lstm_zoo_runtime import streams\n"
        "streams.open_streams()\n"
        "file = open(sys.argv[1], 'w')\n"
        "assert file.fileno() > 2\n"
        "os.write(1, b'a library writes here')\n"
        "os.write(2, b'and here')\n"
        "assert os.read(0, 9) == b''\n"
        "os.system('echo a child writes')\n"
    )
    command = ["bash", "-c", '"$@" <&- >&- 2>&-', "-", sys.executable, "-c", code, str(tmp_path / "out.txt")]
    assert subprocess.run(command).returncode == 0
    assert (tmp_path / "out.txt").read_text() == ""


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_a_character_that_the_output_lacks_is_escaped_as_json_does(encoding, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding, errors="strict"))
    streams.open_streams()
    texts = ["love it 😀", "naïve", "\ud83d"]
    print(json.dumps(texts, ensure_ascii=False), flush=True)
    assert json.loads(raw.getvalue().decode(encoding)) == texts


def break_stream(monkeypatch, name):
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, name, io.TextIOWrapper(io.FileIO(writer, "w"), encoding="utf-8", line_buffering=True))


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_work_goes_on_when_its_reader_has_left_and_says_so(name, monkeypatch, capsys):
    break_stream(monkeypatch, name)
    outer = getattr(sys, name)
    with streams.unread_output():
        for _ in range(3):
            print("one line per epoch", file=getattr(sys, name), flush=True)
    assert getattr(sys, name) is outer
    outer.close()  # nothing is left that would fail at the end
    if name == "stdout":
        assert (
            "stdout could not be written and was dropped, the work went on: [Errno 32] Broken pipe"
            in capsys.readouterr().err
        )


def test_work_goes_on_when_its_log_has_no_room(monkeypatch):
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with streams.unread_output():
            print("one line per epoch", flush=True)


def test_all_that_is_written_arrives_in_a_pipe_that_does_not_block(monkeypatch):
    code = "import sys, time; time.sleep(0.3); sys.exit(len(sys.stdin.read()) != 500_000)"
    reader = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    os.set_blocking(reader.stdin.fileno(), False)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(reader.stdin, write_through=True))
        with streams.unread_output():
            for _ in range(5):
                print("x" * 99_999, flush=True)
        sys.stdout.close()
    assert reader.wait() == 0


def test_a_logger_that_the_work_sets_up_writes_afterwards_too(tmp_path, monkeypatch):
    with (tmp_path / "log").open("w") as log:
        monkeypatch.setattr(sys, "stderr", log)
        with streams.unread_output():
            handler = logging.StreamHandler()
        for number in range(2):
            handler.emit(logging.makeLogRecord({"msg": f"line {number}"}))
    assert (tmp_path / "log").read_text() == "line 0\nline 1\n"


@pytest.mark.slow
def test_a_training_is_finished_though_nobody_reads_its_output(tmp_path):
    command = (
        f"{sys.executable} -m dense_lstm_zoo train bilstm --dataset demo --vectors none --embedding-dim 8 --units 4 "
    )
    command += f"--epochs 2 --run-dir {tmp_path / 'run'} | head -1"
    ran = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert ran.returncode == 0
    assert (tmp_path / "run" / "manifest.json").is_file()
    assert "the work went on" in ran.stderr


@pytest.mark.slow
def test_the_server_runs_with_closed_output(tmp_path):
    command = f"{sys.executable} -m dense_lstm_zoo_runtime.serve {tmp_path / 'none'} >&-"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ran.returncode, "formatter" in ran.stderr) == (2, False)


HOSTILE = "\x1b]0;owned\x07\x9b31m\u202egnp\u2066"


def unsafe_characters(text):
    """Return the characters of a text that must not reach a terminal."""
    return [char for char in text if char in HOSTILE and not char.isalnum() and char not in "];"]


def stderr_of(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="utf-8", write_through=True))
    streams.open_streams()
    return raw


def test_messages_of_any_library_reach_the_terminal_without_control_characters(monkeypatch):
    raw = stderr_of(monkeypatch)
    print(f"a {HOSTILE}", file=sys.stderr)
    sys.stderr.write(f"\r{HOSTILE}\n")
    with pytest.raises(SystemExit):
        argparse.ArgumentParser("a command").error(HOSTILE)
    with streams.unread_output():
        print(f"in a block {HOSTILE}", file=sys.stderr)
    streams.open_streams()  # again, as a second command in one process
    print(f"\\ {HOSTILE}", file=sys.stderr)
    text = raw.getvalue().decode()
    assert not unsafe_characters(text)
    assert text.startswith("a \\x1b]0;owned\\x07\\x9b31m\\u202egnp\\u2066\n\r")
    assert text.count("\\x1b]0;owned") == 5
    assert "\\\\x1b" not in text  # nothing is escaped twice


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_data_on_a_terminal_loses_control_characters_and_in_a_file_it_does_not():
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        streams.for_reading(stream).write(f"a\t{HOSTILE}\n")
    assert not unsafe_characters(terminal.getvalue())
    assert terminal.getvalue().endswith("\n")
    assert file.getvalue() == f"a\t{HOSTILE}\n"
