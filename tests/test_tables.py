import gzip
import re

import pytest

from dense_lstm_zoo.classification.tables import read_table_corpus
from dense_lstm_zoo.corpora.loader import load_corpus
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.text_file import TextFile, numbered_lines


def read_csv(path, **options):
    return read_table_corpus("csv", train_file=path, **options)


def named_labels(corpus, split):
    return [corpus.label_names[i] for i in split.labels]


def fails(match, kind, path, error=ValueError, **options):
    with pytest.raises(error, match=match) as caught:
        read_table_corpus(kind, train_file=path, **options)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("csv", 'label,text,note\ngood,"Fine , really .",x\nbad,NA,\ngood,null,y\nbad,None,z\n'),
        ("tsv", "label\ttext\tnote\ngood\tFine , really .\tx\nbad\tNA\t\ngood\tnull\ty\nbad\tNone\tz\n"),
        (
            "jsonl",
            [
                {"text": text, "label": label, "note": 1}
                for text, label in [("Fine , really .", "good"), ("NA", "bad"), ("null", "good"), ("None", "bad")]
            ],
        ),
    ],
)
def test_each_kind_reads_texts_as_written_with_sorted_labels(write, kind, content):
    corpus = read_table_corpus(kind, train_file=write(content))
    assert corpus.name == kind
    assert corpus.train.texts == ["Fine , really .", "NA", "null", "None"]
    assert corpus.label_names == ("bad", "good")
    assert corpus.train.labels == [1, 0, 1, 0]
    assert corpus.dev is None
    assert corpus.test is None


def test_dev_and_test_files_take_their_indices_from_the_training_labels(write):
    train = write("text,label\na,x\nb,y\nc,z\n", "train.csv")
    dev, test = write("text,label\nd,z\n", "dev.csv"), write("text,label\ne,y\nf,z\n", "test.csv")
    corpus = read_table_corpus("csv", train_file=str(train), dev_file=dev, test_file=test)
    assert (corpus.dev.texts, corpus.dev.labels) == (["d"], [2])
    assert (corpus.test.texts, corpus.test.labels) == (["e", "f"], [1, 2])


def test_other_column_names_are_taken_by_name(write):
    corpus = read_csv(write("id,y,question\n1,a,Why ?\n2,b,How ?\n"), text_column="question", label_column="y")
    assert corpus.train.texts == ["Why ?", "How ?"]
    assert corpus.label_names == ("a", "b")


def test_an_unknown_column_is_named_with_the_options_that_name_it(write):
    for file, form in ((write("Review Text,Rating\na,1\n"), "csv"), (write([{"Review Text": "a"}]), "jsonl")):
        with pytest.raises(
            ValueError, match=r"'text'\..* text_column and label_column \(--text-column, --label-column\)"
        ):
            read_table_corpus(form, train_file=file)


def test_integer_labels_are_ordered_by_value_and_others_by_spelling(write):
    assert read_csv(write("text,label\na,10\nb,9\nc,-1\n")).label_names == ("-1", "9", "10")
    assert read_csv(write("text,label\na,10\nb,9\nc,x\n")).label_names == ("10", "9", "x")


def test_labels_that_are_equal_numbers_are_one_label_in_all_files_and_formats(write, capsys):
    assert read_csv(write("text,label\na,1.0\nb,1\nc,01\nd,+1\n")).label_names == ("01", "1")
    assert "equal labels are one label: '+1', '1.0' is '1'." in capsys.readouterr().err
    rows = [{"text": "a", "label": value} for value in (5, 5.0, "5", "5.00", True, "true", 4.5)]
    corpus = read_table_corpus("jsonl", train_file=write(rows))
    assert corpus.label_names == ("4.5", "5", "True")
    assert corpus.train.labels == [1, 1, 1, 1, 2, 2, 0]
    train, test = write("text,label\na,5.0\nb,4.0\n", "a.csv"), write([{"text": "a", "label": 5}], "b.jsonl")
    corpus = read_csv(train, test_file=test)
    assert (corpus.label_names, corpus.test.labels) == (("4.0", "5.0"), [1])


