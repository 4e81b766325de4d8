"""The comparisons' command and folder: what ships, who imports whom."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

from benchmarks.speed import __main__ as speed

ROOT = Path(__file__).parents[1]


def test_what_is_installed_holds_the_package_and_no_comparisons(tmp_path):
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == ["dense_lstm_zoo"]
    modules = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.py")}
    assert modules == {path.relative_to(ROOT) for path in (ROOT / "dense_lstm_zoo").rglob("*.py")}
    assert not [path for path in modules if "import torch" in (tmp_path / path).read_text(encoding="utf-8")]


def test_no_two_modules_of_the_benchmarks_import_each_other():
    imports = {}
    for path in (ROOT / "benchmarks").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        targets = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks"):
                targets |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        imports[name] = targets - {name}
    graph = {
        name: {other for other in modules_of_file if imports.get(other)} for name, modules_of_file in imports.items()
    }
    assert list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError for a circle


def test_the_command_writes_beside_the_cpus_rows_what_it_measures_on_a_gpu(monkeypatch):
    options_of_bench: dict = {}
    monkeypatch.setattr(
        speed, "bench", lambda device, only, quick, **options: options_of_bench.update(options, device=device)
    )
    monkeypatch.setattr(speed, "draw", lambda path, picture: options_of_bench.update(path=path, picture=picture))
    speed.main(["--device", "gpu", "--only", "train", "--repeats", "2"])
    assert (options_of_bench["device"], options_of_bench["repeats"]) == ("gpu", 2)
    assert options_of_bench["command"] == "python -m benchmarks.speed --only train --repeats 2 --device gpu"
    assert (options_of_bench["path"].name, options_of_bench["picture"].name) == ("speed_gpu.csv", "speed_gpu.png")
