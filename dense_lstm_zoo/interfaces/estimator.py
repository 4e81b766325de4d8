"""The part that all estimators for scikit-learn share: parameters, training by ``train``, pickling."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.training.loop import train

if TYPE_CHECKING:
    import numpy as np
    from sklearn.utils import Tags

    from dense_lstm_zoo.bundles.bundle import Bundle

_Function = TypeVar("_Function", bound=Callable[..., Any])


@contextlib.contextmanager
def _without_warnings_of_retracing() -> Iterator[None]:
    """Hold back TensorFlow's warnings that a step is traced anew: each model of a search has a step of its own."""

    def is_not_of_retracing(record: logging.LogRecord) -> bool:
        return "triggered tf.function retracing" not in record.getMessage()

    logger = logging.getLogger("tensorflow")
    logger.addFilter(is_not_of_retracing)
    try:
        yield
    finally:
        logger.removeFilter(is_not_of_retracing)


@functools.cache
def options_of(task: str) -> tuple[str, ...]:
    """Return the options of a training of the task, and the arguments of its models that are not from the data."""
    models = registry.list_models(task=task)
    arguments = {name for model in models for name in registry.entry(model).arguments}
    options = {option.name for option in tasks.find(task).all_options}
    return tuple(sorted((options | arguments).difference(registry.FROM_DATA)))


def with_options_of(task: str) -> Callable[[_Function], _Function]:
    """Return a decorator that adds the task's options to the signature of a function with ``**options``.

    scikit-learn reads the parameters of an estimator from the signature of its ``__init__``.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        *parameters, _ = signature.parameters.values()
        own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in options_of(task)]
        function.__signature__ = signature.replace(parameters=[*parameters, *own])  # type: ignore[attr-defined]
        return function

    return decorate


class ZooEstimator(BaseEstimator):
    """An estimator that ``train`` fits. Its parameters are the attributes of their names, those that were given."""

    bundle_: Any
    classes_: np.ndarray

    _task: ClassVar[str]
    _settings: ClassVar[Mapping[str, Any]] = {}  # options with another default than that of ``train``
    _not_of_train: ClassVar[tuple[str, ...]] = ()  # parameters that are no options

    def _set(self, parameters: Mapping[str, Any]) -> None:
        """Set parameters, or raise ``ValueError`` and set none."""
        accepted = self._get_param_names()
        for name in parameters:
            if name not in accepted:
                raise checks.unknown_name(f"parameter of {type(self).__name__}:", name, accepted)
        for name, value in parameters.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name: those of the signature, and the options that were given.

        Args:
            deep: Without effect, as no parameter is an estimator.
        """
        accepted = set(self._get_param_names())
        return {name: value for name, value in vars(self).items() if name in accepted}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also options that were not given before. Values are checked by ``fit``.

        Args:
            **params: Options of ``train`` and arguments of the task's models.

        Raises:
            ValueError: An unknown parameter, with near matches.
        """
        self._set(params)
        return self

    def _train(self, corpus: Any) -> Bundle:
        """Return the bundle that ``train`` makes of a corpus."""
        own = {name: value for name, value in self.get_params().items() if name not in self._not_of_train}
        options = {**self._settings, **own}
        model, run_dir = options.pop("model"), options.pop("run_dir")
        models = registry.list_models(task=self._task)
        if model not in models:
            raise checks.unknown_name(f"model of {type(self).__name__}:", model, models)
        with tempfile.TemporaryDirectory() as work, _without_warnings_of_retracing():
            folder = Path(work) / "run" if run_dir is None else run_dir
            return train(model, corpus, folder, progress=False, **options)

    def _trained(self) -> Any:
        """Return the bundle, or raise ``NotFittedError``."""
        check_is_fitted(self, "bundle_")
        return self.bundle_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.target_tags.required = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters, and the bundle as the bytes of its folder."""
        from dense_lstm_zoo.bundles.packing import pack

        state = dict(super().__getstate__())
        return {**state, "bundle_": pack(state["bundle_"])} if "bundle_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        from dense_lstm_zoo.bundles.packing import unpack

        super().__setstate__({**state, "bundle_": unpack(state["bundle_"])} if "bundle_" in state else state)