@pytest.mark.parametrize("beginning", ["1" + "0" * 30, "0." + "3" * 29])
def test_labels_that_differ_in_their_last_of_many_digits_are_two(write, beginning):
    labels = (f"{beginning}1", f"{beginning}2")
    assert read_csv(write(f"text,label\na,{labels[0]}\nb,{labels[1]}\n")).label_names == labels


@pytest.mark.parametrize("label", ["007", "1,5", "2024-01-01", "5 stars", "1.2.3", "nan", "1e9999", "9" * 900])
def test_labels_that_are_no_plain_numbers_stay_as_written(write, label):
    assert label in read_csv(write(f'text,label\na,"{label}"\nb,x\n')).label_names


@pytest.mark.parametrize("other", ["caf\u0065\u0301", "caf\u00e9\u200b", "Caf\u00e9"])
def test_labels_that_only_look_alike_are_named(write, capsys, other):
    assert len(read_csv(write(f"text,label\na,caf\u00e9\nb,{other}\n")).label_names) == 2
    line = capsys.readouterr().err
    assert "labels that look alike are different labels: " in line
    assert ascii(other) in line
    train, test = write("text,label\na,caf\u00e9\nb,x\n", "a.csv"), write(f"text,label\na,{other}\n", "b.csv")
    with pytest.raises(ValueError, match=r"It looks like 'caf.xe9', but is written"):
        read_csv(train, test_file=test)


ONE = "text,label\n" + "good soup,pos\nbad soup,neg\n" * 6


@pytest.mark.parametrize("second", [ONE, "\ufeff" + ONE, ONE.replace("text,label", "Text, LABEL")])
def test_column_names_that_joined_files_repeat_are_left_out_and_counted(write, capsys, second):
    corpus = read_csv(write(ONE + second))
    assert (len(corpus.train), corpus.label_names) == (24, ("neg", "pos"))
    assert "1 row (line 14) repeats the column names" in capsys.readouterr().err


def test_column_names_of_another_table_are_refused_by_their_line(write):
    fails("line 14 holds the column names of another table", "csv", write(ONE + "label,text\npos,good\n"))
    content = "text,label,day\na,x,1\ntext,label,time\nb,y,2\n"
    fails("line 3 holds the column names of another table", "csv", write(content))


@pytest.mark.parametrize(("mark", "name"), [(";", "a semicolon"), ("\t", "a tab"), ("|", "a vertical bar")])
@pytest.mark.parametrize("beginning", ["", "\ufeff", "sep={}\r\n"])
def test_the_delimiter_is_found_out_and_said(write, capsys, mark, name, beginning):
    content = (
        beginning.format(mark) + f'id{mark}text{mark}label\r\n1{mark}"a, b{mark} c"{mark}3,5\r\n2{mark}d{mark}4\r\n'
    )
    corpus = read_csv(write(content))
    assert corpus.train.texts == [f"a, b{mark} c", "d"]
    assert set(corpus.label_names) == {"3,5", "4"}
    assert f"its columns are separated by {name}." in capsys.readouterr().err


def test_columns_that_are_missing_are_named_with_the_delimiter_that_fits_best(write):
    fails(r"'text'\. Accepted: Date, Review ID, Stars", "csv", write("Review ID;Date;Stars\n1;2,5;x\n"))


def test_a_tsv_as_spreadsheets_write_it_is_quoted(write):
    content = 'text\tlabel\r\n"Fine, ""really"""\tx\r\n"two\nlines"\ty\r\nplain\tx\r\n'
    for encoding in ("utf-8", "utf-16"):
        corpus = read_table_corpus("tsv", train_file=write(content.encode(encoding)))
        assert corpus.train.texts == ['Fine, "really"', "two\nlines", "plain"]


def test_a_tsv_with_quotation_marks_in_its_texts_is_not_quoted(write):
    texts = ['a "fine" film', '" conan', "it's \"", '"c"', 'says "no" , twice']
    content = "sentence\tlabel\n" + "".join(f"{text}\t{i % 2}\n" for i, text in enumerate(texts))
    assert read_table_corpus("tsv", train_file=write(content), text_column="sentence").train.texts == texts


