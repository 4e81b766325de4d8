"""Tables in memory, of any library, wherever texts are taken."""

import json
import subprocess
import sys

import pandas as pd
import pyarrow
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.corpora.own_files import read_split
from dense_lstm_zoo.data.frames import check_frame, is_frame, parts_of
from tests.bundle_harness import LABELS, bundle

TEXTS = ["a fine film", "a dull film"] * 4
ROWS = {"text": TEXTS, "label": ["up", "down"] * 4}


class ClassLabel:
    """The feature of Hugging Face whose integers stand for names."""

    def __init__(self, names):
        self.names = names


class Dataset:
    """A ``Dataset`` of Hugging Face, as far as it is used."""

    def __init__(self, columns, names):
        self.frame = pd.DataFrame(columns)
        self.features = {"text": object(), "label": ClassLabel(names)}

    column_names = property(lambda self: list(self.frame))

    def to_pandas(self):
        return self.frame


class Polars:
    """A frame whose conversion needs a library that is not installed."""

    def __init__(self, columns):
        self._columns = columns

    columns = property(lambda self: list(self._columns))

    def to_pandas(self):
        raise ModuleNotFoundError("pandas and pyarrow are required")

    def __getitem__(self, name):
        return pyarrow.chunked_array([self._columns[name]], pyarrow.string()).to_pandas()


class Stream:
    """A table that only Arrow can read."""

    schema = None

    def __init__(self, columns):
        self.table = pyarrow.table(columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class DatasetDict(dict):
    """Datasets by part."""


def classes(labels=(1, 0) * 4, texts=TEXTS):
    return Dataset({"text": list(texts), "label": list(labels)}, ["down", "up"])


def with_class_names():
    features = {"label": {"names": ["down", "up"], "_type": "ClassLabel"}}
    table = pyarrow.table({"text": TEXTS, "label": [1, 0] * 4})
    return table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


@pytest.mark.parametrize(
    "table",
    [Polars(ROWS), Stream(ROWS), pyarrow.table(ROWS), classes(), with_class_names()],
    ids=["polars", "stream", "pyarrow", "dataset", "metadata"],
)
def test_every_kind_of_table_is_the_corpus_that_pandas_frame_is(table):
    assert is_frame(table)
    assert zoo.load_corpus(table) == zoo.load_corpus(pd.DataFrame(ROWS))


def test_tables_of_the_real_libraries_are_read():
    polars = pytest.importorskip("polars")
    assert zoo.load_corpus(polars.DataFrame(ROWS)) == zoo.load_corpus(pd.DataFrame(ROWS))
    assert not is_frame(polars.Series(TEXTS))


def test_datasets_of_hugging_face_are_read():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(text=datasets.Value("string"), label=datasets.ClassLabel(names=["down", "up"]))
    table = datasets.Dataset.from_dict({"text": TEXTS, "label": [1, 0] * 4}, features=features)
    parts = datasets.DatasetDict(train=table, validation=table, test=table)
    corpus = zoo.load_corpus(parts)
    assert corpus.train == corpus.dev == corpus.test == zoo.load_corpus(pd.DataFrame(ROWS)).train


def test_the_parts_of_a_mapping_become_those_of_the_corpus(capsys):
    dev, unknown = classes([0, 1], ["b", "c"]), classes([-1, -1], ["d", "e"])
    corpus = zoo.load_corpus(DatasetDict(train=classes(), validation=dev, test=unknown, raw=unknown))
    assert (len(corpus.train), corpus.label_names) == (8, ("down", "up"))
    assert (corpus.dev.texts, corpus.dev.labels, corpus.test) == (["b", "c"], [0, 1], None)
    lines = capsys.readouterr().err
    assert "the dataset's parts raw are left out" in lines
    assert "the test frame has no labels, and is left out" in lines
    assert parts_of({"train": [1]}) is parts_of({}) is parts_of(5) is None


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({"test": classes()}, r"holds no training texts \(it holds test\); name a table 'train'"),
        ({"one": classes()}, "holds one, none of which is a part. Accepted: train, dev, valid, validation, test"),
        ({"train": classes(), "dev": classes(), "valid": classes()}, "'dev' and 'valid', both for dev; leave one out"),
        ({"train": classes(), "test": pd.DataFrame({"txt": ["a"], "label": [1]})}, "column of the test frame: 'text'"),
        (classes([1, -1] * 4), r"4 rows \(row 1, 3, 5, 7\), counted from 0, without a value in 'label'"),
        (classes([1, 2] * 4), "row 1, counted from 0: 'label' has 2 classes; found class 2"),
        (pd.DataFrame(ROWS).rename(columns={"text": "txt"}), r"'text'\. Did you mean 'txt'.*text_column="),
    ],
)
def test_datasets_that_cannot_be_trained_on_are_refused(dataset, message):
    with pytest.raises(ValueError, match=message):
        zoo.load_corpus(dataset)


