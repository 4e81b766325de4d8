import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.data.text import Tokenizer

tokenizer = Tokenizer()


def tokens(*texts: str | bytes) -> list[list[str]]:
    return [[token.decode() for token in row] for row in tokenizer(tf.constant(list(texts))).to_list()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It doesn't cost $5, Mr. Smith.", "It does n't cost $ 5 , Mr. Smith ."),
        (
            "I can't, we've, he'll, she'd, I'm, you're, it's",
            "I ca n't , we 've , he 'll , she 'd , I 'm , you 're , it 's",
        ),
        ("DON'T WE'VE, she'd've can't've", "DO N'T WE 'VE , she 'd 've ca n't 've"),
        ("'Tom said it's' $$ $$A", "' Tom said it 's ' $$ $$ A"),
        ("I don't. \"It's.\" He can't...", "I do n't . \" It 's . \" He ca n't ..."),
        ("1,000,000 at 3:30 p.m., i.e. 10%: 1,2,3", "1,000,000 at 3:30 p.m. , i.e. 10 % : 1,2,3"),
        ("“Quoted” ‘words’ — really…", "\" Quoted \" ' words ' -- really ..."),
        ("the parents' (well-made) house", "the parents ' ( well-made ) house"),
        ("Good film. I liked it. the end", "Good film . I liked it . the end"),
        ("Who is J. Smith of the U.S.?", "Who is J. Smith of the U.S. ?"),
        ("O'Brien saw rock 'n roll in the '80s o'clock", "O'Brien saw rock 'n roll in the '80s o'clock"),
        ("wait...what?!", "wait ... what ? !"),
        ("US$5 or £3, '$A'", "US$ 5 or £ 3 , ' $ A '"),
        ("No. 5 said no. Then", "No. 5 said no . Then"),
        ("caf\u0065\u0301 ﬁne ½", "caf\u00e9 fine 1\u20442"),
        ("a\u00a0b\u2028c\td\ne\u200bf", "a b c d e f"),
        ("😀👍 good", "😀👍 good"),
    ],
)
def test_raw_text_is_split_as_the_penn_treebank_does(text, expected):
    assert tokens(text) == [expected.split()]


def test_text_that_is_tokenised_already_passes_unchanged():
    for text in (
        "does n't",
        "He said , `` It 's the U.S. 's 3.5 % stake , '' Mr. Smith -LRB- Inc. -RRB- added ...",
        "the parents ' house -- and C$ 5 ; rock 'n roll : 1\\/2",
        "In Calif. and Mass. , A.B. Corp. and J. Smith & Co. rose 1,000 points .",
    ):
        assert tokens(text) == [text.split()]


def test_nothing_gives_no_tokens_and_invalid_utf8_is_replaced():
    assert tokens("", "   ", "\n\t") == [[], [], []]
    assert tokens(b"caf\xe9 good") == [["caf\ufffd", "good"]]
    assert tokens("\ue000") == [["\ufffd"]]


def test_case_is_kept():
    assert tokens("Der NASA iPhone") == [["Der", "NASA", "iPhone"]]


characters = st.text(alphabet=st.sampled_from("aA.b,:'\"`1$%-* ()!nt…’–´½é\u0301\u00a0\ufffd\\/sS£#&"), max_size=14)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.one_of(characters, characters, st.text(max_size=20)), min_size=1, max_size=50))
def test_any_text_is_tokenised_and_tokenising_again_changes_nothing(texts):
    encoded = [text.encode("utf-8", "replace") for text in texts]
    once = tokenizer(tf.constant(encoded)).to_list()
    again = tokenizer(tf.constant([b" ".join(row) for row in once])).to_list()
    assert once == again
    assert all(token and not token.isspace() for row in once for token in row)


@pytest.mark.slow
def test_gold_penn_treebank_tokens_survive(data_folder):
    sentences = (data_folder / "conll2000" / "train.txt").read_text().strip().split("\n\n")
    gold = [[line.split()[0] for line in sentence.split("\n")] for sentence in sentences]
    found = tokens(*(" ".join(sentence) for sentence in gold))
    same = sum(a == b for a, b in zip(gold, found, strict=True))
    assert len(gold) == 8936
    assert same / len(gold) > 0.998