def test_rows_after_cells_with_line_ends_are_named_by_their_line(write):
    cell = '"one\ntwo\r\nthree",x\n'
    fails(r"1 row \(line 6\) with an empty label", "csv", write(f"text,label\n{cell}\nb,\n"))
    fails("line 5 has 3 cells", "csv", write(f"text,label\n{cell}b,c,d\n"))
    fails("line 5 opens a quotation mark", "csv", write(f'text,label\n{cell}b,"c\nd\n'))
    fails("line 3 holds a null character", "csv", write("text,label\na,x\nb\0,y\n"))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("it\u2019s not good", "cp1252"),
        ("очень плохо и скучно", "cp1251"),
        ("очень плохо и скучно", "koi8-r"),
        ("悪い映画でした", "cp932"),
        ("这是一部好电影", "gb18030"),
        ("za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105", "cp1250"),
    ],
)
def test_the_encoding_that_fits_is_named_with_what_it_makes_of_the_line(write, text, encoding):
    path = write(f"text,label\na,x\n{text},y\n".encode(encoding))
    fails(f'line 3 .*fit {encoding}, where that text is "{text},y".*--encoding {encoding}', "csv", path)
    assert read_csv(path, encoding=encoding).train.texts == ["a", text]


def test_no_encoding_is_named_for_bytes_that_are_no_text(write):
    fails(r"is not utf-8: .*\. Its bytes are those of no text\.", "csv", write(bytes(range(200, -1, -1)) * 3))


@pytest.mark.parametrize(
    ("codec", "better"), [("latin-1", "cp1252"), ("iso-8859-15", "cp1252"), ("iso8859-2", "cp1250")]
)
def test_quotes_that_an_encoding_makes_control_characters_are_warned_of_once_a_file(write, tmp_path, codec, better):
    # 0x93 and 0x94 are curly quotes in every Windows encoding, and control characters in every one of ISO 8859.
    lines = [b"text,label", b"\x93a film\x94,x", b"\x93b\x94,y", b"plain,x"]
    place = re.escape(f"in {codec.replace('iso-', 'iso')}".replace("latin-1", "iso8859-1"))
    message = rf"{place}, such as 0x93, which is \u201c in {better}: give .*\(--encoding {better}\)"
    path = write(b"\n".join(lines))
    with pytest.warns(UserWarning, match=message) as caught:
        assert read_csv(path, encoding=codec).train.texts[0] == "\x93a film\x94"
    assert [str(path) in str(warning.message) for warning in caught] == [True]
    with pytest.warns(UserWarning, match=message) as caught:
        assert len(list(TextFile(path, codec))) == 4
    assert len(caught) == 1
    (tmp_path / "a.conll").write_bytes(b"\x93\tX\na\tY\n\nb\tX\n")
    with pytest.warns(UserWarning, match=message):
        assert next(iter(numbered_lines(tmp_path / "a.conll", codec)))[1] == "\x93\tX"
    for form in ("text", "csv"):
        with pytest.warns(UserWarning, match=message), path.open("rb") as stream:
            assert len(list(records.read_records(stream, "a.csv", records.Options(form, encoding=codec)).records)) > 2
    for other in ("cp1252", better):
        assert read_csv(path, encoding=other).train.texts[0] == "\u201ca film\u201d"
    assert list(TextFile(write(b"caf\xe9"), codec))  # letters alone: no warning


def test_utf_16_without_its_mark_is_told_with_its_encoding(write):
    for encoding in ("utf-16-le", "utf-16-be"):
        for text in (
            "очень скучный фильм,x\n",
            "πολύ καλή,x\n",
            "यह फिल्म बहुत अच्छी है,x\n",
            "หนังเรื่องนี้ดี มาก,x\n",
            "ฉันชอบหนังเรื่องนี้มากเพราะช่วยให้อารมณ์ดี,x\n",
            "ਫਿਲਮ ਬਹੁਤ ਵਧੀਆ ਹੈ,x\n" * 9,
            "ഈ സിനിമ വളരെ നല്ലതാണ്,x\n" * 9,
            "这是一部很好的电影,x\n一一,y\n",
            "정말 재미있는 영화,x\n",
        ):
            fails(
                f"UTF-16 without its mark.*--encoding {encoding}", "csv", write(f"text,label\n{text}".encode(encoding))
            )
        path = write("text,label\na,x\nb,y\n".encode(encoding))
        fails(f"is UTF-16 without its mark.*--encoding {encoding}", "csv", path)
        assert read_csv(path, encoding=encoding).train.texts == ["a", "b"]


