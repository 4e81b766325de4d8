"""Downloads: checksums, parts that are resumed, servers that fail, progress."""

import errno
import re
import socket
import threading

import pytest

from dense_lstm_zoo.data import download as download_module
from dense_lstm_zoo.data.download import DownloadError, download
from tests.download_harness import CONTENT, SHA256, Handler, serving

LENGTHS = ["12x", "-5", "1e3", "9" * 30]
LOCATIONS = ["/corpus.txt", "http://[bad", "ftp://", "http://127.0.0.1:9x/", "file:///etc/passwd"]


@pytest.fixture
def server(monkeypatch):
    with serving(monkeypatch) as server:
        yield server


def part_of(path):
    return path.with_name(path.name + ".part")


def test_a_download_arrives_whole_in_a_folder_that_did_not_exist_and_leaves_no_part(server, tmp_path):
    path = tmp_path / "new" / "folder" / "corpus.txt"
    assert download(server.url, path, SHA256.upper(), progress=False) == path
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


def test_a_file_with_the_right_checksum_is_not_requested_again_and_one_with_another_is_replaced(server, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(CONTENT)
    download(server.url, path, SHA256, progress=False)
    assert server.ranges == []
    path.write_bytes(b"damaged")
    download(server.url, path, SHA256, progress=False)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("part", "settings", "ranges"),
    [
        pytest.param(CONTENT[:1000], {}, ["bytes=1000-"], id="resumed where it ended"),
        pytest.param(CONTENT[:1000], {"honours_ranges": False}, ["bytes=1000-"], id="the server ignores ranges"),
        pytest.param(CONTENT[:1000], {"shift": 7}, ["bytes=1000-", None], id="an answer from another byte"),
        pytest.param(
            CONTENT[:1000], {"most": 300_000}, ["bytes=1000-", "bytes=301000-"], id="a part of what is asked for"
        ),
        pytest.param(
            *(CONTENT[:1000], {"most": 100_000}),
            [f"bytes={start}-" for start in range(1000, len(CONTENT), 100_000)],
            id="more parts than attempts",
        ),
        pytest.param(
            *(CONTENT[:1000], {"honours_ranges": False, "content_type": "text/html"}, ["bytes=1000-"]),
            id="a file that is sent as HTML",
        ),
        pytest.param(
            *(CONTENT[:1000][::-1], {"honours_ranges": False, "content_type": "text/html"}, ["bytes=1000-"]),
            id="a part of another file than what is sent as HTML",
        ),
        pytest.param(CONTENT, {}, [], id="complete, so nothing is requested"),
    ],
)
def test_a_part_of_an_earlier_call_is_completed_and_nothing_is_doubled(server, tmp_path, part, settings, ranges):
    vars(server).update(settings)
    path = tmp_path / "corpus.txt"
    part_of(path).write_bytes(part)
    download(server.url, path, SHA256, progress=False)
    assert server.ranges == ranges
    assert path.read_bytes() == CONTENT
    assert not part_of(path).exists()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"page": b"\n<!DOCTYPE html>" + b"Log in" * 200}, "a web page"),
        ({"page": b"<!-- -->Log in", "length": "14"}, "a web page"),
        ({"page": b"<script>top.location.href='/login'</script>" * 99}, "a web page"),
        ({"statuses": [204]}, "the server answered 204 No Content"),
    ],
)
def test_an_answer_that_is_not_the_file_leaves_what_was_received(server, tmp_path, settings, reason):
    vars(server).update(settings)
    path = tmp_path / "corpus.txt"
    part_of(path).write_bytes(CONTENT[:1000])
    with pytest.raises(DownloadError, match=rf"{reason}.* The 1,000 bytes received are kept for resuming\."):
        download(server.url, path, SHA256, progress=False)
    server.page, server.length = b"", None
    assert download(server.url, path, SHA256, progress=False).read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-", "bytes=1000-"]


