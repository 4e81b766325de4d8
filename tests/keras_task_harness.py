"""The configs of Keras tasks, as a stranger may have written them."""

import copy
import re
from typing import Any

import pytest


def refused(model: Any, path: tuple[str, ...], value: Any, message: str) -> None:
    """Expect that a config with another value at that path is refused before the network is built."""
    config = copy.deepcopy(model.get_config())
    part = config
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dense_lstm_zoo.models.registry.build", None)
        with pytest.raises(ValueError, match=re.escape(message)) as error:
            type(model).from_config(config)
    assert str(error.value).startswith(f"The config of this {type(model).__name__} is damaged")
