"""Presets by name, folder and archive: found, checked and loaded, and refused in one line."""

import dataclasses
import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import archives, presets
from dense_lstm_zoo.bundles.folder import write_manifest
from dense_lstm_zoo.corpora import loader, terms
from dense_lstm_zoo.data import download
from tests.bundle_harness import bundle
from tests.cli_harness import output_of
from tests.download_harness import running
from tests.preset_harness import TABLE, write_table
from tests.saving_harness import same_weights, scored_bundle

TEXTS = ["the film was good", ""]


@pytest.fixture(scope="module")
def original():
    new_bundle = scored_bundle(["no", "yes"])
    new_bundle.config["training"]["dataset"] = "trec"
    return new_bundle


@pytest.fixture(scope="module")
def saved_folders(original, tmp_path_factory):
    """A folder with two presets."""
    folder = tmp_path_factory.mktemp("presets")
    original.save(folder / "models" / "lstm_trec")
    bundle("gated_skip_tagger").save(folder / "models" / "tagger_none")
    return folder


@pytest.fixture
def installed(saved_folders, tmp_path, monkeypatch):
    """The distribution with two presets, which the package's index does not know."""
    folder = tmp_path / "presets"
    shutil.copytree(saved_folders, folder)
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(folder))
    (tmp_path / "index.json").write_text('{"presets": []}')
    monkeypatch.setattr(presets, "INDEX", tmp_path / "index.json")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return folder / "models"


@pytest.fixture
def official(installed, tmp_path, monkeypatch):
    """An index that names them."""
    monkeypatch.setattr(presets, "INDEX", tmp_path / "index.json")
    presets.write_index(installed, presets.INDEX)
    return installed


def test_a_preset_is_loaded_by_name_and_by_folder(official, original):
    for source in ("lstm_trec", official / "lstm_trec", str(official / "lstm_trec")):
        assert same_weights(zoo.from_preset(source), original)
    assert zoo.from_preset("lstm_trec", task="classification").metrics == original.metrics


def test_a_folder_wins_over_a_preset_of_its_name(official, tmp_path):
    bundle("dense_lstm_lm").save(tmp_path / "lstm_trec")
    assert zoo.from_preset("lstm_trec").config["model"] == "dense_lstm_lm"


def test_presets_are_listed_with_what_is_known_of_them(official, installed):
    preset, other = zoo.list_presets()
    assert (preset.name, preset.task, preset.model, preset.corpus) == ("lstm_trec", "classification", "lstm", "trec")
    assert (preset.measure, preset.score, preset.protocol) == ("test accuracy", 0.625, "300 texts, seed 1")
    assert preset.size == sum(file.stat().st_size for file in (installed / "lstm_trec").iterdir())
    assert preset.sha256 == hashlib.sha256((installed / "lstm_trec" / "manifest.json").read_bytes()).hexdigest()
    assert "Li and Roth" in preset.terms
    assert (other.name, other.score) == ("tagger_none", None)
    for phrase in ("test accuracy 0.6250 (300 texts, seed 1)", "MB", "Li and Roth", "classification"):
        assert phrase in str(preset)
    assert "not scored" in str(other)
    assert "not installed" not in str(preset)
    with pytest.raises(AttributeError):
        preset.score = 1.0


def test_presets_are_listed_by_pattern_and_task(official):
    assert [preset.name for preset in zoo.list_presets("*_trec")] == ["lstm_trec"]
    assert [preset.name for preset in zoo.list_presets(task="tagging")] == ["tagger_none"]
    with pytest.raises(ValueError, match=r"Unknown value of task: 'tags'\. Accepted: .*tagging"):
        zoo.list_presets(task="tags")


def test_a_damaged_preset_is_left_out_of_the_list_and_hides_no_other(installed):
    (installed / "tagger_none" / "metrics.json").write_text("{")
    with pytest.warns(UserWarning, match=r"The preset 'tagger_none' is left out: .*metrics\.json is damaged"):
        assert [preset.name for preset in zoo.list_presets()] == ["lstm_trec"]
    assert presets.names() == ["lstm_trec", "tagger_none"]
    assert "lstm_trec" in str(zoo.describe("lstm_trec"))


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("config.json", {"task": "regression"}, "Unknown value of task: 'regression'"),
        ("config.json", {"training": {"dataset": "mine", "context": {"datasets": 5}}}, "not iterable"),
        ("metrics.json", {"test_accuracy": 10**400}, r"must be at most 1e\+308"),
    ],
)
def test_a_preset_of_another_version_is_left_out_of_the_list_and_hides_no_other(installed, file, change, message):
    content = json.loads((installed / "lstm_trec" / file).read_text())
    (installed / "lstm_trec" / file).write_text(json.dumps({**content, **change}))
    with pytest.warns(UserWarning, match=f"The preset 'lstm_trec' is left out: .*{message}"):
        assert [preset.name for preset in zoo.list_presets()] == ["tagger_none"]


