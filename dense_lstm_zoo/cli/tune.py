"""The command tune: a sweep, or the chief or a worker of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.cli.arguments import FILE_OPTIONS
from dense_lstm_zoo.cli.command import Group, argument, command
from dense_lstm_zoo.cli.loading import import_tensorflow
from dense_lstm_zoo.cli.train import check_arguments, check_folds
from dense_lstm_zoo.cli.training_arguments import MODEL, QUIET, settings
from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search import TUNERS
from dense_lstm_zoo.tasks import recipes

_SWEEP = Group(
    "sweep",
    (
        argument(
            "--run-dir",
            required=True,
            metavar="FOLDER",
            help="the folder of the sweep, required; repeating the command resumes it",
        ),
        argument("--tuner", choices=TUNERS, help="search strategy (default: random)"),
        argument(
            "--space",  # the name in Python
            "--search",
            dest="search",
            nargs="+",
            action="extend",
            metavar="NAME=VALUES",
            help="units=50:300:log, dropout=0.2:0.6:0.1 or pooling=mean,max (default: the task's usual search space)",
        ),
        argument("--trials", type=int, metavar="N", help="maximum number of trials (default: 20; for a grid, all)"),
        argument(
            "--budget", metavar="N", help="encoder parameters, such as 1.44M; the width is derived from the depth"
        ),
        argument("--seeds", type=int, metavar="N", help="runs per trial (default: 1)"),
        argument(
            "--folds", type=int, metavar="K", help="score by cross-validation on the training texts (default: no)"
        ),
        argument(
            "--keep",
            type=int,
            metavar="K",
            help="keep the bundles of the best K trials (default: 1, as hyperband always)",
        ),
        argument("--workers", type=int, metavar="N", help="number of trials at a time on this machine (default: 1)"),
    ),
)
_MACHINES = Group(
    "several machines",
    (
        argument("--role", choices=("chief", "worker"), help="keep the oracle, or run its trials"),
        argument(
            "--oracle",
            metavar="[HOST:]PORT",
            help="the chief's address; without HOST, this machine only; a worker waits 300 s for it",
        ),
        argument(
            "--worker-id",
            metavar="ID",
            help="by which a worker that starts again gets its trial back (default: the index in an Indexed Job or a "
            "Slurm array, else another one for each process)",
        ),
        argument(
            "--silence",
            type=float,
            metavar="S",
            help="reassign a silent worker's trial after S seconds (default: 300)",
        ),
    ),
    "all share the folder of the sweep and use the same options",
)


@command(
    "tune",
    "Search over a model's arguments; after a kill, the same command resumes.",
    argument("model", help=MODEL),
    _SWEEP,
    _MACHINES,
    *settings(QUIET, seed="seed of the search; the runs of a trial have the seeds 1, 2, ..."),
    example="tune dc_bilstm --dataset trec --search num_dense_layers=5,10,15 --budget 1.44M --run-dir runs/sweep",
    by_model=True,
)
def tune(
    model: str, dataset: str | None, search: list[str] | None, role: str | None, worker_id: str | None, **options: Any
) -> None:
    """Run a sweep, or be the chief or a worker of one."""
    from dense_lstm_zoo.search.space import parse_space

    if role and not options["oracle"]:
        raise ValueError(f"--role {role} needs the chief's address: --oracle HOST:PORT.")
    if worker_id and role != "worker":
        raise ValueError("--worker-id is for --role worker.")
    space = parse_space(search) if search else None
    resolved = check_sweep(model, dataset, options, space)
    names = registry.entry(model).arguments  # None may be a value of theirs
    options = {name: x for name, x in options.items() if name not in FILE_OPTIONS and (x is not None or name in names)}
    if space:
        options["space"] = space
    import_tensorflow()
    if role == "worker":
        from dense_lstm_zoo.search import fleet

        fleet.join(model, resolved, worker_id=worker_id, **options)
        return
    if role == "chief":
        options.setdefault("workers", 0)
    zoo.tune(model, resolved, **options)


def check_sweep(
    model: str, dataset: str | None, options: Mapping[str, Any], space: Mapping[str, Any] | None = None
) -> Dataset:
    """Return the dataset of a sweep, after checking the request."""
    from dense_lstm_zoo.search.plan import check_extent
    from dense_lstm_zoo.search.space import check_space, ends

    extent = ("tuner", "trials", "keep", "workers", "silence", "oracle")
    check_extent(**{name: options.get(name) for name in extent})
    check_folds(options, options)
    task, recipe = tasks.find(registry.entry(model).task), recipes.name_or_none(options.get("recipe"))
    names = {name for other in zoo.list_models() for name in registry.entry(other).arguments}
    arguments = {name: value for name, value in options.items() if name in names}
    if space:
        check_space(model, space, {**arguments, **{name: x for name, x in options.items() if x is not None}})
    points = [{}, *({name: value} for name, values in (space or {}).items() for value in ends(values))]
    for point in points:
        own = {name: value for name, value in point.items() if name in names}
        check_arguments(model, registry.resolve(model, {**arguments, **own}, recipe, complete=False))
        tasks.check_options({**options, **point})
    return Dataset.resolve(dataset, {name: options.get(name) for name in FILE_OPTIONS}, task.name)
