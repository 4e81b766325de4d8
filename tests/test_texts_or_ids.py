"""Raw text is told from ids, whatever holds it and whatever is missing in it."""

import numpy as np
import pytest

from dense_lstm_zoo.data.raw_text import holds_text
from dense_lstm_zoo.interfaces.inputs import texts_of


class Ids(np.ndarray):
    """Ids that are not to become a list of many."""

    def tolist(self):
        assert self.size < 10
        return super().tolist()


def test_a_whole_array_of_ids_makes_no_list():
    assert not holds_text([np.zeros(100, int).view(Ids)])
    assert not holds_text([np.zeros((0, 3), int), np.zeros((50, 3), int).view(Ids)])


def test_rows_that_are_empty_say_nothing():
    for rows in (
        [[], ["film"]],
        [np.array([], str), np.array(["a", "film"])],
        [np.array([]), np.array(["a"])],
        [[None], ["film"]],
        [],
    ):
        assert holds_text(rows)
    for rows in ([[], [3]], [np.array([], int), np.array([3])], [np.array([], int)]):
        assert not holds_text(rows)


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("row", [0, 5])
def test_a_missing_text_in_a_column_is_named_by_its_row(missing, row):
    column = np.array([["a film"]] * 9, object)
    column[row] = missing
    assert holds_text(column)
    with pytest.raises(TypeError, match=f"item {row}, counted from 0. It is missing"):
        texts_of(column)
