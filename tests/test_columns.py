"""Files of tagged columns and CoNLL-U: read correctly, or refused with file and line."""

import dataclasses
import gzip
import io

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.data.columns import ColumnFile, sentence_lines
from dense_lstm_zoo.data.encodings import utf_16
from dense_lstm_zoo.data.records import Options, read_records
from dense_lstm_zoo.tagging.corpora import read_columns
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from tests.tagged_files import CHUNKS, COLUMNS, CONLLU, DOGS, PENN, UNIVERSAL, WORDS, write_split


def fails(match, path, **options):
    with pytest.raises(ValueError, match=match) as caught:
        read_columns(path, **options)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        COLUMNS,
        COLUMNS.rstrip("\n"),
        f"\n\n  \n{COLUMNS}\n\t\n\n",
        COLUMNS.replace("\n\n", "\n\n \n\n\n"),
        COLUMNS.replace("\n", "\r\n"),
        f"-DOCSTART- -X- O\n\n{COLUMNS}\n-DOCSTART-\n\n",
        COLUMNS.replace("\n\n", "\n-DOCSTART- -X- -X- -X-\n"),
        COLUMNS.replace(" ", "\t"),
        COLUMNS.replace(" ", "   \t ").replace("\n", "  \n"),
        COLUMNS.encode("utf-8-sig"),
        COLUMNS.encode("utf-16"),
        gzip.compress(COLUMNS.encode(), mtime=0),
    ],
)
@pytest.mark.parametrize("name", ["train.txt", "train.gz"])
def test_columns_are_read_however_they_are_laid_out(write, content, name):
    path = write(content, name)
    assert read_columns(path) == read_columns(str(path), tag_column=2) == TaggedSplit(DOGS, CHUNKS)
    assert read_columns(path, token_column=-3, tag_column=1).tags == [["NNS", "VBP", "."], ["VB"]]


def test_cells_keep_all_white_space_that_separates_no_columns(write):
    tokens = ["1\u202f000\u00a0", "\x85\u2028", "caf\u00e9"]
    assert read_columns(write("".join(f"{token}  X\n" for token in tokens))).tokens == [tokens]
    assert read_columns(write("a X\n\u00a0 \u2028\n")) == TaggedSplit([["a", "\u00a0"]], [["X", "\u2028"]])
    path = write("New York\tNNP\n# \t#\n")
    assert read_columns(path, separator="\t") == TaggedSplit([["New York", "#"]], [["NNP", "#"]])
    path = write("a, b ,c\n\nd,e,\n")
    assert read_columns(path, separator=",", tag_column=1) == TaggedSplit([["a"], ["d"]], [["b"], ["e"]])


@pytest.mark.parametrize("name", ["train.conllu", "train.CONLLU.gz", "train.txt"])
@pytest.mark.parametrize(
    "change",
    [
        str,
        lambda text: "\n\n" + text.replace("\n", "\r\n"),
        lambda text: text + "\n# end",
        lambda text: "\n".join(line for line in text.split("\n") if not line.startswith("#")),
    ],
)
def test_conllu_is_known_by_its_name_or_its_content_and_has_words_only(write, name, change):
    content = change(CONLLU).encode()
    path = write(gzip.compress(content, mtime=0) if name.endswith(".gz") else content, name)
    assert ColumnFile(path).is_conllu
    assert read_columns(path) == read_columns(path, token_column=1, tag_column=3) == TaggedSplit(WORDS, UNIVERSAL)
    assert read_columns(path, tag_column=4) == TaggedSplit(WORDS, PENN)
    lemmas = read_columns(path, token_column=2)
    assert (lemmas.tokens[0][:3], lemmas.tags) == (["dog", "do", "not"], UNIVERSAL)
    assert read_columns(path, tag_column=9).tags == [["_"] * 5 + ["SpaceAfter=No", "_"], ["_"]]


def test_a_first_token_that_looks_like_a_comment_is_a_token(write):
    path = write("# # I-NP\n1.8 CD I-NP\n\n# # B-NP\n")
    assert not ColumnFile(path).is_conllu
    assert read_columns(path) == TaggedSplit([["#", "1.8"], ["#"]], [["I-NP", "I-NP"], ["B-NP"]])
    without_comments = write("\n".join(line for line in CONLLU.split("\n") if "# " not in line and "-3" not in line))
    assert read_columns(without_comments, token_column=1, tag_column=3, separator="\t").tags[1] == ["PUNCT"]


def test_sentences_may_have_one_token_or_thousands(write):
    split = TaggedSplit([["w"], ["w"] * 5000, ["w"]], [["A"], ["B"] * 5000, ["A"]])
    assert read_columns(write(write_split(split))) == split


