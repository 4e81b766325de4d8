"""Saving keeps the model even if figures and reports fail."""

import errno
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import checks, weights_file
from dense_lstm_zoo.classification import report as classification_report
from dense_lstm_zoo.display import plots
from dense_lstm_zoo.reports import cards
from dense_lstm_zoo.storage import scratch
from dense_lstm_zoo.training.prepare import prepare
from dense_lstm_zoo.training.request import check
from tests import bundle_harness
from tests.files_harness import names
from tests.saving_harness import NEEDED, same_weights, scored_bundle
from tests.training_harness import small_demo

pytestmark = pytest.mark.usefixtures("real_pictures")

FOR_PEOPLE = ["README.md", "learning_curve.png", "report.md", "report.png"]
UGLY = [
    *(
        "$",
        "$x",
        r"$\frac{",
        r"\$5",
        "$a$ or $b$",
        "two\nlines",
        "tab\there",
        "nul\0",
        "long " * 400,
        "日本語",
        "שלום עולם",
    ),
    *(
        "\u202egnol",
        "<script>alert(1)</script>",
        "a|b\\|c",
        "`" * 90,
        "[x](javascript:alert(1))",
        "_hidden",
        "😀",
        "%s{0}",
    ),
]


@pytest.fixture(scope="module")
def plain():
    return scored_bundle(["no", "yes"])


def test_no_label_however_odd_stops_a_save_or_spoils_a_picture(tmp_path):
    bundle = scored_bundle(UGLY)
    bundle.save(tmp_path / "run")
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), *FOR_PEOPLE])
    again = zoo.load(tmp_path / "run")
    assert again.labels == UGLY
    assert same_weights(again, bundle)


@pytest.mark.parametrize("classes", [300, 1500])
def test_many_classes_make_no_larger_picture_and_an_evaluation_that_grows_with_the_texts(tmp_path, classes):
    bundle = scored_bundle([f"label {i}" for i in range(classes)], texts=2000)
    bundle.save(tmp_path / "run")
    picture = (tmp_path / "run" / "report.png").read_bytes()
    width, height = (int.from_bytes(picture[i : i + 4], "big") for i in (16, 20))  # PNG's header
    assert max(width, height) < 3000
    assert (tmp_path / "run" / "evaluation.json").stat().st_size < 1_000_000
    again = zoo.load(tmp_path / "run")
    assert again.evaluation == bundle.evaluation


def test_an_evaluation_of_many_classes_from_an_older_version_is_still_shown(tmp_path):
    bundle = scored_bundle([f"label {i}" for i in range(120)])
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 2, (120, 120))
    counts[7, 9] = 50
    bundle.evaluation["confusion"] = counts.tolist()
    bundle.evaluation.pop("confusion_cells", None)
    bundle.save(tmp_path / "run")
    assert "| 50 | label 7 | label 9 |" in (tmp_path / "run" / "report.md").read_text()
    assert "report.png" in names(tmp_path / "run")


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def too_large(*_, **__):
    raise MemoryError("Unable to allocate 4.6 GiB")


def failing(*_, **__):
    raise RuntimeError("FreeType is\nbroken")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("dc_bilstm", {"dense_units": 0, "num_dense_layers": 60}),
        ("rhn_tagger", {"depth": 40}),
        ("bilstm", {"softmax_max_norm": 100_000, "l2": 100_000}),
        ("bilstm_tagger", {"clip_norm": 100_000}),
        ("gated_skip_tagger", {"skip_distance": 100_000}),
    ],
)
def test_a_bundle_with_odd_arguments_is_loaded_again(name, arguments, tmp_path):
    path = bundle_harness.bundle(name, **arguments).save(tmp_path / "bundle")
    assert arguments.items() <= zoo.load(path).config["arguments"].items()


def test_arguments_that_would_not_be_loaded_are_not_saved(tmp_path):
    bundle = bundle_harness.bundle("dsa_bilstm")
    bundle.config["arguments"]["iterations"] = 2000
    for write in (bundle.save, bundle.save_to_preset):
        with pytest.raises(ValueError, match=r"^The model cannot be saved: iterations=2,000 does not fit"):
            write(tmp_path / "new")
    assert not any(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:Without vectors")
def test_arguments_that_would_not_be_loaded_are_not_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "_SMALL", 2)
    run = check("dsa_bilstm", tmp_path / "run", {"units": 3, "iterations": 3, "vectors": "none"})
    with pytest.raises(ValueError, match=r"^The model could not be saved: iterations=3 does not fit"):
        prepare(run, small_demo("classification"), progress=False)


@pytest.mark.parametrize(
    ("name", "metrics", "line"),
    [
        ("bilstm", {"test_accuracy": 0.9}, "test accuracy     0.9000"),
        ("bilstm", {"cross_validation_accuracy": 0.9}, "cross-validation  0.9000"),
        ("bilstm_tagger", {"dev_accuracy": 0.9}, "dev accuracy      0.9000"),
        ("dense_lstm_lm", {"test_perplexity": 90.0}, "test perplexity   90.00"),
    ],
)
def test_scores_of_a_users_own_are_loaded_again_without_numbers_of_texts(name, metrics, line, tmp_path):
    bundle = bundle_harness.bundle(name)
    bundle.metrics = metrics
    again = zoo.load(bundle.save(tmp_path / "bundle"))
    assert again.metrics == metrics
    assert again.summary() == line


