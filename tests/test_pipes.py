"""Input that can be read only once: pipes give what files give, or are refused before any work."""

import copy
import os
import pickle
import threading

import pytest

from dense_lstm_zoo.corpora.loader import load_corpus
from dense_lstm_zoo.corpora.own_files import read_split
from dense_lstm_zoo.data.text_file import TextFile
from dense_lstm_zoo.data.vectors import read_vectors
from dense_lstm_zoo.search.plan import plan
from dense_lstm_zoo.storage import files, pipes

COLUMNS = "".join(f"token{number:05}_abcdefghij O\n\n" for number in range(3000)).encode()  # more than a pipe holds
TABLE = b"text,label\n" + b"a fine film,good\na bad film,bad\n" * 3000
LINES = b"".join(b'{"text": "film %d", "label": "good"}\n{"text": "no", "label": "bad"}\n' % i for i in range(3000))
TEXT = b"".join(b"to be or not to be %d\n" % number for number in range(9000))
INPUTS = {"columns": COLUMNS, "csv": TABLE, "jsonl": LINES, "text": TEXT}


@pytest.fixture
def fifo(tmp_path):
    """Return a function that makes a named pipe through which some bytes come once."""

    def make(content):
        path = tmp_path / f"pipe{len(list(tmp_path.iterdir()))}"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=[content], daemon=True).start()
        return path

    return make


@pytest.fixture
def silent(tmp_path, monkeypatch):
    """A named pipe that nobody writes to, and readers that give up at once."""
    monkeypatch.setattr(pipes, "PATIENCE", 0.05)
    os.mkfifo(tmp_path / "silent")
    return tmp_path / "silent"


def content(corpus):
    """Return the content of the parts of a corpus."""
    return [list(part) if isinstance(part, TextFile) else part for part in (corpus.train, corpus.dev)]


@pytest.mark.parametrize("form", INPUTS)
def test_a_corpus_from_a_pipe_is_that_of_a_file(form, fifo, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(INPUTS[form])
    expected, from_pipe = load_corpus(form, train_file=path), load_corpus(form, train_file=fifo(INPUTS[form]))
    assert content(from_pipe) == content(expected)
    assert content(from_pipe) == content(expected), "it can be read again"


def test_a_pipe_without_a_name_is_read_too():
    inner, outer = os.pipe()
    threading.Thread(target=lambda: (os.write(outer, b"Dogs NNS\nbark VBP\n\n" * 20), os.close(outer))).start()
    assert len(load_corpus("columns", train_file=f"/dev/fd/{inner}").train) == 18
    os.close(inner)


@pytest.mark.parametrize("form", INPUTS)
def test_a_model_is_scored_on_all_that_comes_through_a_pipe(form, fifo, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(INPUTS[form])
    (expected, labels), (from_pipe, labels_of_pipe) = read_split(form, path), read_split(form, fifo(INPUTS[form]))
    assert labels == labels_of_pipe
    assert list(from_pipe) == list(expected) if form == "text" else from_pipe == expected


def test_text_from_a_pipe_survives_a_copy_and_names_its_bad_line(fifo):
    text = TextFile(fifo(TEXT))
    assert text.num_lines == 9000
    assert pickle.loads(pickle.dumps(text)).num_lines == copy.deepcopy(text).num_lines == 9000
    with pytest.raises(ValueError, match="line 3 is not utf-8"):
        list(TextFile(fifo(b"a\nb\n\xff\n")))


def test_vectors_are_read_from_a_pipe(fifo):
    lines = b"".join(b"w%d 0.5 %d\n" % (number, number) for number in range(9000))
    vectors = read_vectors(fifo(lines), most_frequent=None)
    assert (len(vectors.words), vectors.matrix[-1].tolist()) == (9000, [0.5, 8999.0])


@pytest.mark.parametrize("form", INPUTS)
def test_a_pipe_that_nobody_writes_to_is_given_up(form, silent):
    with pytest.raises(ValueError, match="no program has opened for writing"):
        list(load_corpus(form, train_file=silent).train)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_devices_without_an_end_are_refused(path):
    with pytest.raises(ValueError, match="is a device, not a file"):
        files.existing_file(path)


def test_a_folder_is_not_said_to_be_readable_once(tmp_path):
    with pytest.raises(ValueError, match=r"is a folder; name a file in it\.$"):
        pipes.regular(tmp_path, "workers read their own parts of it")


def test_a_socket_is_refused(tmp_path, monkeypatch):
    import socket

    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("here")
        with pytest.raises(ValueError, match="is a socket, not a file"):
            files.existing_file("here")


def test_an_empty_device_is_an_empty_file():
    with pytest.raises(ValueError, match="empty"):
        load_corpus("text", train_file="/dev/null")


@pytest.mark.parametrize("option", ["train_file", "dev_file", "test_file"])
def test_a_sweep_refuses_files_that_its_trials_cannot_read_again(option, silent, tmp_path):
    data = {"train_file": tmp_path / "mine.csv", option: silent}
    (tmp_path / "mine.csv").write_bytes(TABLE)
    with pytest.raises(ValueError, match="can be read only once, but every trial of a sweep reads it"):
        plan("bilstm", "csv", data=data)


def test_a_sweep_refuses_vectors_from_a_pipe(silent):
    with pytest.raises(ValueError, match="can be read only once, but every trial of a sweep reads it"):
        plan("bilstm", "demo", vectors=str(silent))
