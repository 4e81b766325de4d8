"""A corpus that is one file of a published archive: only that file is unpacked, and only if it is as published."""

import gzip
import hashlib
import io
import stat
import tarfile
import tracemalloc
import zipfile

import pytest

from dense_lstm_zoo.bundles import archives
from dense_lstm_zoo.data import download as download_module
from tests import download_harness


@pytest.fixture
def server(monkeypatch):
    with download_harness.serving(monkeypatch) as server:
        yield server


TEXT = b"a published text\n" * 100
PUBLISHED = hashlib.sha256(TEXT).hexdigest()


def archive(content=TEXT, kind=zipfile.ZIP_DEFLATED, link=False, stated_length=None):
    """A zip archive with one file. ``stated_length`` replaces the right length in its entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as file:
        entry = zipfile.ZipInfo("folder/corpus.txt")
        entry.compress_type = kind
        entry.external_attr = (stat.S_IFLNK if link else stat.S_IFREG) << 16
        file.writestr(entry, content)
    packed = bytearray(buffer.getvalue())
    if stated_length is not None:
        for signature, offset in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
            at = packed.index(signature) + offset
            packed[at : at + 4] = stated_length.to_bytes(4, "little")
    return bytes(packed)


def member(server, path, content, monkeypatch, size=1700):
    monkeypatch.setattr(download_harness, "CONTENT", content)
    url = server.url.replace("corpus.txt", "archive.zip")
    return download_module.download_member(url, "folder/corpus.txt", path, PUBLISHED, size=size, progress=False)


def test_a_member_is_unpacked_to_its_path_alone(server, tmp_path, monkeypatch):
    for size in (len(TEXT), None):
        path = tmp_path / "corpus.txt"
        assert member(server, path, archive(), monkeypatch, size).read_bytes() == TEXT
        assert sorted(file.name for file in tmp_path.iterdir()) == ["archive.zip", "corpus.txt"]
        path.unlink()
    assert server.ranges == [None]


@pytest.mark.parametrize(
    ("archive_options", "message"),
    [
        ({"content": bytes(10**7)}, "has 10,000,000 bytes, expected 1,700"),
        ({"content": bytes(10**7), "stated_length": 1700}, "corpus.txt"),
        ({"content": TEXT[:-1]}, "has 1,699 bytes, expected 1,700"),
        ({"content": TEXT[:-1], "stated_length": 1700}, "corpus.txt has 1,699 bytes|Bad CRC"),
        ({"content": TEXT[::-1]}, "has sha256"),
        ({"link": True}, "is a link"),
        ({"kind": zipfile.ZIP_LZMA}, "compressed with an unexpected method"),
    ],
)
def test_an_archive_cannot_unpack_more_than_its_entry_in_the_index_states(
    server, tmp_path, monkeypatch, archive_options, message
):
    sizes = []
    write = download_module._unpack

    def watch(files, name, size, target):
        try:
            write(files, name, size, target)
        finally:
            sizes.append(target.tell())

    monkeypatch.setattr(download_module, "_unpack", watch)
    with pytest.raises(ValueError, match=rf"archive\.zip is not the published archive: .*({message}).*deleted"):
        member(server, tmp_path / "corpus.txt", archive(**archive_options), monkeypatch)
    assert sizes[0] <= len(TEXT)
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_never_ends_is_cut_off(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download_module, "LARGEST_ARCHIVE", 100_000)
    with pytest.raises(ValueError, match="longer than 100,000 bytes"):
        member(server, tmp_path / "corpus.txt", bytes(200_000), monkeypatch)
    assert list(tmp_path.iterdir()) == []


def tar_block(name, kind, size=0, prefix=b""):
    """A header of a tar archive, of a kind that ``tarfile`` does not write."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, size
    block = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    block[345 : 345 + len(prefix)] = prefix
    block[148:156] = b"%06o\0 " % (256 + sum(block[:148]) + sum(block[156:]))
    return bytes(block)


def padded(data):
    return data + bytes(-len(data) % 512)


def pax(name, value):
    """An extension header with one value of some tens of bytes, so that its length has two digits."""
    line = f" {name}={value}\n".encode()
    data = str(len(line) + 2).encode() + line
    return tar_block("pax", b"x", len(data)) + padded(data)


SPARSE = {
    "old": tar_block("a", b"S", prefix=bytes(137) + b"\1") + (bytes(504) + b"\1" + bytes(7)) * 20_000,
    "PAX 0.0": pax("GNU.sparse.size", 1 << 40) + tar_block("a", b"0"),
    "PAX 0.1": pax("GNU.sparse.map", "0,1,2,3") + tar_block("a", b"0"),
}
HEADERS = {
    "of one file": (tar_block("@", b"L", 5) + padded(b"name\0")) * 400,
    "of all": b"".join(pax("comment", "x" * 20) + tar_block(f"d{number}", b"5") for number in range(900)) * 4,
    "one": tar_block("@", b"L", 1 << 22) + bytes(1 << 22),
}


@pytest.mark.parametrize("content", SPARSE.values(), ids=SPARSE)
def test_a_sparse_file_in_an_archive_is_refused_before_its_map_is_read(tmp_path, content):
    refused_without_memory(tmp_path, gzip.compress(content + bytes(1024)), "sparse file")


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_headers_of_an_archive_are_bounded(tmp_path, content):
    message = "headers are too many or too long|more than 1,000 files and folders"
    refused_without_memory(tmp_path, gzip.compress(content + bytes(1024)), message)


def test_the_index_of_an_archive_is_bounded(tmp_path):
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w") as file:
        for number in range(4000):
            file.writestr(f"{number:0300}", b"")
    data = archive_bytes.getvalue()
    hidden = data[:-6] + b"PK\5\6" + data[-2:]  # the mark of the last record, within it
    for number, content in enumerate((data, hidden)):
        folder = tmp_path / str(number)
        folder.mkdir()
        refused_without_memory(folder, content, "index has more than 1,048,576 bytes")


@pytest.mark.parametrize("offset", [2**62, 2**63 - 1, 2**64 - 1])
def test_a_file_that_begins_outside_its_archive_is_refused(tmp_path, offset):
    data = archive()
    place = data.index(b"PK\1\2")
    index, end = bytearray(data[place:-22]), bytearray(data[-22:])
    index[42:46], index[30:32] = b"\xff" * 4, (12).to_bytes(2, "little")  # the offset stands in 12 bytes more
    index += b"\1\0\x08\0" + offset.to_bytes(8, "little")
    end[12:16] = len(index).to_bytes(4, "little")
    refused_without_memory(tmp_path, data[:place] + index + end, "begins outside it, at byte")


def refused_without_memory(folder, data, message):
    (folder / "archive").write_bytes(data)
    (folder / "out").mkdir()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"http://x is not an archive of a bundle: .*({message})") as refused:
            archives.unpack(folder / "archive", folder / "out", "http://x")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert "\n" not in str(refused.value)
    assert list((folder / "out").iterdir()) == []
