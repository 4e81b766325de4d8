"""The layout: a task is a folder with the same files in each, imports point one way, and nothing goes in circles."""

import ast
import graphlib
import sys
from pathlib import Path

import pytest

from dense_lstm_zoo import task

PACKAGE = Path(__file__).parents[1] / "dense_lstm_zoo"
RUNTIME = PACKAGE.with_name("dense_lstm_zoo_runtime")
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
TASKS = ("classification", "language", "tagging")
# What may be imported from where: a module may import those of its own floor's folder, and of the floors below.
FLOORS = (
    ("layers", "data"),
    TASKS,
    ("training",),
    ("search", "measuring", "batch"),
    ("cli",),
)
# The names that users see.
ABOVE_ALL = {"dense_lstm_zoo", "dense_lstm_zoo.__main__", "dense_lstm_zoo.keras_classes"}


def imported(module: str, anywhere: bool = True) -> set[str]:
    """The package's modules that a module imports, wherever in its text; a name that is none is its package's."""
    found = set()
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree) if anywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dense_lstm_zoo":
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                found.add(whole if whole in MODULES else node.module)
    return found - {module}


def test_no_module_imports_itself_by_a_detour():
    graph = {module: imported(module) - {"dense_lstm_zoo"} for module in MODULES if module != "dense_lstm_zoo"}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, with the circle


def floor(module: str) -> int | None:
    folder = module.split(".")[1] if "." in module else ""
    return next((i for i, folders in enumerate(FLOORS) if folder in folders), None)


def test_imports_point_downwards():
    for module in MODULES.keys() - ABOVE_ALL:
        for other in imported(module) - {"dense_lstm_zoo"}:
            if None not in (floor(module), floor(other)):
                assert floor(other) <= floor(module), f"{module} imports {other}, which is above it"
            folders = [name.split(".")[1] for name in (module, other)]
            if set(folders) <= set(TASKS):
                assert len(set(folders)) == 1, f"{module} imports {other}, of another task"


def test_the_runtime_knows_nothing_of_the_zoo_that_depends_on_it():
    """Nor of what the zoo is built on."""
    accepted = {*sys.stdlib_module_names, "dense_lstm_zoo_runtime", "numpy", "onnxruntime", "re2"}
    for path in RUNTIME.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.partition(".")[0] in accepted, f"{path} imports {name}"


def test_what_tasks_share_knows_none_of_them():
    shared = {module for module in MODULES if floor(module) is None} - ABOVE_ALL
    assert {"dense_lstm_zoo.bundle", "dense_lstm_zoo.export", "dense_lstm_zoo.job", "dense_lstm_zoo.task"} <= shared
    for module in shared | {module for module in MODULES if floor(module) == 0}:
        of_tasks = {other for other in imported(module) if floor(other) == 1}
        assert not of_tasks, f"{module} imports {of_tasks}"


@pytest.mark.parametrize("folder", TASKS)
def test_every_task_has_the_same_files(folder):
    names = "assembly batches bundle corpora corpus demo export job models recipes report task to_onnx vocabulary"
    assert {f"{name}.py" for name in names.split()} <= {path.name for path in (PACKAGE / folder).iterdir()}


def test_every_task_is_what_its_name_says():
    for name in task.names():
        found = task.find(name)
        assert found.name == name
        assert found.package.rpartition(".")[2] in TASKS
        assert found.bundle_class.task is found
        assert {option.name for option in found.options} <= set(task.every_option())


def test_one_import_registers_every_class_that_keras_may_save():
    there = {
        module
        for module, path in MODULES.items()
        if "@keras.saving.register_keras_serializable" in path.read_text(encoding="utf-8")
    }
    reached, todo = set(), ["dense_lstm_zoo.keras_classes"]
    while todo:
        if (module := todo.pop()) not in reached:
            reached.add(module)
            # What a function imports later is not registered; this module's own imports stand under a condition.
            todo += imported(module, anywhere=module == "dense_lstm_zoo.keras_classes") - {"dense_lstm_zoo"}
    assert len(there) > 20
    assert there <= reached
