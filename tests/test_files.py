"""Files and folders written whole or not at all."""

import contextlib
import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.batch import input_files
from dense_lstm_zoo.corpora.loader import load_corpus
from dense_lstm_zoo.data import sources, word_source
from dense_lstm_zoo.language.corpora import read_text_files
from dense_lstm_zoo.measuring import folders
from dense_lstm_zoo.storage import files, lock, outputs
from dense_lstm_zoo.storage.lock import Lock
from dense_lstm_zoo.tagging.column_files import read_columns
from dense_lstm_zoo_runtime import Predictor, word_table
from tests.bundle_harness import bundle
from tests.cli_harness import output_of
from tests.files_harness import mounted, names, write


def write_half_a_file(path, *error):
    with files.new_file(path) as file:
        file.write(b"new")
        raise OSError(*(error or (28, "No space left on device")))


@pytest.fixture(params=["swap", "renames"])
def _replacing(request, monkeypatch):
    """Replace a folder by a swap of two names, and where the system has none by renames."""

    def no_library(*args, **kwargs):
        raise OSError

    if request.param == "renames":
        monkeypatch.setattr(ctypes, "CDLL", no_library)


replacing = pytest.mark.usefixtures("_replacing")


@replacing
def test_a_folder_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    write(tmp_path / "run", "old")
    (tmp_path / "run" / "b").write_text("also old")
    write(tmp_path / "run", "new")
    assert [(f.name, f.read_text()) for f in (tmp_path / "run").iterdir()] == [("a", "new")]
    assert [f.name for f in tmp_path.iterdir()] == ["run"]


def test_an_error_leaves_the_old_folder(tmp_path):
    write(tmp_path / "run", "old")
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "run", "new", ZeroDivisionError())
    assert (tmp_path / "run" / "a").read_text() == "old"
    assert names(tmp_path) == ["run"]


KILLED = """
import os, signal, sys
from pathlib import Path
from dense_lstm_zoo.storage import files, lock
writers = [getattr(files, sys.argv[1])(Path(path)) for path in sys.argv[2:]]
for writer in writers:
    writer.__enter__()
print("writing", flush=True)
sys.stdin.read()
os.kill(os.getpid(), signal.SIGKILL)
"""