def test_excels_unicode_text_is_a_table_whatever_its_name(write):
    path = write('text\tlabel\r\n"fine, really"\tgood\r\ndull\tbad\r\n'.encode("utf-16"), "excel.txt")
    assert load_corpus(path).train.texts == load_corpus(path, "classification").train.texts == ["fine, really", "dull"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"PK\x03\x04\x14\0[Content_Types].xml...xl/workbook.xml", "an Excel workbook"),
        (b"PK\x03\x04\x14\0a.csv", "a zip archive"),
        (b"PAR1\x15\0", "a Parquet file"),
        (b"%PDF-1.7\n", "a PDF file"),
        (gzip.compress(gzip.compress(b"text,label\n", mtime=0), mtime=0), "compressed with gzip"),
    ],
)
def test_a_file_that_is_no_text_is_told_what_it_is(write, content, kind):
    fails(rf"train\.csv is .*{kind}.*, whatever its name says", "csv", write(content, "train.csv"))


@pytest.mark.slow
def test_a_file_longer_than_what_pandas_types_at_once_keeps_its_numbers_as_written(write):
    corpus = read_csv(write("text,label\na,x\n" + "1.50,01\n" * 300_000))
    assert corpus.label_names == ("01", "x")
    assert corpus.train.texts[-1] == "1.50"


def test_spaces_around_a_label_go_and_those_of_a_text_stay(write):
    corpus = read_csv(write("text,label\n a , x\n b ,x \nc,y\n"))
    assert corpus.label_names == ("x", "y")
    assert corpus.train.texts == [" a ", " b ", "c"]


def test_quoted_csv_cells_may_hold_commas_quotation_marks_and_line_breaks(write):
    corpus = read_csv(write('text,label\n"a, ""b""\nc",x\nd,y\n'))
    assert corpus.train.texts == ['a, "b"\nc', "d"]


def test_a_quotation_mark_in_a_tsv_is_a_character_and_swallows_no_row(write):
    corpus = read_table_corpus("tsv", train_file=write('text\tlabel\n"a\tx\nb"\ty\n"c"\tx\n'))
    assert corpus.train.texts == ['"a', 'b"', '"c"']


def test_other_unicode_line_separators_do_not_break_a_json_line(write):
    content = '{"text": "a\u2028b\x85c", "label": 0}\r\n\r\n{"text": "d", "label": 1}\r\n'
    corpus = read_table_corpus("jsonl", train_file=write(content))
    assert corpus.train.texts == ["a\u2028b\x85c", "d"]


@pytest.mark.parametrize(
    ("kind", "content"),
    [("csv", "text,label\na,0\nb,1\n"), ("jsonl", '{"text": "a", "label": 0}\n{"text": "b", "label": 1}\n')],
)
def test_a_byte_order_mark_is_no_part_of_the_first_name(write, kind, content):
    corpus = read_table_corpus(kind, train_file=write(content.encode("utf-8-sig")))
    assert corpus.train.texts == ["a", "b"]


def test_blank_rows_are_no_examples_but_count_in_row_numbers(write):
    assert len(read_csv(write("text,label\na,0\n\nb,1\n,\n\n")).train) == 2
    fails(r"1 row \(line 5\) with an empty label", "csv", write("text,label\na,0\n\nb,1\nc,\n"))


