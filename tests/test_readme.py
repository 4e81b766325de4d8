import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_make_target_of_the_docs_exists():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    docs = README + (ROOT / "CONTRIBUTING.md").read_text()
    assert {name for found in re.findall(r"`?make ([a-z-]+(?: [a-z-]+)?)`", docs) for name in found.split()} <= targets


@pytest.mark.slow
def test_the_readmes_python_examples_run_as_they_stand(tmp_path):
    blocks = [b for b in re.findall(r"```python\n(.*?)```", README, re.S) if "exports/trec" not in b]
    assert len(blocks) == 6
    for block in blocks:
        run = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    assert (tmp_path / "exports" / "readme" / "1" / "saved_model.pb").is_file()