def test_a_column_file_is_read_again_and_again_with_the_numbers_of_its_lines(write):
    file = ColumnFile(write(f"\n-DOCSTART- -X- O\n{COLUMNS}"))
    expected = [[(3, "Dogs NNS B-NP"), (4, "bark VBP B-VP"), (5, ". . O")], [(7, "Go VB B-VP")]]
    assert list(file) == list(file) == [[(number, row.split()) for number, row in rows] for rows in expected]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "is empty: it has no sentence"),
        ("\n \n\n-DOCSTART- -X- O\n\n", {}, "is empty: it has no sentence"),
        ("\nDogs\nbark\n", {}, r"line 2: found 1 column \(Dogs\), expected at least 2: a token and its tag"),
        (
            COLUMNS,
            {"tag_column": 3},
            r"line 1: found 3 columns \(Dogs, NNS, B-NP\), expected at least 4 for tag_column=3 \(--tag-column\)",
        ),
        (COLUMNS, {"token_column": -4}, r"line 1: found 3 columns .* expected at least 4 for token_column=-4"),
        (COLUMNS, {"tag_column": 0}, "has 3 columns, in which token_column=0 and tag_column=0 are the same"),
        (
            COLUMNS,
            {"token_column": 2},
            r"token_column=2 and tag_column=-1 are the same.*\(--token-column, --tag-column\)",
        ),
        (
            COLUMNS.replace(" VBP", ""),
            {},
            r"line 2: found 2 columns \(bark, B-VP\), expected 3 as in line 1\.$",
        ),
        (
            "\n\n" + COLUMNS.replace("VB ", "VB x "),
            {},
            r"line 7: found 4 columns \(Go, VB, x, B-VP\), expected 3 as in line 3",
        ),
        (
            "a\tX\nb\t\n",
            {"separator": "\t"},
            r"line 2: tag_column=-1 is empty, expected a tag: 2 columns \(b, \)",
        ),
        ("a\tX\n\n\n \tX\n", {"separator": "\t"}, r"line 4: token_column=0 is empty.*--token-column names another"),
        ("a\tX\nb\tX\tY\n", {"separator": "\t"}, r"line 2: found 3 columns \(b, X, Y\), expected 2 as in line 1\.$"),
        (b"a X\n\ncaf\xe9 X\n", {}, r'line 3 is not utf-8: byte 0xe9 .* give encoding="cp1252"'),
        ("a X\n".encode("utf-16"), {"encoding": "ascii"}, r"line 1 .*UTF-16.*\(--encoding utf-16\)"),
        ("a X\n".encode("utf-16") + b"\0\xd8", {}, "line 2 is not utf-8: byte 0x00"),
        (
            "The DT\ndog NN\n\nstray\n\nGo VB\n",
            {"tag_column": 1},
            r"line 4: found 1 column \(stray\), expected at least 2 for tag_column=1 \(--tag-column\)\.$",
        ),
        (gzip.compress(b"a X\n" * 30_000 + b"caf\xe9 X\n", mtime=0), {}, "line 30001 is not utf-8: byte 0xe9"),
        (gzip.compress(COLUMNS.encode(), mtime=0)[:-9], {}, "is a truncated or damaged gzip file"),
    ],
)
def test_what_is_wrong_with_columns_is_said_with_file_and_line(write, content, options, message):
    fails(message, write(content), **options)


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        (
            "\tVERB\tVB\t",
            "\tVERB\t",
            {},
            r"line 8: found 9 columns \(4, bark, .*\) between tabs, expected 10 \(CoNLL-U\)",
        ),
        ("5\tat", "five\tat", {}, r"line 10: found 'five', expected a token's number \(CoNLL-U\), such as 1"),
        ("\tADP\t", "\t_\t", {}, "line 10: tag_column=3 is empty, expected a tag: 10 columns"),
        ("\tADP\t", "\t\t", {}, "line 10: tag_column=3 is empty, expected a tag"),
        ("\tADP\t", "\t_\t", {"tag_column": -7}, "line 10: tag_column=-7 is empty, expected a tag"),
        ("\tIN\t", "\t_\t", {"tag_column": 4}, "line 10: tag_column=4 is empty, expected a tag"),
        ("\tbark\tbark\t", "\t\tbark\t", {}, "line 8: token_column=1 is empty, expected a token"),
        ("\tdog", "\tdog", {"tag_column": 10}, "line 4: found 10 columns .* expected at least 11 for tag_column=10"),
        ("\tdog", "\tdog", {"tag_column": 1}, "token_column=1 and tag_column=1 are the same"),
    ],
)
def test_what_is_wrong_with_conllu_is_said_with_file_and_line(write, old, new, options, message):
    assert old in CONLLU
    fails(message, write(CONLLU.replace(old, new), "train.conllu"), **options)


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\ufeff"), min_size=1, max_size=6)
# "# x" before a sentence is a comment where x is no tag elsewhere, and "_" stands for a word that is withheld.
tokens = cells.filter(lambda cell: not cell.startswith("#") and cell.strip("_"))
splits = st.lists(st.lists(st.tuples(tokens, cells), min_size=1, max_size=5), min_size=1, max_size=5)


