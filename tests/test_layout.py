"""The layout: a task is a folder with the same files in each, imports point one way, and nothing goes in circles."""

import ast
import graphlib
import re
import sys
from pathlib import Path

import pytest

from dense_lstm_zoo import tasks

PACKAGE = Path(__file__).parents[1] / "dense_lstm_zoo"
RUNTIME = PACKAGE.with_name("dense_lstm_zoo_runtime")
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
TASKS = ("classification", "language", "tagging")
# The rooms, lowest first: a module imports those of its own room and of the floors below. Rooms of one floor know
# nothing of each other.
FLOORS = (
    ("checks", "forks", "machine", "storage"),
    ("display",),
    ("data", "settings"),
    ("backend", "layers"),
    ("tasks",),
    ("corpora", "models"),
    ("bundles",),
    ("reports", "training"),
    ("comparing", "exports"),
    TASKS,
    ("search",),
    ("batch", "interfaces", "measuring", "teaching"),
    ("cli",),
)
# Files that name a task: the public names, and what a saved model may name.
NAME_TASKS = {"dense_lstm_zoo", "dense_lstm_zoo.keras_classes"}
# The names that users see.
ABOVE_ALL = {"dense_lstm_zoo", "dense_lstm_zoo.__main__", "dense_lstm_zoo.keras_classes", "dense_lstm_zoo.sklearn"}


def imported(module: str, anywhere: bool = True) -> set[str]:
    """The package's modules that a module imports, wherever in its text. Another name is its package's."""
    modules = set()
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree) if anywhere else tree.body:
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names if name.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dense_lstm_zoo":
            for name in node.names:
                member = f"{node.module}.{name.name}"
                modules.add(member if member in MODULES else node.module)
    return modules - {module}


def test_no_module_imports_itself_by_a_detour():
    graph = {module: imported(module) - {"dense_lstm_zoo"} for module in MODULES if module != "dense_lstm_zoo"}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, with the circle


def room(module: str) -> str:
    return module.split(".")[1]


def floor(module: str) -> int:
    return next(i for i, rooms in enumerate(FLOORS) if room(module) in rooms)


def test_every_file_has_a_room():
    rooms = {name for rooms in FLOORS for name in rooms}
    assert {room(module) for module in MODULES.keys() - ABOVE_ALL} == rooms, "a new file belongs in a room"


def test_imports_point_downwards():
    for module in MODULES.keys() - ABOVE_ALL:
        for other in imported(module) - {"dense_lstm_zoo"}:
            own_floor, other_floor = floor(module), floor(other)
            assert other_floor <= own_floor, f"{module} imports {other}, above it"
            assert own_floor != other_floor or room(module) == room(other), f"{module} imports {other}, beside it"


def task_names(module: str) -> set[str]:
    """Return the names of tasks, of their folders and classes in a module's code. Its docstrings may name them."""
    names = [*tasks.names(), *(rf"dense_lstm_zoo\.{folder}" for folder in TASKS)]
    names += [name for task in tasks.every() for name in (task.job, task.bundle)]
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            texts.append(node.value)
        elif isinstance(node, ast.ImportFrom):
            texts += [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            texts += [name.name for name in node.names]
        elif isinstance(node, ast.Attribute):
            texts.append(node.attr)
    return {match[0] for text in texts for match in pattern.finditer(text)}


def test_only_a_task_itself_names_it():
    """Other files ask the ``Task``: a new one costs a folder and a line in ``tasks/``."""
    exempt = {*TASKS, "tasks", "interfaces"}
    names_of_tasks = {
        module: task_names(module) for module in MODULES if module in ABOVE_ALL or room(module) not in exempt
    }
    for module in (module for module in MODULES if module not in ABOVE_ALL and room(module) in TASKS):
        own = next(task for task in tasks.every() if task.package.rpartition(".")[2] == room(module))
        names_of_tasks[module] = task_names(module) - {own.name, own.package, own.job, own.bundle}
    assert {module: names for module, names in names_of_tasks.items() if names and module not in NAME_TASKS} == {}


def test_the_runtime_knows_nothing_of_the_zoo_that_depends_on_it():
    """Nor of what the zoo is built on."""
    core = {*sys.stdlib_module_names, "dense_lstm_zoo_runtime", "numpy", "onnxruntime", "re2"}
    server = {"fastapi", "httptools", "prometheus_client", "pydantic_core", "starlette", "uvicorn"}  # of the extra
    for path in RUNTIME.rglob("*.py"):
        accepted = core | server if path.parent.name == "serve" else core
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.partition(".")[0] in accepted, f"{path} imports {name}"


@pytest.mark.parametrize("folder", TASKS)
def test_every_task_has_the_same_files(folder):
    names = (
        "answers assembly batches bundle corpora corpus demo export job models recipes report task to_onnx vocabulary"
    )
    assert {f"{name}.py" for name in names.split()} <= {path.name for path in (PACKAGE / folder).iterdir()}


def test_every_task_is_what_its_name_says():
    for name in tasks.names():
        task = tasks.find(name)
        assert task.name == name
        assert task.package.rpartition(".")[2] in TASKS
        assert task.bundle_class.task is task
        assert {option.name for option in task.options} <= set(tasks.every_option())


def test_one_import_registers_every_class_that_keras_may_save():
    modules = {
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
    assert len(modules) > 20
    assert modules <= reached