def test_a_full_disk_names_the_file_and_keeps_what_was_received(server, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "corpus.txt"
    part_of(path).write_bytes(CONTENT[:1000])
    with monkeypatch.context() as patch:
        patch.setattr(download_module, "_copy", fail)
        with pytest.raises(OSError, match=r"corpus\.txt\.part could not be written: No space left on device") as caught:
            download(server.url, path, SHA256, progress=False)
    assert caught.value.errno == errno.ENOSPC
    assert part_of(path).read_bytes() == CONTENT[:1000]


def test_an_address_with_characters_that_no_request_holds_is_asked_for_with_escapes(server, tmp_path):
    url = server.url.replace("corpus", "c\u00f6rpus of texts")
    assert download(url, tmp_path / "corpus.txt", SHA256, progress=False).read_bytes() == CONTENT
    assert download_module._quoted("https://host/\u00e4%20 b.zip?x=\u00fc&y=a/b") == (
        "https://host/%C3%A4%20%20b.zip?x=%C3%BC&y=a/b"
    )


def test_a_part_longer_than_the_file_is_refused_by_its_checksum_and_the_next_call_succeeds(server, tmp_path):
    path = tmp_path / "corpus.txt"
    part_of(path).write_bytes(CONTENT + b"more")
    with pytest.raises(ValueError, match="Wrong checksum"):
        download(server.url, path, SHA256, progress=False)
    assert server.ranges == [f"bytes={len(CONTENT) + 4}-"]
    assert list(tmp_path.iterdir()) == []
    assert download(server.url, path, SHA256, progress=False).read_bytes() == CONTENT


def test_a_connection_that_breaks_off_is_resumed_within_the_same_call(server, tmp_path):
    server.cuts = [100_000, 50_000]
    path = tmp_path / "corpus.txt"
    download(server.url, path, SHA256, progress=False)
    assert server.ranges == [None, "bytes=100000-", "bytes=150000-"]
    assert path.read_bytes() == CONTENT


def test_a_connection_that_keeps_breaking_off_leaves_a_part_from_which_the_next_call_resumes(server, tmp_path):
    server.cuts = [1000] * download_module.ATTEMPTS
    path = tmp_path / "corpus.txt"
    with pytest.raises(DownloadError, match=r"broke off after 3,000 of 512,000 bytes.*3,000 bytes received are kept"):
        download(server.url, path, SHA256, progress=False)
    assert not path.exists()
    assert part_of(path).read_bytes() == CONTENT[:3000]
    download(server.url, path, SHA256, progress=False)
    assert server.ranges[-1] == "bytes=3000-"
    assert path.read_bytes() == CONTENT


def test_an_answer_of_a_part_without_bytes_is_a_failure(server, tmp_path):
    server.most = 0
    path = tmp_path / "corpus.txt"
    part_of(path).write_bytes(CONTENT[:1000])
    with pytest.raises(DownloadError, match=r"broke off after 1,000 of 512,000 bytes \(attempt 3 of 3\)"):
        download(server.url, path, SHA256, progress=False)
    assert len(server.ranges) == download_module.ATTEMPTS


def test_a_connection_that_stalls_times_out_and_is_resumed(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download_module, "TIMEOUT_SECONDS", 0.05)
    released = threading.Event()
    answer = Handler.do_GET

    def stall_once(handler):
        server.cuts = [] if server.ranges else [1000]
        first = not server.ranges
        answer(handler)
        if first:
            handler.wfile.flush()
            released.wait(5)

    monkeypatch.setattr(Handler, "do_GET", stall_once)
    path = tmp_path / "corpus.txt"
    try:
        download(server.url, path, SHA256, progress=False)
    finally:
        released.set()
    assert server.ranges == [None, "bytes=1000-"]
    assert path.read_bytes() == CONTENT


def test_an_overloaded_server_is_asked_again(server, tmp_path):
    server.statuses = [503, 200]
    assert download(server.url, tmp_path / "corpus.txt", SHA256, progress=False).read_bytes() == CONTENT
    assert len(server.ranges) == 2


def test_a_wrong_checksum_names_url_and_both_checksums_and_leaves_nothing(server, tmp_path):
    expected = "0" * 64
    with pytest.raises(ValueError, match="Wrong checksum") as caught:
        download(server.url, tmp_path / "corpus.txt", expected, progress=False)
    for part in (server.url, expected, SHA256):
        assert part in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_on_the_server_is_asked_for_once_and_the_error_says_where_to_put_it_by_hand(server, tmp_path):
    server.statuses = [404] * 5
    path = tmp_path / "corpus.txt"
    with pytest.raises(DownloadError) as caught:
        download(server.url, path, SHA256, progress=False)
    assert isinstance(caught.value, OSError)
    for part in ("Could not download corpus.txt", server.url, "404 Not Found", f"by hand at {path}"):
        assert part in str(caught.value)
    assert len(server.ranges) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_refused_connection_names_file_address_reason_and_place(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/corpus.txt"
    path = tmp_path / "corpus.txt"
    with pytest.raises(DownloadError) as caught:
        download(url, path, SHA256, progress=False)
    for part in ("Could not download corpus.txt", url, "refused", f"by hand at {path}"):
        assert part in str(caught.value)


def test_the_final_path_never_holds_a_half_written_file(server, tmp_path, monkeypatch):
    path = tmp_path / "corpus.txt"
    existence = []
    update = download_module.Progress.update

    def watch(progress, size):
        existence.append((path.exists(), part_of(path).exists()))
        update(progress, size)

    monkeypatch.setattr(download_module.Progress, "update", watch)
    download(server.url, path, SHA256, progress=False)
    assert len(existence) > 1
    assert set(existence) == {(False, True)}


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "file:///etc/hostname", "corpus.txt", "http:///x", ""])
def test_an_address_that_is_not_http_is_refused_with_what_was_received(url, tmp_path):
    with pytest.raises(ValueError, match=re.escape(f"received {url!r}")):
        download(url, tmp_path / "corpus.txt", SHA256)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_as_the_path_is_refused_before_any_request(server, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        download(server.url, tmp_path, SHA256)
    assert server.ranges == []


def test_progress_is_one_plain_line_where_stderr_is_no_terminal_and_none_when_switched_off(server, tmp_path, capsys):
    download(server.url, tmp_path / "a.txt", SHA256)
    lines = capsys.readouterr().err
    assert re.fullmatch(r"a\.txt: 512,000 of 512,000 bytes, 100 %, [\d.]+ MB/s\n", lines)
    download(server.url, tmp_path / "b.txt", SHA256, progress=False)
    assert capsys.readouterr().err == ""


def test_no_more_is_received_than_the_file_can_have(server, tmp_path):
    with pytest.raises(ValueError, match=r"corpus\.txt is not the published file: it is longer than 1,000 bytes"):
        download(server.url, tmp_path / "corpus.txt", SHA256, size=1000, progress=False)
    assert list(tmp_path.iterdir()) == []
    assert download(server.url, tmp_path / "corpus.txt", SHA256, size=len(CONTENT), progress=False).exists()


@pytest.mark.parametrize(
    ("header", "value", "reason"),
    [
        *(("length", value, "cannot be understood: its Content-Length is '") for value in LENGTHS),
        *(("location", value, "Could not download") for value in LOCATIONS),
    ],
)
def test_a_length_or_a_redirection_without_sense_is_refused_in_a_line(server, tmp_path, header, value, reason):
    setattr(server, header, value)
    with pytest.raises(DownloadError, match=reason) as error:
        download(server.url, tmp_path / "corpus.txt", SHA256, progress=False)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