@given(splits, st.sampled_from([" ", "\t", "  "]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_columns_that_were_written_are_read_back(tmp_path_factory, sentences, separator, zipped):
    split = TaggedSplit(*([[pair[i] for pair in sentence] for sentence in sentences] for i in (0, 1)))
    content = write_split(split, separator).encode()
    assume(utf_16(content) is None)  # nothing but control characters may be UTF-16 as well
    path = tmp_path_factory.getbasetemp() / "written.txt"
    path.write_bytes(gzip.compress(content, mtime=0) if zipped else content)
    assert read_columns(path) == read_columns(path, separator=separator) == split


def test_control_characters_do_not_make_columns_utf_16(write):
    assert read_columns(write("0 0\x1f\0\n0 \x19\x19\n")) == TaggedSplit([["0", "0"]], [["0\x1f\0", "\x19\x19"]])


def test_lines_to_tag_keep_what_is_no_token():
    plain = ["-DOCSTART- -X-", "", "# NN", "a\u00a0b  NN", "-DOCSTART- -X-", " \t", "c\tNN "]
    for lines, words in ((CONLLU.splitlines(), WORDS), (plain, [[], ["#", "a\u00a0b"], [], ["c"]])):
        sentences = list(sentence_lines(lines))
        assert [[token for _, token in sentence if token is not None] for sentence in sentences] == words
        assert [line for sentence in sentences for line, _ in sentence] == [line for line in lines if line.strip()]


def test_a_file_named_conllu_is_conllu_also_where_it_is_tagged():
    line = "1 The the DET DT _ 2 det _ _\n"  # with spaces
    options = Options("columns", tokens=True)
    for name in ("a.conllu", "A.CONLLU.gz"):
        with pytest.raises(ValueError, match=rf"^{name}, line 1: found 1 column .* expected 10 \(CoNLL-U\)\.$"):
            list(read_records(io.BufferedReader(io.BytesIO(line.encode())), name, options).records)
    records = read_records(
        io.BufferedReader(io.BytesIO(line.encode())), "a.conll", dataclasses.replace(options, token_column=1)
    ).records
    assert [record.text for record in records] == [["The"]]


@pytest.mark.parametrize("separator", [None, " "])
def test_conllu_with_spaces_in_place_of_tabs_is_refused_unless_the_columns_are_named(write, separator):
    content = (
        "# sent_id = 1\n1 The the DET DT _ 2 det _ _\n2 dog dog NOUN NN _ 0 root _ _\n\n1 Go go VERB VB _ 0 _ _ _\n"
    )
    path = write(content, "train.conll")
    fails("looks like CoNLL-U with spaces in place of tabs.* token_column=1", path, separator=separator)
    with pytest.raises(ValueError, match=r"^a\.txt looks like CoNLL-U with spaces"):
        list(sentence_lines(content.splitlines(), separator=separator, location="a.txt, line"))
    split = TaggedSplit([["The", "dog"], ["Go"]], [["DET", "NOUN"], ["VERB"]])
    assert read_columns(path, token_column=1, tag_column=3, separator=separator) == split
    tokens = [[token for _, token in sentence] for sentence in sentence_lines(content.splitlines(), 1, separator)]
    assert tokens == [[None, "The", "dog"], ["Go"]]
    path = write(content.replace("\n2 dog", "\ntwo dog"), "train.conll")
    assert read_columns(path, tag_column=3).tokens == [["1", "two"], ["1"]]


def test_lines_to_tag_may_have_their_tokens_in_any_column():
    assert list(sentence_lines(["1 Dogs", "2 bark"], 1)) == [[("1 Dogs", "Dogs"), ("2 bark", "bark")]]
    assert [token for _, token in next(sentence_lines(CONLLU.splitlines(), 2)) if token][:3] == ["dog", "do", "not"]
    with pytest.raises(ValueError, match=r"^Line 1: found 2 columns \(1, Dogs\); there is no column 2\.$"):
        list(sentence_lines(["1 Dogs", "2 bark"], 2))


def test_lines_to_tag_of_uneven_rows_are_refused_by_line():
    with pytest.raises(ValueError, match=r"^Line 5: found 2 columns \(c, NN\), expected 3 as in line 4\.$"):
        list(sentence_lines(["a NN X", "b NN X", "", "d NN X", "c NN"]))
    with pytest.raises(ValueError, match=r"^Line 8: found 9 columns .* expected 10 \(CoNLL-U\)\.$"):
        list(sentence_lines(CONLLU.replace("\tVERB\tVB\t", "\tVERB\t").splitlines()))


MULTICONER = "# id 5239d808\tdomain=en\nhis _ _ O\nsonny _ _ B-PER\n\n" * 2
GERMEVAL = "#\thttp://x.example/A [2009-10-17]\n1\tIn\tO\tO\n2\tBonn\tB-LOC\tO\n\n" * 2
CONLL2012 = "#begin document (bc/x); part 000\nbc/x 0 0 In IN *\n\nbc/x 0 0 It PRP * (0)\n\n#end document\n"
JNLPBA = "###MEDLINE:95369245\n\nIL-2\tB-DNA\ngene\tI-DNA\n\n"


@pytest.mark.parametrize(
    ("content", "options", "tokens"),
    [
        (MULTICONER, {}, [["his", "sonny"]] * 2),
        ("# id 5239d808 domain=en\nhis _ _ O\nsonny _ _ B-PER\n", {}, [["his", "sonny"]]),
        ("# newdoc\n# newpar\na X\nb Y\n", {}, [["a", "b"]]),
        ("# sentence\na X\nb Y\n", {}, [["a", "b"]]),
        ("# text = .\na X Y .\nb Y Y .\n", {}, [["a", "b"]]),
        ("a\tX\n# a comment\nb\tY\n", {}, [["a", "b"]]),
        (GERMEVAL, {"token_column": 1, "tag_column": 2}, [["In", "Bonn"]] * 2),
        (CONLL2012, {"token_column": 3, "tag_column": 4}, [["In"], ["It"]]),
        ("#end document\na X\n", {}, [["a"]]),
        (JNLPBA, {}, [["IL-2", "gene"]]),
    ],
)
def test_comments_are_no_tokens_in_training_and_in_prediction(write, content, options, tokens):
    assert read_columns(write(content), **options).tokens == tokens
    sentences = sentence_lines(content.splitlines(), options.get("token_column", 0))
    words = [[token for _, token in sentence if token is not None] for sentence in sentences]
    assert [row for row in words if row] == tokens


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ("#\tSYM\tO\n1\tNUM\tO\n", [["#", "1"]]),
        ("pay NN\n# SYM\n1 CD\n\n# SYM\n2 CD\n", [["pay", "#", "1"], ["#", "2"]]),
        ("# #\n1 CD\n", [["#", "1"]]),
        ("#cool\tHT\nday\tNN\n", [["#cool", "day"]]),
        ("#cool HT\nday NN\n\n#nlp HT\nday NN\n", [["#cool", "day"], ["#nlp", "day"]]),
        ("day O\n#nlp O\n\n# O\n", [["day", "#nlp"], ["#"]]),
    ],
)
def test_tokens_that_begin_with_a_hash_stay_tokens(write, content, tokens):
    assert read_columns(write(content)).tokens == tokens
    assert [[token for _, token in sentence] for sentence in sentence_lines(content.splitlines())] == tokens


