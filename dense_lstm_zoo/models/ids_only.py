"""An error for raw text that is given to a network of ids, which Keras would tell in terms of dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from dense_lstm_zoo.data.raw_text import holds_text

if TYPE_CHECKING:
    import keras

Scores: TypeAlias = "float | list[float] | dict[str, float]"  # of ``evaluate``: the loss, with the metrics if any
_MixedIn: Any = object  # a mixin of keras.Model, whose methods it calls


class IdsOnly(_MixedIn):
    """A ``keras.Model``'s first base class that refuses raw text and names the class that takes it.

    Raises:
        TypeError: Raw text, in ``fit``, ``evaluate``, ``predict`` and a call.
    """

    text_class: ClassVar[str]  # its name in ``dense_lstm_zoo``

    def fit(self, x: object = None, *args: Any, **options: Any) -> keras.callbacks.History:
        """Train as ``keras.Model.fit`` does."""
        self._check(x)
        return super().fit(x, *args, **options)

    def evaluate(self, x: object = None, *args: Any, **options: Any) -> Scores:
        """Score as ``keras.Model.evaluate`` does."""
        self._check(x)
        return super().evaluate(x, *args, **options)

    def predict(self, x: object, *args: Any, **options: Any) -> Any:
        """Answer as ``keras.Model.predict`` does."""
        self._check(x)
        return super().predict(x, *args, **options)

    def __call__(self, inputs: object, *args: Any, **options: Any) -> Any:
        """Run the network."""
        self._check(inputs)
        return super().__call__(inputs, *args, **options)

    def _check(self, x: object) -> None:
        if holds_text(x):
            raise TypeError(
                f"A model of zoo.build reads ids of words; received raw text. zoo.{self.text_class} is a Keras model "
                "that takes text."
            )