def test_a_preset_whose_score_is_not_finite_is_not_scored(installed):
    metrics = json.loads((installed / "lstm_trec" / "metrics.json").read_text())
    (installed / "lstm_trec" / "metrics.json").write_text(json.dumps({**metrics, "test_accuracy": None}))
    assert "not scored" in str(zoo.list_presets("lstm_trec")[0])


def test_a_preset_that_is_being_written_is_not_listed(installed):
    (installed / "lstm_trec").rename(installed / ".lstm_trec.deadbeef.dense-lstm-zoo")
    assert presets.names() == [preset.name for preset in zoo.list_presets()] == ["tagger_none"]


def test_what_a_stranger_wrote_reaches_no_terminal_as_it_is(installed):
    folder = installed / "lstm_trec"
    config = json.loads((folder / "config.json").read_text())
    config["training"]["dataset"] = "evil\x1b[31m\nred"
    (folder / "config.json").write_text(json.dumps(config))
    metrics = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps({**metrics, "chosen": "\x1b[2J"}))
    write_manifest(folder)
    texts = [str(zoo.describe("lstm_trec")), *map(str, zoo.list_presets())]
    assert all("\x1b" not in text for text in texts)
    assert r"evil\x1b[31m\nred" in texts[0]


def test_installed_presets_are_listed_without_an_index(installed):
    assert [preset.name for preset in zoo.list_presets()] == ["lstm_trec", "tagger_none"]


def test_the_packages_own_index_is_readable():
    assert all(preset.task and preset.sha256 for preset in presets._official().values())


def test_an_unknown_preset_has_near_matches(official):
    with pytest.raises(ValueError, match=r"Unknown preset 'lstm_trek'\. Did you mean 'lstm_trec'\?.* not a folder"):
        zoo.from_preset("lstm_trek")


@pytest.mark.parametrize(
    "source", ["runs/none", "../lstm_trec", ".", "", " ", "ftp://host/x.zip", "s3://x", "file:///etc"]
)
def test_what_is_no_preset_is_refused(installed, source):
    with pytest.raises((ValueError, FileNotFoundError), match=r"not a folder|not a bundle|is empty|begins with hf://"):
        zoo.from_preset(source)


def test_a_preset_for_another_task_is_refused_before_it_is_loaded(official, monkeypatch):
    monkeypatch.setattr(presets, "load", None)
    with pytest.raises(ValueError, match="lstm_trec is for classification, not for tagging"):
        zoo.from_preset("lstm_trec", task="tagging")


def test_a_preset_that_is_not_installed_says_how_to_get_it(official, tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match=r"'lstm_trec' is not installed: pip install ./presets"):
        zoo.from_preset("lstm_trec")
    assert "not installed" in str(zoo.list_presets()[0])


def test_a_changed_byte_is_found(official):
    file = official / "lstm_trec" / "labels.json"
    file.write_bytes(file.read_bytes().replace(b"yes", b"yet"))
    with pytest.raises(zoo.BundleError, match=r"labels\.json has been changed or damaged"):
        zoo.from_preset("lstm_trec")


def test_another_version_than_the_indexs_is_refused(official):
    scored_bundle(["no", "yes"]).save(official / "lstm_trec", overwrite=True)
    with pytest.raises(zoo.BundleError, match=r"manifest\.json has sha256 .*, the zoo's index says"):
        zoo.from_preset("lstm_trec")
    with pytest.raises(zoo.BundleError, match=r"sha256 says 00000"):
        zoo.from_preset(official / "lstm_trec", sha256="0" * 64)


def card(bundle, folder, **training):
    bundle = dataclasses.replace(bundle, config={**bundle.config, "training": {"dataset": "x", "seed": 1, **training}})
    return (bundle.save(folder) / "README.md").read_text(encoding="utf-8")


def test_a_card_says_what_a_model_is_for_and_the_terms_of_its_data(original, tmp_path, monkeypatch):
    table = write_table(tmp_path / "presets")
    config = tmp_path / "presets" / "vectors" / TABLE / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "terms": "CC0 <b>"}))
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    text = card(original, tmp_path / "one", dataset="trec", vectors=table.name)
    assert "- For: the kind of answer that a short English question asks for." in text
    assert "- Not for: texts that are not questions" in text
    assert "- trec: questions for research (Li and Roth)" in text
    assert "- word vectors, tiny_7d: `CC0 <b>`" in text
    assert "## Scores by class, on the test set" in text
    assert "dense-lstm-zoo: 0.1.0" in text
    text = card(original, tmp_path / "other", dataset="mine")
    assert "## Purpose" not in text
    assert "- mine: terms not recorded; ask who trained it\n- no word vectors from elsewhere" in text
    assert "Apache-2.0" in card(original, tmp_path / "third", dataset="sst2", vectors="zoo_600d")


