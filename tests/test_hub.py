"""Bundles pushed to and loaded from a hub on this machine."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import hub as hub_bundles
from dense_lstm_zoo.data.download import DownloadError
from tests.bundle_harness import bundle
from tests.cli_harness import output_of
from tests.hub_harness import COMMIT, serving
from tests.saving_harness import NEEDED, same_weights, scored_bundle


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """A bundle and its folder."""
    original = scored_bundle(["no", "yes"])
    return original, original.save(tmp_path_factory.mktemp("runs") / "mine")


@pytest.fixture
def hub(pushed, tmp_path, monkeypatch):
    """A hub with that bundle as owner/tiny."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    with serving(monkeypatch) as local_hub:
        local_hub.add("owner/tiny", pushed[1])
        yield local_hub


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "dense_lstm_zoo" / "presets" / "hub"


def files_of(cache):
    return [path for path in cache.rglob("*") if path.is_file() or path.name.startswith(".")]


def fails(match, cache, use=lambda: zoo.from_preset("hf://owner/tiny")):
    """Expect an error of one line, and nothing in the cache."""
    with pytest.raises(DownloadError, match=match) as error:
        use()
    assert "\n" not in str(error.value)
    assert files_of(cache) == []


def test_what_is_pushed_is_what_is_loaded(hub, pushed):
    address = pushed[0].push_to_hub("owner/new", private=True, token="secret")
    assert address == f"{hub.url}/owner/new/commit/{COMMIT}"
    assert hub.private == [True]
    assert {"manifest.json", "README.md", *NEEDED.split()} <= set(hub.repositories["owner/new"])
    posts = [(path, token) for method, path, token in hub.requests if method == "POST"]
    assert posts
    assert {token for _, token in posts} == {"Bearer secret"}
    again = zoo.from_preset("hf://owner/new")
    assert same_weights(again, pushed[0])
    assert again.metrics == pushed[0].metrics


def test_a_branch_is_created_for_a_revision(hub, pushed):
    pushed[0].push_to_hub("owner/new", token="secret", revision="small")
    assert hub.branches == ["small"]
    assert [path for _, path, _ in hub.requests if path.endswith("/commit/small")]


def test_a_bundle_is_downloaded_once_and_without_a_network_by_its_commit(hub, pushed, cache, monkeypatch):
    hub.repositories["owner/tiny"] |= {"big.bin": bytes(10), "../x": b"", "more/config.json": b"{}"}
    assert same_weights(zoo.from_preset("hf://owner/tiny@main"), pushed[0])
    fetched = [path for method, path, _ in hub.requests if method == "GET" and "/resolve/" in path]
    assert len(fetched) == len(set(fetched)) == len(hub.repositories["owner/tiny"]) - 3
    assert {path.name for path in (cache / "owner--tiny" / COMMIT).iterdir()} == {p.rpartition("/")[2] for p in fetched}
    assert same_weights(zoo.from_preset("hf://owner/tiny"), pushed[0])
    assert len([path for method, path, _ in hub.requests if method == "GET" and "/resolve/" in path]) == len(fetched)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert same_weights(zoo.from_preset(f"hf://owner/tiny@{COMMIT}"), pushed[0])
    with pytest.raises(DownloadError, match=rf"could not be reached.* On this machine is hf://owner/tiny@{COMMIT}"):
        zoo.from_preset("hf://owner/tiny")


def test_two_that_want_a_bundle_at_once_share_one_download(hub, pushed, cache, monkeypatch):
    both, sizes = threading.Barrier(2, timeout=60), hub_bundles._sizes
    monkeypatch.setattr(hub_bundles, "_sizes", lambda *args: both.wait() is not None and sizes(*args))
    with ThreadPoolExecutor(2) as pool:
        folders = list(pool.map(hub_bundles.fetch, ["hf://owner/tiny"] * 2))
    assert {folder.path for folder in folders} == {cache / "owner--tiny" / COMMIT}
    assert list((cache / "owner--tiny").iterdir()) == [cache / "owner--tiny" / COMMIT]
    requests = [path for method, path, _ in hub.requests if method == "GET" and "/resolve/" in path]
    assert len(requests) == len(set(requests)) == len(hub.repositories["owner/tiny"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("hf://owner/none", "does not exist on the hub, or is private"),
        ("hf://owner/tiny@v9", "it has no such revision"),
    ],
)
def test_what_the_hub_does_not_have_is_told_in_a_line(hub, cache, source, message):
    with pytest.raises(DownloadError, match=f"{source} .*{message}") as error:
        zoo.from_preset(source)
    assert "\n" not in str(error.value)
    assert files_of(cache) == []


@pytest.mark.slow
def test_a_connection_that_breaks_off_in_mid_file_leaves_nothing(hub, cache, pushed, monkeypatch):
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    hub.truncated_file = "model.weights.h5"
    fails("hf://owner/tiny could not be reached, or broke off", cache)
    hub.truncated_file = ""
    assert same_weights(zoo.from_preset("hf://owner/tiny"), pushed[0])