def test_another_encoding_is_read_when_named(write):
    path = write("text,label\ncafé,0\nthé,1\n".encode("latin-1"))
    assert read_csv(path, encoding="latin-1").train.texts == ["café", "thé"]
    utf_16 = write("text,label\ncafé,0\nthé,1\n".encode("utf-16"), "utf16.csv")
    assert read_csv(utf_16).train.texts == ["café", "thé"]  # by its mark
    assert read_csv(utf_16, encoding="utf-16").train.texts == ["café", "thé"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_wrong_encoding_is_named_with_byte_offset_line_and_what_to_do(write, mark):
    path = write(mark + "text,label\na,0\ncafé,1\n".encode("latin-1"))
    offset = len(mark) + len("text,label\na,0\ncaf")
    fails(rf"is not utf-8: byte 0xe9 at offset {offset}, line 3 .*--encoding cp1252", "csv", path)


@pytest.mark.parametrize("encoding", ["utf-9", "hex"])
def test_an_encoding_that_does_not_exist_is_refused(write, encoding):
    with pytest.raises(ValueError, match=f"encoding must be a text encoding.*received '{encoding}'"):
        read_csv(write("text,label\na,0\nb,1\n"), encoding=encoding)


def test_an_unknown_kind_is_refused_with_the_known_ones(write):
    with pytest.raises(ValueError, match=r"'json'\. Did you mean 'jsonl'.*Accepted: csv, jsonl, parquet, tsv, xlsx"):
        read_table_corpus("json", train_file=write("x"))


def test_a_missing_file_names_similar_files_beside_it(write, tmp_path):
    write("x", "train.csv")
    fails(r"does not exist\. Did you mean 'train\.csv'", "csv", tmp_path / "trian.csv", FileNotFoundError)
    fails("does not exist, nor does its folder", "csv", tmp_path / "no" / "train.csv", FileNotFoundError)


def test_a_missing_test_file_is_noticed_before_anything_is_read(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"test\.csv does not exist"):
        read_csv(write(b"\xff broken"), test_file=tmp_path / "test.csv")


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    fails("is a folder; name a file in it", "csv", tmp_path)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(write, kind, content):
    fails("is empty", kind, write(content))


def test_a_header_without_examples_is_refused(write):
    fails("no examples", "csv", write("text,label\n\n"))


def test_a_blank_first_row_is_refused(write):
    fails("line 1 is blank; it must hold the column names", "csv", write("\ntext,label\na,0\nb,1\n"))


def test_a_missing_column_gets_a_near_match_and_the_columns_there_are(write):
    fails(r"'label'\. Did you mean 'labels'\? Accepted: id, labels, text", "csv", write("id,text,labels\n1,a,0\n"))
    fails(r"'text'\. Did you mean 'Text'\? Accepted: Text, label", "tsv", write("Text\tlabel\na\t0\n"))


def test_a_json_line_without_the_column_is_named(write):
    rows = [{"text": "a", "label": 0}, {"txt": "b", "label": 1}]
    fails(r"line 2: 'text'\. Did you mean 'txt'", "jsonl", write(rows))


def test_a_column_that_occurs_twice_is_refused(write):
    fails("has 2 columns named 'text'", "csv", write("text,label,text\na,0,b\n"))


def test_text_and_label_cannot_be_the_same_column(write):
    with pytest.raises(ValueError, match="must differ; both are 'text'"):
        read_csv(write("text,label\na,0\nb,1\n"), label_column="text")


def test_empty_texts_are_counted_with_the_first_rows(write):
    content = "text,label\na,0\n" + " ,1\n" * 7
    fails(r"7 rows \(lines 3, 4, 5, 6, 7, \.\.\.\) with an empty text", "csv", write(content))
    rows = [{"text": "a", "label": 0}, {"text": "", "label": 1}, {"text": None, "label": 1}]
    fails(r"2 rows \(lines 2, 3\) with an empty text", "jsonl", write(rows))


def test_missing_labels_are_counted_with_the_first_rows(write):
    fails(r"2 rows \(lines 3, 4\) with an empty label", "csv", write("text,label\na,0\nb, \nc\n"))
    rows = [{"text": "a", "label": 0}, {"text": "b", "label": None}, {"text": "c", "label": float("nan")}]
    fails(r"2 rows \(lines 2, 3\) with an empty label", "jsonl", write(rows))


def test_a_single_label_is_not_enough_to_train_on(write):
    fails("every row has the label '1'; training needs at least two", "csv", write("text,label\na,1\nb,1\n"))


@pytest.mark.parametrize("part", ["dev_file", "test_file"])
def test_a_label_that_training_has_not_is_named_with_file_and_row(write, part):
    train, other = write("text,label\na,0\nb,1\n", "train.csv"), write("text,label\nc,1\nd,1.5\n", "other.csv")
    expected = (
        r"other\.csv: 1 row \(line 3\) with a label that does not occur in train\.csv.*'1\.5'\. Labels of .*: 0, 1"
    )
    with pytest.raises(ValueError, match=expected):
        read_csv(train, **{part: other})


def test_a_row_with_too_many_cells_is_named_and_never_read_shifted(write):
    fails("line 3 has 3 cells; there are 2 column names.*quotation marks", "csv", write("text,label\na,0\nb,c,1\n"))
    fails("line 2 has 3 cells", "csv", write("text,label\na,b,0\nb,c,1\n"))
    fails("line 2 has 3 cells", "tsv", write("text\tlabel\na\tb\t0\n"))


def test_a_quotation_mark_that_is_never_closed_is_named_by_its_row(write):
    fails("line 3 opens a quotation mark that is never closed", "csv", write('text,label\na,0\nb,"1\nc,0\n'))


def test_a_quotation_mark_inside_a_cell_is_named_by_its_row_as_in_prediction(write):
    content = 'text,label\na,0\n"un"closed,1\n'
    fails("line 3 is broken: ',' expected after '\"'", "csv", write(content))
    corpus = read_csv(write('text,label\na,0\n"""un""closed",1\nb,0\nc,1\n'))
    assert '"un"closed' in [*corpus.train.texts, *(corpus.dev.texts if corpus.dev else [])]


def test_an_invalid_json_line_is_named(write):
    content = '{"text": "a", "label": 0}\n{"text": "b", label: 1}\n'
    fails(re.escape("line 2 is not valid JSON"), "jsonl", write(content))


@pytest.mark.parametrize("line", ["[1, 2]", '"a"', "3", "null"])
def test_a_json_line_that_is_no_object_is_named(write, line):
    fails("line 2 is not a JSON object", "jsonl", write(f'{{"text": "a", "label": 0}}\n{line}\n'))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": 5, "label": 1}, "line 2: 'text' must be a string; found 5"),
        (
            {"text": "b", "label": ["x"]},
            r"one label, such as .0. \(line 1\), and texts with a list of .*line 2",
        ),
        ({"text": "b", "label": {"x": 1}}, "line 2: .label. must be a string or a number, or a list of them; found"),
    ],
)
def test_json_values_of_the_wrong_kind_are_named(write, row, message):
    fails(message, "jsonl", write([{"text": "a", "label": 0}, row]))