def test_the_terms_of_all_that_a_model_has_learnt_from_are_told(original, tmp_path):
    first = {"name": "raw", "model": "bilstm", "dataset": "mine", "sha256": "0" * 64, "head": "new", "new_words": 3}
    before = {**first, "name": "films", "dataset": "sst2", "init_from": first}
    text = card(original, tmp_path / "one", dataset="cr", init_from=before)
    assert (
        "- cr: reviews of products for research (Hu and Liu)\n- sst2, of the model that it was trained further" in text
    )
    assert "- mine, of the model that it was trained further from: terms not recorded" in text
    assert presets.index_entry(tmp_path / "one")["terms"] == (
        "reviews of products for research (Hu and Liu); "
        "reviews for research (Pang and Lee), Stanford Sentiment Treebank; terms not recorded"
    )


def test_every_published_corpus_has_terms():
    assert all(terms.terms_of(name) for name in loader.published())
    assert terms.terms_of("csv") is None


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.size_limit, self.status, self.num_requests = b"", None, 200, 0

    def url(self, name):
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.num_requests += 1
        if server.status != 200:
            return self.send_error(server.status)
        self.send_response(200)
        self.send_header("Content-Length", str(len(server.content)))
        self.end_headers()
        return self.wfile.write(server.content[: server.size_limit])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch, installed):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "WAIT_SECONDS", 0)
    with running(Server()) as local_server:
        yield local_server


def zipped(folder, within=""):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, within + file.name)
    return packed.getvalue()


def tarred(folder, within="lstm_trec"):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder, within)
    return packed.getvalue()


def checksum(content):
    return hashlib.sha256(content).hexdigest()


def nothing_but(cache, *names):
    paths = [path for path in cache.rglob("*") if path.is_file() or path.name.endswith("dense-lstm-zoo")]
    assert {path.name for path in paths} <= set(names), paths


@pytest.mark.parametrize("pack", [zipped, tarred, lambda folder: zipped(folder, "deep/")])
def test_an_archive_is_downloaded_once(server, installed, original, pack, tmp_path):
    server.content = pack(installed / "lstm_trec")
    sha256 = checksum(server.content)
    assert same_weights(zoo.from_preset(f"{server.url('lstm.bin')}#sha256={sha256}"), original)
    assert same_weights(zoo.from_preset(server.url("lstm.bin"), sha256=sha256.upper()), original)
    assert server.num_requests == 1
    assert not list((tmp_path / "cache").rglob("*.archive"))


def test_an_archive_needs_its_checksum_and_https(server):
    with pytest.raises(ValueError, match=r"needs its sha256.*there is none"):
        zoo.from_preset(server.url("x.zip"))
    with pytest.raises(ValueError, match="needs its sha256"):
        zoo.from_preset(f"{server.url('x.zip')}#sha256={'0' * 64}", sha256="1" * 64)
    with pytest.raises(ValueError, match=r"may have sha256=\.\.\.; received 'md5=1'"):
        zoo.from_preset(f"{server.url('x.zip')}#md5=1")
    with pytest.raises(ValueError, match=r"over https; received http://example\.org/x\.zip"):
        zoo.from_preset("http://example.org/x.zip", sha256="0" * 64)
    assert server.num_requests == 0


def test_a_changed_archive_is_deleted(server, installed, tmp_path):
    server.content = zipped(installed / "lstm_trec")
    with pytest.raises(ValueError, match=r"Wrong checksum .* expected sha256 0000"):
        zoo.from_preset(server.url("x.zip"), sha256="0" * 64)
    nothing_but(tmp_path / "cache")


def test_a_404_and_a_cut_connection_are_told_in_a_line(server, installed, tmp_path):
    server.content = zipped(installed / "lstm_trec")
    source = f"{server.url('x.zip')}#sha256={checksum(server.content)}"
    server.status = 404
    with pytest.raises(download.DownloadError, match="the server answered 404") as error:
        zoo.from_preset(source)
    assert "\n" not in str(error.value)
    server.status, server.size_limit = 200, 100
    with pytest.raises(download.DownloadError, match="broke off after 100 of"):
        zoo.from_preset(source)
    nothing_but(tmp_path / "cache", f"{checksum(server.content)}.archive.part")
    server.size_limit = None
    assert zoo.from_preset(source).config["model"] == "lstm"
    nothing_but(tmp_path / "cache", *(file.name for file in (installed / "lstm_trec").iterdir()))


def zip_of(names, mode=0):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, "/etc/passwd")
    return packed.getvalue()


def tar_of(*names, kind=tarfile.REGTYPE):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    return packed.getvalue()


