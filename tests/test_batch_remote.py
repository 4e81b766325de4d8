"""Output at an address: files are moved one by one, the manifest comes last, and a failed run leaves nothing."""

import json
import shutil
from pathlib import Path

import pytest
from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.localfilesystem import LocalFileSystem

from dense_lstm_zoo.batch import streams
from dense_lstm_zoo.batch.layout import BrokenInputError
from tests.batch_harness import left_in, predict


class Bucket(LocalFileSystem):
    """Addresses such as bucket://out/a, kept as files below ``root``. Like an object store, it knows no folders."""

    root: Path
    targets: list[str] = []  # noqa: RUF012 - shared by all instances, of which Beam makes many

    @classmethod
    def scheme(cls):
        return "bucket"

    def at(self, path):
        return str(self.root / path.removeprefix("bucket://").rstrip("/"))

    def join(self, base, *paths):
        return "/".join([base.rstrip("/"), *paths])

    def mkdirs(self, path):
        pass

    def has_dirs(self):
        return False

    def _list(self, prefix):
        for file in sorted(self.root.rglob("*")):
            path = f"bucket://{file.relative_to(self.root)}"
            if file.is_file() and path.startswith(prefix):
                yield FileMetadata(path, file.stat().st_size)

    def create(self, path, *arguments, **options):
        self.targets.append(path)
        Path(self.at(path)).parent.mkdir(parents=True, exist_ok=True)
        return super().create(self.at(path), *arguments, **options)

    def open(self, path, *arguments, **options):
        return super().open(self.at(path), *arguments, **options)

    def rename(self, sources, targets):
        self.targets.extend(targets)
        for source, target in zip(sources, targets, strict=True):
            Path(self.at(target)).parent.mkdir(parents=True, exist_ok=True)
            Path(self.at(source)).rename(self.at(target))

    def exists(self, path):
        return Path(self.at(path)).is_file()

    def metadata(self, path):
        status = Path(self.at(path)).stat()
        return FileMetadata(path, status.st_size, status.st_mtime)

    def delete(self, paths):
        for target in map(Path, map(self.at, paths)):
            shutil.rmtree(target) if target.is_dir() else target.unlink()


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    root = tmp_path / "bucket"
    (root / "in").mkdir(parents=True)
    (root / "in" / "a.jsonl").write_text('{"text": "good"}\n{"text": 3}\n')
    monkeypatch.setattr(Bucket, "root", root, raising=False)
    Bucket.targets.clear()
    return root


def test_the_manifest_is_written_after_everything_else(bucket, batch_exports):
    result = predict(batch_exports["bilstm"][0], "bucket://in/*.jsonl", "bucket://out")
    assert (result.predicted, result.bad) == (1, 1)
    assert left_in(bucket / "out") == ["_bad-00000-of-00001.jsonl", "_manifest.json", *result.shards]
    assert Bucket.targets[-1] == "bucket://out/_manifest.json"
    assert json.loads((bucket / "out" / "_manifest.json").read_text())["input"] == ["bucket://in/a.jsonl"]
    assert left_in(bucket) == ["in", "out"]
    with pytest.raises(FileExistsError, match="bucket://out is not empty"):
        predict(batch_exports["bilstm"][0], "bucket://in/*.jsonl", "bucket://out", overwrite=True)


def test_an_address_that_is_a_pattern_is_refused(bucket, batch_exports):
    for name in ("out[1]", "out*", "a?/out"):
        with pytest.raises(ValueError, match=r"--output bucket://.* holds '.', which makes it a pattern"):
            predict(batch_exports["bilstm"][0], "bucket://in/*.jsonl", f"bucket://{name}")
    assert left_in(bucket) == ["in"]
    assert not Bucket.targets


def test_a_run_that_fails_leaves_nothing_at_the_address(bucket, batch_exports):
    with pytest.raises(ValueError, match="1 of 2 rows are bad"):
        predict(batch_exports["bilstm"][0], "bucket://in/*.jsonl", "bucket://out", max_bad=0)
    assert left_in(bucket) == ["in"]


def test_an_input_that_grows_at_its_address_publishes_nothing(bucket, batch_exports, monkeypatch):
    source, check = bucket / "in" / "a.jsonl", streams.check_unchanged

    def grown(*arguments):
        source.write_text(source.read_text() + '{"text": "late"}\n')
        check(*arguments)

    monkeypatch.setattr(streams, "check_unchanged", grown)
    with pytest.raises(BrokenInputError, match=r"a\.jsonl changed while it was read: it had 29 bytes and now has 46"):
        predict(batch_exports["bilstm"][0], "bucket://in/*.jsonl", "bucket://out")
    assert left_in(bucket) == ["in"]