def test_a_lazy_table_and_a_single_column_are_refused():
    class LazyFrame:
        columns = ()

        def collect(self):
            raise AssertionError

    with pytest.raises(TypeError, match=r"received LazyFrame\. Call its collect\(\) first"):
        check_frame("frame", LazyFrame())
    for column in (pd.Series(TEXTS), pyarrow.chunked_array([TEXTS])):
        assert not is_frame(column)


def test_rows_without_text_or_label_are_left_out_on_request(capsys):
    frame = pd.DataFrame({"text": ["a", " ", None, "b", "c"], "label": [1, 2, 3, None, 2]})
    corpus = zoo.load_corpus(frame, skip_empty=True)
    assert (corpus.train.texts, corpus.label_names) == (["a", "c"], ("1", "2"))
    line = "the training frame: 3 rows (row 1, 2, 3), counted from 0, without text or label; left out."
    assert line in capsys.readouterr().err
    with pytest.raises(ValueError, match="skip_empty=True"):
        zoo.load_corpus(frame)
    with pytest.raises(ValueError, match="no row has both"):
        zoo.load_corpus(frame.assign(label=None), skip_empty=True)
    # Rows keep their numbers behind those that are left out.
    test = frame.assign(label=[1, 1, 1, 1, 9])
    with pytest.raises(ValueError, match=r"test: 1 row \(row 4\), counted from 0, with a label that does not occur"):
        zoo.load_corpus({"train": frame, "test": test}, skip_empty=True)


@pytest.mark.parametrize("values", [[2.0, 1e300], [0.5, 1.0], [float("inf"), 1.0]])
def test_numbers_that_are_not_whole_stay_as_they_are(values):
    frame = pd.DataFrame({"text": ["a", "b"], "label": values})
    assert zoo.load_corpus(frame).label_names == tuple(sorted(map(str, values)))


def test_predict_evaluate_and_embed_take_tables_with_the_columns_of_the_training():
    trained = bundle("bilstm")
    trained.config["training"]["columns"] = {"text_column": "said", "label_column": "label"}
    texts, labels = ["good film", "bad film"], list(LABELS[:2])
    frame = pyarrow.table({"said": texts, "label": labels})
    assert [answer.text for answer in trained.predict(frame)] == texts
    assert (trained.probabilities(frame) == trained.probabilities(texts)).all()
    assert (trained.embed(frame) == trained.embed(texts)).all()
    expected = trained.evaluate(zoo.Split(texts, [0, 1]), LABELS)
    assert trained.evaluate(frame) == trained.evaluate({"train": frame, "test": frame}) == expected
    assert list(trained.predict_frame(frame, text="said"))[:3] == ["said", "label", "predicted_label"]
    with pytest.raises(ValueError, match=r"holds no test texts \(it holds train\)"):
        trained.evaluate({"train": frame})
    with pytest.raises(ValueError, match=r"Unknown column of the frame: 'said'"):
        trained.predict(pd.DataFrame({"sad": texts}))


SENTENCES = {"tokens": [["Dogs", "bark"], ["Go"], []] * 5, "tags": [["N", "V"], ["V"], []] * 5}


class List:
    """The feature of Hugging Face for lists, with the feature of their items."""

    def __init__(self, feature):
        self.feature = feature


def test_sentences_of_tables_train_taggers():
    corpus = zoo.load_corpus(pd.DataFrame(SENTENCES), "tagging")
    assert (len(corpus.train), len(corpus.dev), corpus.test, corpus.tag_names) == (9, 1, None, ("N", "V"))
    numbers = {"tokens": SENTENCES["tokens"], "ner": [[0, 1], [1], []] * 5}
    coded = Dataset(numbers, [])
    coded.features = {"tokens": List(object()), "ner": List(ClassLabel(["N", "V"]))}
    named = zoo.load_corpus({"train": coded, "test": coded}, "tagging", tag_column="ner")
    assert named.train == corpus.train
    assert len(named.test) == 10
    table = pyarrow.table(numbers)
    features = {"ner": {"feature": {"names": ["N", "V"], "_type": "ClassLabel"}, "_type": "List"}}
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    assert zoo.load_corpus(table, "tagging", tag_column="ner").train == corpus.train