@contextlib.contextmanager
def writing(kind, *paths):
    """Another process that is in the midst of writing, and is killed by -9 when the block ends."""
    command = [sys.executable, "-c", KILLED, kind, *map(str, paths)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        try:
            yield
        finally:
            process.communicate()
            assert process.returncode == -signal.SIGKILL


USERS_OWN = [".run.backup.new", ".run.mine.old", ".run.20240101.new", ".run.12345678", ".run.0123abcd.part"]


@pytest.mark.parametrize("kind", ["new_folder", "new_file"])
def test_what_a_killed_writer_left_is_swept_by_the_next_one_and_nothing_else_is(tmp_path, kind):
    for name in USERS_OWN:
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious").write_text("x")
    with writing(kind, tmp_path / "run", tmp_path / "run.v2", tmp_path / "run.0123abcd"):
        pass
    leftovers = set(names(tmp_path)) - set(USERS_OWN)
    assert len(leftovers) == 3
    with getattr(files, kind)(tmp_path / "run"):
        pass
    names_there = set(names(tmp_path))
    assert names_there >= {*USERS_OWN, "run"}
    assert names_there - {*USERS_OWN, "run"} == {
        name for name in leftovers if name.startswith((".run.v2.", ".run.0123abcd."))
    }
    assert len(names_there) == len(USERS_OWN) + 3
    assert all((tmp_path / name / "precious").exists() for name in USERS_OWN)


@pytest.mark.parametrize("kind", ["new_folder", "new_file"])
def test_what_another_process_writes_now_is_not_swept(tmp_path, kind):
    with writing(kind, tmp_path / "run"):
        before = names(tmp_path)
        with getattr(files, kind)(tmp_path / "run"):
            pass
        assert names(tmp_path) == [*before, "run"]
    with getattr(files, kind)(tmp_path / "run", *([True] if kind == "new_folder" else [])):
        pass
    assert names(tmp_path) == ["run"]


def test_a_replacement_that_was_killed_between_two_renames_is_undone(tmp_path):
    """A system that cannot swap two names has a moment without either."""
    write(tmp_path / "run", "old")
    (tmp_path / "run").rename(tmp_path / ".run.0123abcd.old.dense-lstm-zoo")
    (tmp_path / ".run.0123abcd.dense-lstm-zoo").mkdir()
    with pytest.raises(FileExistsError, match="already exists"):
        files.check_new_folder(tmp_path / "run")
    assert (tmp_path / "run" / "a").read_text() == "old"
    assert names(tmp_path) == ["run"]


def test_a_link_stays_and_its_target_is_written(tmp_path):
    for target in (tmp_path / "there", tmp_path / "not" / "there"):
        link = tmp_path / f"link to {target.parent.name}"
        link.symlink_to(target)
        write(link, "old")
        write(link, "new")
        assert link.is_symlink()
        assert (target / "a").read_text() == "new"
        assert files.beside(link, ".unfinished") == target.with_name("there.unfinished")
    with pytest.raises(FileExistsError, match="already exists"):
        files.check_new_folder(link)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ValueError, match="loop is a link that leads back to itself"):
        files.check_new_folder(tmp_path / "loop")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "name of the folder is empty"),
        ("a\0b", "null character"),
        ("a" * 250, "File name too long"),
        ("b/" * 3000, "File name too long"),
    ],
)
def test_names_that_no_folder_can_have_are_refused(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        files.check_new_folder(name, "any")


@pytest.mark.parametrize(
    "use",
    [
        zoo.load,
        zoo.from_preset,
        zoo.describe,
        Predictor,
        load_corpus,
        word_source.name_or_path,
        lambda name: input_files.matching_files([name]),
        lambda name: folders.find([name]),
        lambda name: read_text_files(train_file=name),
        lambda name: load_corpus("csv", train_file=name),
        lambda name: outputs.check_output(name, overwrite=False),
    ],
)
@pytest.mark.parametrize("name", ["a" * 300, "b/" * 3000], ids=["a name", "a path"])
def test_a_name_that_no_file_can_have_is_refused_in_a_line(use, name):
    with pytest.raises(
        ValueError, match=r"^No file or folder can have the name '[ab/]{60}'\.\.\.: File name too long\.$"
    ):
        use(name)


@pytest.mark.parametrize("use", [zoo.load, Predictor, load_corpus, lambda name: folders.find([name])])
def test_an_empty_name_is_not_the_current_folder(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"name of .* is empty"):
        use("")


def test_modes_follow_the_umask_which_is_never_changed(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")  # setting it, if for a moment, opens other threads' files to the world
            write(tmp_path / "run", "new")
            files.write_json(tmp_path / "x.json", {})
            Lock(tmp_path / "lock", "").release()
    finally:
        os.umask(before)
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {
        "run": "0o750",
        "x.json": "0o640",
        "lock": "0o640",
    }
    assert (tmp_path / "run" / "a").stat().st_mode & 0o777 == 0o640


@replacing
@pytest.mark.parametrize("mode", [0o700, 0o2770, 0o550])
def test_a_folder_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    write(tmp_path / "run", "old")
    (tmp_path / "run").chmod(mode)
    with files.new_folder(tmp_path / "run", "any") as folder:
        (folder / "a").write_text("new")
        assert folder.stat().st_mode & 0o7777 == mode | 0o700
    assert (tmp_path / "run" / "a").read_text() == "new"
    assert (tmp_path / "run").stat().st_mode & 0o7777 == mode | 0o700  # its owner goes on writing: cards and reports


def test_a_lock_notices_that_its_file_was_deleted(tmp_path):
    path = tmp_path / "state" / "lock"
    first = Lock(path, "held")
    assert first.is_in_place
    with pytest.raises(BlockingIOError, match="held"):
        Lock(path, "held")
    shutil.rmtree(path.parent)
    assert not first.is_in_place
    with Lock(path, "held") as second:
        assert second.is_in_place
        assert not first.is_in_place
    first.release()


def test_a_turn_without_locks_goes_on_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with lock.turn(tmp_path / "corpus.txt"):
        (tmp_path / "corpus.txt").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="as the block does"), lock.turn(tmp_path / "file" / "corpus.txt"):
        raise ValueError("as the block does")
    assert capsys.readouterr().err == ""


def test_a_turn_leaves_the_lock_of_another_process_alone(tmp_path):
    place = tmp_path / "corpus.txt.lock"
    with lock.turn(tmp_path / "corpus.txt"):
        place.unlink()
        other = Lock(place, "held")
    assert other.is_in_place
    other.release()


@pytest.mark.parametrize(("content", "has_locks"), [("mine", True), ("mine", False), ("", False)])
def test_a_turn_deletes_no_file_of_others_that_has_the_name_of_its_lock(tmp_path, monkeypatch, content, has_locks):
    place = tmp_path / "corpus.txt.lock"
    place.write_text(content)
    if not has_locks:
        monkeypatch.setattr(lock.fcntl, "flock", lambda *_: os.close(-1))  # as a file system without locks
    with lock.turn(tmp_path / "corpus.txt"):
        pass
    assert place.read_text() == content


def test_a_file_is_replaced_only_when_it_is_whole_and_a_failed_write_names_it(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")
    with pytest.raises(OSError, match=r"x\.json could not be written: No space left on device"):
        write_half_a_file(path)
    with pytest.raises(OSError, match=r"x\.json could not be written: No space left on device"):
        write_half_a_file(path, "4000 requested and 2032 written")  # by NumPy
    assert path.read_text() == "old"
    with files.new_file(path, "w") as file:
        file.write("new ü\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == "new ü\n".encode()
    assert [f.name for f in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_half_a_file(tmp_path)


@replacing
def test_a_folder_that_appears_while_another_is_written_is_not_lost(tmp_path):
    for number in ("", "-2"):
        with (  # noqa: PT012
            pytest.raises(FileExistsError, match=rf"run has changed since .* is in \S*run\.not-published{number}\.$"),
            files.new_folder(tmp_path / "run") as folder,
        ):
            (folder / "a").write_text("finished")
            shutil.rmtree(tmp_path / "run", ignore_errors=True)
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "precious").write_text("mine")
        assert names(tmp_path / "run") == ["precious"]
        assert (tmp_path / f"run.not-published{number}" / "a").read_text() == "finished"
        shutil.rmtree(tmp_path / "run")
    assert names(tmp_path) == ["run.not-published", "run.not-published-2"]


@replacing
def test_a_file_in_the_place_of_a_folder_is_not_lost(tmp_path):
    with pytest.raises(FileExistsError, match="not-published"), files.new_folder(tmp_path / "run") as folder:  # noqa: PT012
        (folder / "a").write_text("finished")
        (tmp_path / "run").write_text("mine")
    assert (tmp_path / "run").read_text() == "mine"
    assert (tmp_path / "run.not-published" / "a").read_text() == "finished"


@replacing
@pytest.mark.parametrize("change", ["added", "changed", "another folder"])
def test_overwriting_replaces_only_what_was_there_at_the_start(tmp_path, change):
    write(tmp_path / "run", "old")
    target = files.check_new_folder(tmp_path / "run", "any")
    with pytest.raises(FileExistsError, match="not-published"), files.new_folder(target) as folder:  # noqa: PT012
        (folder / "a").write_text("finished")
        if change == "another folder":
            shutil.rmtree(tmp_path / "run")
            (tmp_path / "run").mkdir()
        (tmp_path / "run" / ("a" if change == "changed" else "precious")).write_text("mine!")
    contents = {"added": {"a", "precious"}, "changed": {"a"}, "another folder": {"precious"}}[change]
    assert {entry.name for entry in (tmp_path / "run").iterdir()} == contents
    assert (tmp_path / "run" / ("a" if change == "changed" else "precious")).read_text() == "mine!"
    assert (tmp_path / "run.not-published" / "a").read_text() == "finished"


def test_two_writers_of_one_folder_lose_nothing(tmp_path):
    first, second = files.check_new_folder(tmp_path / "run"), files.check_new_folder(tmp_path / "run")
    for target, content in ((first, "first"), (second, "second")):
        expected = (
            contextlib.nullcontext() if target is first else pytest.raises(FileExistsError, match="not-published")
        )
        with expected, files.new_folder(target) as folder:
            (folder / "a").write_text(content)
    assert (tmp_path / "run" / "a").read_text() == "first"
    assert (tmp_path / "run.not-published" / "a").read_text() == "second"


@replacing
@pytest.mark.parametrize("existing", [None, "old"])
def test_an_output_file_that_appears_or_changes_meanwhile_is_not_lost(tmp_path, existing):
    path = tmp_path / "o.csv"
    if existing:
        path.write_text(existing)
    output = outputs.check_output(path, overwrite=True)
    message = r"o\.csv has changed since .* is in \S*o\.csv\.not-published\.$"
    with pytest.raises(FileExistsError, match=message), files.new_file(output, "w") as file:  # noqa: PT012
        file.write("finished")
        path.write_text("precious")
    assert path.read_text() == "precious"
    assert (tmp_path / "o.csv.not-published").read_text() == "finished"
    assert names(tmp_path) == ["o.csv", "o.csv.not-published"]
    with files.new_file(outputs.check_output(path, overwrite=True), "w") as file:
        file.write("new")
    assert path.read_text() == "new"


def test_a_path_keeps_its_meaning_when_the_current_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    target, output = files.check_new_folder("nodir/../run/"), outputs.check_output("o.txt", overwrite=False)
    assert files.resolved("nodir/../run/") == target.real == tmp_path / "run"
    with files.new_folder(target) as folder, files.new_file(output, "w") as file:
        (folder / "a").touch()
        file.write("text")
        monkeypatch.chdir(tmp_path / "other")
    assert names(tmp_path) == ["o.txt", "other", "run"]


def test_the_home_folder_is_meant_by_a_tilde_wherever_a_path_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write("~/run", "new")
    with files.new_file("~/a.txt", "w") as file:
        file.write("a")
    with files.new_file(outputs.check_output("~/b.txt", overwrite=False), "w") as file:
        file.write("b")
    assert files.beside("~/run", ".unfinished") == tmp_path / "run.unfinished"
    assert names(tmp_path) == ["a.txt", "b.txt", "run"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder that is not the current one."""
    for name in ("home", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    yield tmp_path / "home"
    assert names(tmp_path / "elsewhere") == []


def test_the_home_folder_is_meant_by_a_tilde_where_texts_are_named(home):
    (home / "x.txt").write_text("one line here\nanother\n")
    (home / "x.conll").write_text("Dogs NNS\nbark VBP\n\n")
    (home / "x.csv").write_text("text,label\ngood,yes\nbad,no\n" * 9)
    (home / "x.vec").write_text("good 1 2\n")
    assert read_text_files(train_file="~/x.txt").train.num_tokens == 4
    assert read_columns("~/x.conll").tags == [["NNS", "VBP"]]
    assert sorted(load_corpus("~/x.csv").label_names) == ["no", "yes"]
    assert word_source.name_or_path("~/x.vec") == str(home / "x.vec")
    assert word_source.dim("~/x.vec") == 2
    assert input_files.matching_files(["~/x.t*"]) == input_files.matching_files(["~/x.txt"]) == [str(home / "x.txt")]


def test_the_home_folder_is_meant_by_a_tilde_in_settings(home, monkeypatch):
    (home / "presets").mkdir()
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", "~/presets")
    monkeypatch.setenv("XDG_CACHE_HOME", "~/cache")
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", "~/")
    assert word_table.presets_folder() == home / "presets"
    assert sources.data_folders() == [home, home / "cache" / "dense_lstm_zoo"]


def test_the_home_folder_is_meant_by_a_tilde_where_bundles_are_named(home, capsys):
    bundle("gated_skip_tagger").save("~/tagger")
    assert names(home) == ["tagger"]
    assert folders.find(["~/tagger"])[0].path == home / "tagger"
    assert "gated_skip_tagger" in str(zoo.describe("~/tagger"))
    assert zoo.load("~/tagger").fingerprint() == zoo.from_preset("~/tagger").fingerprint()
    assert output_of(capsys, "predict", "~/tagger", "a b", "--output=~/x.jsonl")[0] == 0
    assert output_of(capsys, "export", "~/tagger", "~/export", "--format", "onnx")[0] == 0
    assert output_of(capsys, "predict", "~/export", "a b")[0] == 0
    assert names(home) == ["export", "tagger", "x.jsonl"]


@pytest.mark.slow
def test_the_home_folder_is_meant_by_a_tilde_where_runs_are_named(home, capsys):
    (home / "x.csv").write_text("text,label\ngood,yes\nbad,no\n" * 9)
    sizes = {"units": 2, "embedding_dim": 3, "epochs": 1, "progress": False}
    zoo.train("lstm", "~/x.csv", "~/run", **sizes)
    assert names(home) == ["run", "x.csv"]
    status, _, err = output_of(capsys, "tune", "lstm", "--dataset", "~/x.csv", "--run-dir=~/run", "--trials", "1")
    assert status == 2
    assert str(home / "run") in err


def test_a_lock_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for number, target in enumerate(("nowhere/file", "file")):
        (tmp_path / f"lock{number}").symlink_to(tmp_path / target)
        with pytest.raises(OSError, match=rf"lock{number} is a link, and cannot be a lock\. Remove it\."):
            Lock(tmp_path / f"lock{number}", "held")


def test_an_input_that_is_a_link_to_nothing_or_cannot_be_read_is_refused_with_the_reason(tmp_path, monkeypatch):
    (tmp_path / "link.txt").symlink_to("gone.txt")
    with pytest.raises(FileNotFoundError, match=r"link\.txt is a link to gone\.txt, which does not exist\.$"):
        files.existing_file(tmp_path / "link.txt")
    (tmp_path / "secret.txt").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)  # permissions do not bind root
    with pytest.raises(PermissionError, match=r"secret\.txt cannot be read: no permission\.$"):
        files.existing_file(tmp_path / "secret.txt")


def test_a_folder_on_a_read_only_mount_is_told_from_one_without_permission(tmp_path):
    with mounted(tmp_path / "disk", "tmpfs", "1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for check in (
            lambda: files.check_new_folder(disk / "run"),
            lambda: outputs.check_output(disk / "a.csv", False),
        ):
            with pytest.raises(PermissionError, match=r"disk/\S+ cannot be \w+: .*disk is mounted read-only\.$"):
                check()


def test_a_folder_that_is_to_be_a_pipe_is_refused_before_any_work():
    inner, outer = os.pipe()
    try:
        with pytest.raises(FileExistsError, match=r"/dev/fd/\d+ is a file; name a folder\.$"):
            files.check_new_folder(f"/dev/fd/{outer}", "bundle")
    finally:
        os.close(inner)
        os.close(outer)


@pytest.mark.parametrize("is_moved", [False, True])
@pytest.mark.parametrize("writer", [files.new_file, files.new_folder])
def test_an_output_whose_folder_goes_while_it_is_written_is_named_and_no_temporary_file(writer, is_moved, tmp_path):
    folder = tmp_path / "here"
    message = r"here/out could not be written: it, or the folder that it is in, was moved or removed"
    with pytest.raises(FileNotFoundError, match=message) as error, writer(folder / "out"):
        folder.rename(tmp_path / "there") if is_moved else shutil.rmtree(folder)
    assert "dense-lstm-zoo" not in str(error.value)
    assert not folder.exists()