def test_a_file_that_the_hub_lacks_or_changed_leaves_nothing(hub, cache):
    files = hub.repositories["owner/tiny"]
    labels = files.pop("labels.json")
    with pytest.raises(zoo.BundleError, match=r"labels\.json is missing"):
        zoo.from_preset("hf://owner/tiny")
    files["labels.json"] = labels.replace(b"yes", b"yet")
    with pytest.raises(zoo.BundleError, match=r"labels\.json has been changed or damaged"):
        zoo.from_preset("hf://owner/tiny")
    del files["manifest.json"]
    with pytest.raises(ValueError, match=r"not a bundle: it has no manifest\.json"):
        zoo.from_preset("hf://owner/tiny")
    assert files_of(cache) == []


@pytest.mark.parametrize("status", [500, 403])
def test_a_hub_that_refuses_is_told_in_a_line(hub, cache, pushed, status, monkeypatch):
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    hub.status = status
    fails(f"the hub answered {status}", cache)
    fails(f"the hub answered {status}", cache, lambda: pushed[0].push_to_hub("owner/tiny", token="x"))


@pytest.mark.parametrize(
    "source",
    [
        "hf://",
        "hf://tiny",
        "hf://a/b/c",
        "hf://../b",
        "hf://a/b@",
        "hf://a/b@../c",
        "hf://a/b?x",
        f"hf://a/{'b' * 300}",
    ],
)
def test_an_address_that_is_none_is_refused(hub, source):
    with pytest.raises(ValueError, match=r"hf://owner/name or hf://owner/name@revision; received"):
        zoo.from_preset(source)
    assert hub.requests == []


@pytest.mark.parametrize(
    "name", ["tiny", "a/b/c", "a/b@main", "", None, "../b", "./out", "-/b", "a/.b", "a/" + "b" * 300]
)
def test_a_repository_that_is_none_is_refused_before_any_work(hub, pushed, name):
    with pytest.raises(ValueError, match="must be owner/name"):
        pushed[0].push_to_hub(name)
    assert hub.requests == []


def test_without_the_client_the_error_says_what_to_install(hub, pushed, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for ask in (lambda: zoo.from_preset("hf://owner/tiny"), lambda: pushed[0].push_to_hub("owner/tiny")):
        with pytest.raises(ValueError, match=r"pip install \./dense_lstm_zoo_runtime '\.\[hub\]'"):
            ask()


def test_commands_push_and_take_addresses(hub, pushed, capsys, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    status, out, _ = output_of(capsys, "push", pushed[1], "owner/new", "--private")
    assert (status, out) == (0, f"{hub.url}/owner/new/commit/{COMMIT}\n")
    status, out, _ = output_of(capsys, "predict", "hf://owner/new", "good")
    assert (status, out.split("\t")[0]) == (0, pushed[0].predict(["good"])[0].label)
    status, _, err = output_of(capsys, "predict", "hf://owner/none", "good")
    assert status == 2
    assert err.splitlines()[-1].startswith("error: hf://owner/none does not exist on the hub")


@pytest.mark.slow
def test_a_trained_bundle_goes_to_the_hub_and_back_with_all_that_it_knows(hub, tmp_path):
    sizes = {"units": 2, "embedding_dim": 3, "epochs": 1, "dev_every": 4, "progress": False}
    trained = zoo.train("lstm", "demo", tmp_path / "run", **sizes)
    trained.push_to_hub("owner/trained", token="secret")
    again = zoo.from_preset("hf://owner/trained")
    assert (again.train_texts == trained.train_texts).all()
    files = {path.name for path in (tmp_path / "run").iterdir() if path.is_file()}
    assert files - {"run.toml", "lock"} == set(hub.repositories["owner/trained"]) - {".gitattributes"}


def test_a_tagger_goes_to_the_hub_and_back(hub):
    tagger = bundle("gated_skip_tagger")
    tagger.push_to_hub("owner/tagger", token="secret")
    assert zoo.from_preset("hf://owner/tagger", task="tagging").fingerprint() == tagger.fingerprint()
    with pytest.raises(ValueError, match="is for tagging, not for classification"):
        zoo.from_preset("hf://owner/tagger", task="classification")


def test_a_page_in_place_of_the_hub_is_told_in_a_line(hub, cache, pushed):
    hub.page = "<html>Log in to this network</html>"
    fails("hf://owner/tiny: the answer is not one of a hub", cache)
    fails("the answer is not one of a hub", cache, lambda: pushed[0].push_to_hub("owner/tiny", token="x"))


@pytest.mark.parametrize("answer", ["[]", "{}", '{"id": 1, "sha": 5}', "null", '{"id": "x", "siblings": 7}'])
def test_an_answer_that_is_not_of_a_hub_is_told_in_a_line(hub, cache, answer):
    hub.page = answer
    fails(r"the (answer is not one of a hub|hub answered with)", cache)


@pytest.mark.parametrize("size", ["12", -1, [1], True])
def test_a_size_that_is_none_is_told_in_a_line(hub, cache, size):
    hub.sizes["manifest.json"] = size
    fails(r"the hub says that manifest\.json has .* bytes, which is not a size", cache)


def test_a_downloaded_bundle_that_is_damaged_is_named_by_its_address(hub, cache):
    hub.repositories["owner/tiny"]["labels.json"] += b" "
    with pytest.raises(zoo.BundleError, match=r"^hf://owner/tiny/labels\.json has been changed"):
        zoo.from_preset("hf://owner/tiny")


def test_redirections_without_end_are_told_in_a_line(hub, cache):
    hub.redirects = True
    fails(r"hf://owner/tiny could not be reached, or broke off: .*redirect", cache)