def test_a_packed_table_is_unpacked_and_a_damaged_one_told(write):
    packed = gzip.compress(b"text,label\na,0\nb,1\n")
    assert read_csv(write(packed, "train.csv.gz")).train.texts == ["a", "b"]
    fails("truncated or damaged gzip", "csv", write(packed[:-6], "train.csv.gz"))


@pytest.mark.parametrize(("kind", "comma"), [("csv", ","), ("tsv", "\t")])
def test_the_apostrophe_before_a_formula_goes_and_other_apostrophes_stay(write, kind, comma):
    rows = [("'=text", "label"), ("'=1+1", "'-x"), ("''=1", "'+"), ("'t is fine", "'b'"), ("-1", "-1")]
    path = write("".join(comma.join(row) + "\n" for row in rows))
    corpus = read_table_corpus(kind, train_file=path, text_column="=text")
    assert corpus.train.texts == ["=1+1", "'=1", "'t is fine", "-1"]
    assert named_labels(corpus, corpus.train) == ["-x", "+", "'b'", "-1"]


def test_a_label_of_five_thousand_digits_is_named_by_its_row(write):
    label = "9" * 5000
    fails(r"1 row \(line 3\) with a label longer than 1,000 characters", "csv", write(f"text,label\na,1\nb,{label}\n"))
    content = f'{{"text": "a", "label": 1}}\n{{"text": "b", "label": {label}}}\n'
    fails("line 2 holds a number of more than 4,300 digits; write it as a string", "jsonl", write(content))
    fails(
        r"1 row \(line 2\) with a label longer than",
        "jsonl",
        write([{"text": "a", "label": 1}, {"text": "b", "label": label}]),
    )
    labels = ["-" + "1" * 999, "-2", "3", "1" + "0" * 998]
    rows = "".join(f"a,{label}\n" for label in reversed(labels))
    assert read_csv(write("text,label\n" + rows)).label_names == tuple(labels)


def test_json_that_nests_a_thousand_deep_is_named_by_its_line(write):
    content = '{"text": "a", "label": 0}\n{"text": ' + "[" * 100_000 + "\n"
    fails("line 2 is JSON that is nested too deeply", "jsonl", write(content))