BAD = {
    "a parent": zip_of(["../config.json"]),
    "a parent within": zip_of(["a/../../config.json"]),
    "an absolute path": zip_of(["/tmp/config.json"]),
    "a backslash": zip_of(["..\\config.json"]),
    "two folders": zip_of(["a/config.json", "b/config.json"]),
    "a deep folder": zip_of(["a/b/config.json"]),
    "a link": zip_of(["config.json"], 0o120777),
    "many files": zip_of([f"{i}" for i in range(200)]),
    "twice": tar_of("config.json", "config.json"),
    "a parent in a tar": tar_of("../config.json"),
    "an absolute path in a tar": tar_of("/tmp/config.json"),
    "a link in a tar": tar_of("config.json", kind=tarfile.SYMTYPE),
    "a hard link in a tar": tar_of("config.json", kind=tarfile.LNKTYPE),
    "a device in a tar": tar_of("config.json", kind=tarfile.CHRTYPE),
    "many folders in a tar": tar_of(*(f"{i}" for i in range(1200)), kind=tarfile.DIRTYPE),
    "a long header in a tar": tar_of("a" * (2 << 20)),
    "a cut tar": tar_of("config.json")[:-20],
    "no archive": b"<html>",
    "nothing": b"",
}


@pytest.mark.parametrize("case", BAD)
def test_an_archive_of_anything_but_plain_files_is_refused(server, tmp_path, case):
    server.content = BAD[case]
    with pytest.raises(ValueError, match=r"http://.* is not an archive of a bundle: "):
        zoo.from_preset(server.url("x.zip"), sha256=checksum(server.content))
    nothing_but(tmp_path / "cache")


@pytest.mark.parametrize("pack", [zipped, tarred, lambda folder: zipped(folder, "deep/")])
def test_what_lies_beside_a_bundle_in_its_archive_is_left_out(server, installed, original, pack, tmp_path):
    folder = tmp_path / "lstm_trec"
    shutil.copytree(installed / "lstm_trec", folder)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("of the export")
    server.content = pack(folder)
    assert same_weights(zoo.from_preset(server.url("x"), sha256=checksum(server.content)), original)
    assert not list((tmp_path / "cache").rglob("onnx"))


def test_what_macos_adds_to_an_archive_is_left_out(installed, tmp_path):
    with zipfile.ZipFile(tmp_path / "mac.zip", "w") as archive:
        for file in installed.joinpath("lstm_trec").iterdir():
            archive.write(file, f"lstm_trec/{file.name}")
            archive.writestr(f"__MACOSX/lstm_trec/._{file.name}", "resource fork")
    (tmp_path / "out").mkdir()
    archives.unpack(tmp_path / "mac.zip", tmp_path / "out", "mac.zip")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        file.name for file in (installed / "lstm_trec").iterdir()
    }


def test_an_archive_that_unpacks_to_too_much_is_refused(server, monkeypatch, tmp_path):
    monkeypatch.setattr(archives, "LARGEST", 50_000)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", bytes(10**6))
    server.content = packed.getvalue()
    with pytest.raises(ValueError, match=r"it holds more than 50,000 bytes"):
        zoo.from_preset(server.url("x.zip"), sha256=checksum(server.content))
    nothing_but(tmp_path / "cache")


def test_an_archive_of_no_bundle_is_refused(server, tmp_path):
    server.content = zip_of(["config.json"])
    with pytest.raises(zoo.BundleError, match=r"not a bundle: it has no manifest\.json"):
        zoo.from_preset(server.url("x.zip"), sha256=checksum(server.content))
    nothing_but(tmp_path / "cache")


def test_commands_take_presets(official, server, original, capsys):
    status, out, _ = output_of(capsys, "presets", "--task", "classification")
    assert (status, out) == (0, f"{zoo.list_presets('lstm_trec')[0]}\n")
    status, out, _ = output_of(capsys, "predict", "lstm_trec", "the film was good")
    expected = original.predict(["the film was good"])[0]
    assert (status, out) == (0, f"{expected.label}\t{expected.probability:.4f}\tthe film was good\n")
    server.content = zipped(official / "lstm_trec")
    source = f"{server.url('x.zip')}#sha256={checksum(server.content)}"
    assert output_of(capsys, "predict", source, "the film was good")[:2] == (0, out)
    status, _, err = output_of(capsys, "predict", "lstm_trek", "good")
    assert status == 2
    assert err.startswith("error: Unknown preset 'lstm_trek'. Did you mean 'lstm_trec'?")
    status, _, err = output_of(capsys, "gates", "lstm_trec", "good")
    assert (status, "is for classification, not for tagging" in err) == (2, True)
    assert json.loads(presets.INDEX.read_text())["presets"][0]["name"] == "lstm_trec"