def test_texts_of_tables_train_language_models():
    frame = pd.DataFrame({"text": ["to be\nor not", None, " ", "to\x0cbe"] * 5})
    corpus = zoo.load_corpus({"train": frame, "test": frame}, "language_model")
    assert corpus.train[:4] == ["to be", "or not", "to\x0cbe", "to be"]
    assert [len(part) for part in (corpus.train, corpus.dev, corpus.test)] == [14, 1, 15]
    assert zoo.load_corpus(frame, "language_model").train == corpus.train
    frame = pd.DataFrame({"text": ["to be\r\nor not\r\n", " to be\r", "\ror\x0cnot\n"]})
    assert zoo.load_corpus({"train": frame, "dev": frame}, "language_model").train == [
        *("to be", "or not"),
        *("to be", "or\x0cnot"),
    ]


@pytest.mark.parametrize(
    ("task", "columns", "message"),
    [
        (
            "tagging",
            {"tokens": [["a"]], "tags": ["N"]},
            "row 0, counted from 0: 'tags' must hold lists of strings; found 'N'",
        ),
        ("tagging", {"tokens": [["a", None]], "tags": [["N"]]}, "found None in one"),
        ("tagging", {"tokens": [["a", "b"]], "tags": [["N"]]}, "row 0, .*: 2 tokens and 1 tags; each token needs one"),
        ("tagging", {"tokens": [[]], "tags": [[]]}, "holds no tokens"),
        ("tagging", {"tokens": [["a"]], "tags": [["N"]]}, "only one sentence"),
        ("tagging", {"tokens": [["a"]]}, r"column of the frame: 'tags'.* token_column= and tag_column=\.$"),
        ("language_model", {"text": ["a", 5]}, "row 1, counted from 0, is 5"),
        (
            *("language_model", {"text": ["a\r\nb", "to be\ror not\r"]}),
            r"'text' has carriage returns alone at the ends of its lines, in row 1, .*\.str\.replace\('\\r', '\\n'\)",
        ),
        ("language_model", {"text": [None]}, "holds no text in 'text'"),
        ("language_model", {"text": ["a"]}, "only one line"),
    ],
)
def test_tables_that_cannot_train_these_are_refused(task, columns, message):
    with pytest.raises(ValueError, match=message):
        zoo.load_corpus(pd.DataFrame(columns), task)


def test_an_option_of_another_task_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Unknown option for tables of tagging: 'skip_empty'"):
        zoo.load_corpus(pd.DataFrame(SENTENCES), "tagging", skip_empty=True)
    with pytest.raises(ValueError, match="frame cannot be written as JSON lines; give its texts as files"):
        zoo.tune("bilstm_tagger", pd.DataFrame(SENTENCES), tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_a_label_that_a_model_does_not_know_is_named_with_its_line(write):
    trained = bundle("bilstm")
    split, names = read_split("csv", write(f"text,label\na,{LABELS[0]}\nb,other\nc,{LABELS[1]}\nd,other\n", "test.csv"))
    with pytest.raises(ValueError, match=r"^2 rows \(lines 3, 5\): Unknown label 'other'"):
        trained.evaluate(split, names)
    with pytest.raises(ValueError, match=r"^Unknown label 'other'"):
        trained.evaluate(zoo.Split(["a"], [0]), ["other"])


def test_where_texts_are_in_a_file_is_no_part_of_their_fingerprint(write):
    name = write("text,label\n\n" + "".join(map("{},{}\n".format, TEXTS, ROWS["label"])), "train.csv")
    from_file, from_frame = zoo.load_corpus(name), zoo.load_corpus(pd.DataFrame(ROWS))
    assert from_file.train.lines == list(range(3, 11))
    assert from_file.with_dev(0.25).dev.lines[0] in range(3, 11)
    job_class = tasks.find("classification").job_class
    assert job_class.fingerprint(from_file) == job_class.fingerprint(from_frame)


def test_no_library_of_tables_is_imported_before_the_user_does():
    code = (
        "import sys, dense_lstm_zoo as zoo\n"
        "from dense_lstm_zoo.data.frames import is_frame, parts_of\n"
        "is_frame(object()), parts_of({'train': 1})\n"
        "print({'pandas', 'polars', 'pyarrow', 'datasets'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