def test_a_disk_without_room_for_the_weights_is_said_before_they_are_written(plain, tmp_path, monkeypatch):
    monkeypatch.setattr(weights_file.shutil, "disk_usage", lambda _: SimpleNamespace(total=10**9, free=500))
    monkeypatch.setattr(type(plain.model), "save_weights", None)
    with pytest.raises(OSError, match="run could not be written: No space left on device") as caught:
        plain.save(tmp_path / "run")
    assert caught.value.errno == errno.ENOSPC
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("can't flush: 'No space left on device'")]
)
def test_a_preset_that_the_folder_of_temporary_files_cannot_hold_names_it(plain, tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(weights_file, "reduce", fail)
    with pytest.raises(OSError, match=r"No space left on device: .*temporary holds a preset .*TMPDIR") as caught:
        plain.save_to_preset(tmp_path / "preset", dtype="float16")
    assert caught.value.errno == errno.ENOSPC
    assert names(tmp_path) == ["temporary"]
    error = OSError(errno.ENOENT, "No such file or directory", "words.txt")  # one that is not there
    with pytest.raises(FileNotFoundError, match=r"directory: 'words\.txt'"):
        plain.save_to_preset(tmp_path / "preset", dtype="float16")


def test_no_other_error_is_laid_on_the_folder_of_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def check(error_of, message):
        with (
            pytest.raises(OSError, match=f"^{re.escape(message)}"),
            scratch.new_folder("a preset") as folder,
        ):
            raise error_of(folder)

    def hdf5(file):
        return OSError(f"file read failed: filename = '{file}', errno = 5, error message = 'Input/output error'")

    check(
        lambda folder: hdf5(folder / "x.h5"), f"[Errno 5] Input/output error: {tmp_path} holds a preset. TMPDIR names"
    )
    for error in (
        OSError(errno.EACCES, "Permission denied", str(tmp_path / "mine" / "vectors.npy")),
        OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "mine" / "vectors.npy")),
        OSError(errno.EMFILE, "Too many open files"),
        hdf5("/data/x.h5"),
    ):
        check(lambda _, error=error: error, str(error))


@pytest.mark.parametrize("failure", [full_disk, too_large, failing], ids=lambda f: f.__name__)
def test_a_picture_that_fails_is_told_in_one_line_and_the_bundle_is_whole(plain, tmp_path, monkeypatch, failure):
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", failure)
    with pytest.warns(UserWarning, match=r"report\.png") as warnings_:
        plain.save(tmp_path / "run")
    (warning,) = (record for record in warnings_ if record.category is UserWarning)
    assert "learning_curve.png" in str(warning.message)
    assert len(str(warning.message).splitlines()) == 1
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), "README.md", "report.md"])
    assert same_weights(zoo.load(tmp_path / "run"), plain)


@pytest.mark.parametrize("writer", ["model_card", "markdown"])
def test_a_card_or_report_that_fails_is_told_and_the_bundle_is_whole(plain, tmp_path, monkeypatch, writer):
    monkeypatch.setattr(cards if writer == "model_card" else classification_report, writer, failing)
    with pytest.warns(UserWarning, match="FreeType is broken"):
        plain.save(tmp_path / "run")
    missing = {"model_card": "README.md", "markdown": "report.md"}[writer]
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), *(set(FOR_PEOPLE) - {missing})])
    assert same_weights(zoo.load(tmp_path / "run"), plain)


def test_a_picture_half_written_on_a_full_disk_is_not_left(plain, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def half(self, file, **_):
        file.write(b"\x89PNG")
        full_disk()

    monkeypatch.setattr(Figure, "savefig", half)
    with pytest.warns(UserWarning, match="No space left on device"):
        plain.save(tmp_path / "run")
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), "README.md", "report.md"])


def test_without_matplotlib_there_are_no_pictures_and_no_warning(plain, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plain.save(tmp_path / "run")
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), "README.md", "report.md"])


def test_ctrl_c_while_a_picture_is_drawn_goes_through_and_leaves_a_whole_bundle(plain, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(plots, "learning_curve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        plain.save(tmp_path / "run")
    assert same_weights(zoo.load(tmp_path / "run"), plain)


def test_the_users_own_matplotlib_is_left_alone_and_cannot_break_the_pictures(plain, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"text.usetex": True, "axes.formatter.use_mathtext": True}):
        before = dict(matplotlib.rcParams)
        plain.save(tmp_path / "run")
        assert dict(matplotlib.rcParams) == before
    assert set(FOR_PEOPLE) <= set(names(tmp_path / "run"))
    assert not [name for name in sys.modules if name.startswith("matplotlib.backends.backend_tk")]


@pytest.mark.slow
def test_a_process_killed_while_it_draws_leaves_a_whole_bundle(tmp_path):
    script = f"""
    import os, signal
    from dense_lstm_zoo.display import plots
    from tests.saving_harness import scored_bundle
    plots.learning_curve = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    scored_bundle(["no", "yes"]).save({str(tmp_path / "run")!r})
    """
    process = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert process.returncode == -signal.SIGKILL
    assert len(zoo.load(tmp_path / "run").predict(["the film was good"])) == 1


def test_what_is_for_people_may_be_edited_and_deleted_but_not_what_the_model_needs(plain, tmp_path):
    folder = plain.save(tmp_path / "run")
    (folder / "README.md").write_text("my own card")
    (folder / "report.md").unlink()
    (folder / "report.png").write_bytes(b"")
    (folder / "my notes.txt").write_text("mine")
    assert same_weights(zoo.load(folder), plain)
    (folder / "metrics.json").write_text("{}")
    with pytest.raises(zoo.BundleError, match=r"metrics\.json"):
        zoo.load(folder)