def test_a_line_that_differs_from_most_is_the_one_to_blame(write):
    fails(r"line 1: found 3 columns \(a, title, line\), expected 2 as in line 3", write("a title line\n\nb X\nc Y\n"))
    fails(r"line 2: found 1 column \(#nlp\), expected 2 as in line 1.*begins with \"# \"", write("a X\n#nlp\nb Y\n"))


def test_columns_of_conllu_may_be_named(write):
    path = write(CONLLU, "train.conllu")
    assert read_columns(path, token_column="form", tag_column="XPOS").tags == PENN
    assert list(sentence_lines(CONLLU.splitlines(), "FORM")) == list(sentence_lines(CONLLU.splitlines()))
    fails(r"Unknown column .*'XPSO'.*XPOS", path, tag_column="XPSO")
    fails(r"tag_column must be an integer.*received 'UPOS'.* is not CoNLL-U", write(COLUMNS), tag_column="UPOS")
    plus = write("# global.columns = ID FORM UPOS NER\n1\tBonn\tPROPN\tB-LOC\n1.1\tx\tX\tO\n\n", "train.conllup")
    assert read_columns(plus) == TaggedSplit([["Bonn"]], [["PROPN"]])
    assert read_columns(plus, tag_column="ner").tags == [["B-LOC"]]


def test_a_treebank_whose_words_are_withheld_is_refused(write):
    row = "{}\t{}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n"
    fails('2 of 2 tokens are "_".*withheld', write(row.format(1, "_") + row.format(2, "____"), "train.conllu"))
    three = "".join(row.format(i, "_") for i in (1, 2, 3))
    path = write(three + "\n" + "".join(row.format(i, "w") for i in (1, 2, 3, 4)), "train.conllu")
    with pytest.warns(UserWarning, match='all tokens of 1 of 2 sentences are "_"'):
        read_columns(path)