def test_json_with_a_key_twice_or_a_number_that_is_too_large_is_named_by_its_line(write):
    row = '{"text": "a", "label": 0}'
    for more, message in (
        ('"label": 1', r"line 2 holds the key 'label' twice in an object; rename or remove one of the two\."),
        ('"more": [{"x": 1, "x": 1}]', "line 2 holds the key 'x' twice"),
        ('"more": -1e400', r"line 2 holds a number that is too large, -1e400; write it as a string\."),
    ):
        fails(message, "jsonl", write(f'{row}\n{{"text": "b", "label": 1, {more}}}\n'))


def test_json_may_hold_99_levels_inside_its_object(write):
    rows = ['{"text": "a", "label": 0}', '{"text": "b", "label": 1, "more": ' + "[" * 99 + "]" * 99 + "}"]
    corpus = read_table_corpus("jsonl", train_file=write("\n".join(rows) + "\n"))
    assert corpus.train.texts == ["a", "b"]
    deeper = rows[1].replace("[]", "[[]]")
    fails("line 2 is JSON that is nested too deeply", "jsonl", write(f"{rows[0]}\n{deeper}\n"))


def test_a_label_with_half_a_surrogate_pair_is_named_by_its_row(write):
    content = '{"text": "a", "label": "x"}\n{"text": "b", "label": "y\\ud800"}\n'
    fails(r"1 row \(line 2\) with a label with a lone surrogate.*'y\\ud800'", "jsonl", write(content))


def test_a_corpus_remembers_its_columns(write):
    path = write("said,mood\na,0\nb,1\n")
    corpus = read_csv(path, text_column="said", label_column="mood")
    assert corpus.columns == {"text_column": "said", "label_column": "mood"}


def test_empty_cells_after_the_last_column_are_no_cells(write):
    assert read_csv(write("text,label\na,x,\nb,y,,\n")).train.texts == ["a", "b"]
    fails("line 2 has 3 cells; there are 2 column names.*every column a name", "csv", write("text,label\n0,a,x\n"))


def test_spaces_around_column_names_and_before_quotation_marks_are_not_part_of_them(write):
    corpus = read_csv(write('"text", "label"\n"a, b", "x"\n"c", "y"\n'))
    assert (corpus.train.texts, corpus.label_names) == (["a, b", "c"], ("x", "y"))
    assert read_csv(write(" text , label\n a,x\nb,y\n")).train.texts == [" a", "b"]


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        ("<!DOCTYPE html>\n<html>\n", "It looks like a web page"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "git lfs pull"),
        ("a film,x\nanother,y\n", "The first row of a table holds these names"),
    ],
)
def test_a_file_that_is_no_table_is_told_what_it_looks_like(write, content, looks):
    fails(f"Unknown column.*{looks}", "csv", write(content))


@pytest.mark.parametrize("content", ['[{"text": "a", "label": "x"}]', '[\n {\n  "text": "a"\n }\n]'])
def test_a_json_array_is_refused_with_what_writes_lines(write, content):
    fails(r'to_json\("new.jsonl", orient="records", lines=True\)', "jsonl", write(content, "a.jsonl"))
    with pytest.raises(ValueError, match=r"is json by its name.*to_json\("):
        load_corpus(write(content, "a.json"), task="classification")


def test_few_wrong_bytes_in_utf_8_are_told_apart_from_another_encoding(write):
    text = "text,label\n" + "очень хорошо,x\nплохо,y\n" * 9
    path = write(text.encode() + b"fi\xffne,x\n")
    fails(r"line 20 .*The rest is UTF-8, with at least 1 wrong byte: .*iconv -c", "csv", path)
    fails("--encoding cp1251", "csv", write(text.encode("cp1251")))


def test_a_binary_file_that_is_named_as_text_is_told_what_it_is(tmp_path):
    for name, content, kind in (("a.txt", b"PAR1\0\0", "a Parquet file"), ("a.conll", b"%PDF-1.4\n", "a PDF file")):
        (tmp_path / name).write_bytes(content)
        for reader in (TextFile, numbered_lines):
            with pytest.raises(ValueError, match=f"{name} is {kind}, whatever its name says"):
                list(reader(tmp_path / name))
        (tmp_path / name).write_bytes(gzip.compress(b"plain\n"))
        assert list(TextFile(tmp_path / name)) == ["plain"]
