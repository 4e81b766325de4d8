import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.data.text import Tokenizer, fold
from dense_lstm_zoo_runtime.rules import VERSIONS

tokenizers = {version: Tokenizer(version) for version in VERSIONS}


def tokens(*texts: str | bytes) -> list[list[str]]:
    """The tokens of texts without URLs, which every version splits alike."""
    token_lists = [split(tf.constant(list(texts))).to_list() for split in tokenizers.values()]
    assert token_lists[0] == token_lists[1]
    return [[token.decode() for token in row] for row in token_lists[0]]


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


# Text, its tokens and its tokens in lower case (Unicode's NFKC_Casefold), written down from Unicode's tables and not
# from a library: ICU, RE2 and Python each bring a version of their own. Spaces stand between tokens.
ODD_TEXTS = [
    # Characters without a width: some separate words; others stay, and are left out where words are looked up.
    ("a\u200bb a\u2060b a\ufeffb", "a b a b a b", "a b a b a b"),
    ("a\u200cb a\u200db a\u00adb a\u200eb", "a\u200cb a\u200db a\u00adb a\u200eb", "ab ab ab ab"),
    # Spaces and separators of every kind; the Mongolian separator has been no space since Unicode 6.3.
    ("a\u00a0b\u1680c\u2003d\u2028e\u2029f\u202fg\u205fh\u3000i", "a b c d e f g h i", "a b c d e f g h i"),
    ("a\u180eb", "a\u180eb", "ab"),
    # Control characters are spaces, NUL and NEL among them.
    ("\x00a\x00b\x1bc\x7fd\u0085e", "a b c d e", "a b c d e"),
    # Combining marks: composed where there is a composed letter, in canonical order where not; also without a letter.
    ("Cafe\u0301", "Caf\u00e9", "caf\u00e9"),
    ("q\u0307\u0323", "q\u0323\u0307", "q\u0323\u0307"),
    ("\u0301 a \u0301b", "\u0301 a \u0301b", "\u0301 a \u0301b"),
    ("\u1e9b\u0323", "\u1e69", "\u1e69"),
    ("\u0345", "\u0345", "\u03b9"),
    # Full width and half width are made plain before the rules look: "HI!", "$5", "1,0", "it's".
    ("\uff28\uff29\uff01 \uff04\uff15 \uff11\uff0c\uff10", "HI ! $ 5 1,0", "hi ! $ 5 1,0"),
    ("it\uff07s \uff02a\uff02", 'it \'s " a "', 'it \'s " a "'),
    ("\uff76\uff9e \u30ab\u3099", "\u30ac \u30ac", "\u30ac \u30ac"),
    # From right to left: the order is that of reading; presentation forms become letters; an Arabic mark is a letter.
    ("\u05e9\u05dc\u05d5\u05dd, \u05e2!", "\u05e9\u05dc\u05d5\u05dd , \u05e2 !", "\u05e9\u05dc\u05d5\u05dd , \u05e2 !"),
    ("\ufe8e \u0645\u061f", "\u0627 \u0645\u061f", "\u0627 \u0645\u061f"),
    # Emoji of several characters stay one token; joiners and variation selectors are ignored in lower case.
    ("\U0001f469\u200d\U0001f467 ok", "\U0001f469\u200d\U0001f467 ok", "\U0001f469\U0001f467 ok"),
    ("\u2764\ufe0f!", "\u2764\ufe0f !", "\u2764 !"),
    ("\U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd", None),
    # Ligatures, digraphs and compatible characters.
    ("\ufb01ne o\ufb03ce \u0133", "fine office ij", "fine office ij"),
    ("\u00bd \u00b2 \u2122 \u2126 \u212b", "1\u20442 2 TM \u03a9 \u00c5", "1\u20442 2 tm \u03c9 \u00e5"),
    ("\u01c5 \u0149", "D\u017e \u02bcn", "d\u017e \u02bcn"),
    ("wait\u2026 \ufe52", "wait ... .", "wait ... ."),
    ("\u00b4", "\u0301", "\u0301"),
    # Case: a dotted capital i keeps its dot, a final sigma becomes any sigma, a sharp s becomes two.
    ("\u0130stanbul I\u0131", "\u0130stanbul I\u0131", "i\u0307stanbul i\u0131"),
    (
        "\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03bf\u03c2",
        "\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03bf\u03c2",
        "\u03bf\u03b4\u03bf\u03c3 \u03bf\u03b4\u03bf\u03c3",
    ),
    ("Stra\u00dfe \u1e9e", "Stra\u00dfe \u1e9e", "strasse ss"),
    ("\u13a0\uab70 \u1c90\u10d0", "\u13a0\uab70 \u1c90\u10d0", "\u13a0\u13a0 \u10d0\u10d0"),
    # Without spaces between words, text is one token; so are syllables, written together or apart.
    ("\u4f60\u597d\u3002\u4e16\u754c", "\u4f60\u597d\u3002\u4e16\u754c", None),
    ("\ud55c\uad6d \u1112\u1161\u11ab", "\ud55c\uad6d \ud55c", None),
    # Letters and emoji of Unicode 14 to 16, which Python 3.11 does not know in part.
    (
        "\U00010570 \U0001fae9 \U0001faf8\U0001f6dc",
        "\U00010570 \U0001fae9 \U0001faf8\U0001f6dc",
        "\U00010597 \U0001fae9 \U0001faf8\U0001f6dc",
    ),
    ("\u1c89 \ua7dc \U00010d50", "\u1c89 \ua7dc \U00010d50", "\u1c8a \u019b \U00010d70"),
    # No characters, private ones (those that the rules use are replaced), and bytes that are not UTF-8.
    ("\ufffea \U0010ffff", "\ufffea \U0010ffff", None),
    ("\ue000a \uf8ff", "\ufffda \uf8ff", None),
    (b"a\xe2\x82 b\xc0\x80", "a\ufffd b\ufffd\ufffd", None),
    (b"\xed\xa0\x80 \xf4\x90\x80\x80", "\ufffd\ufffd\ufffd \ufffd\ufffd\ufffd\ufffd", None),
]


@pytest.mark.parametrize(("text", "expected", "folded"), ODD_TEXTS, ids=range(len(ODD_TEXTS)))
def test_odd_texts_give_the_tokens_that_unicode_and_the_rules_say(text, expected, folded):
    for tokenizer in tokenizers.values():
        tokenized = tokenizer(tf.constant([text]))
        assert [token.decode() for token in tokenized.to_list()[0]] == expected.split(" ")
        in_lower_case = [token.decode() for token in fold(tokenized).to_list()[0]]
        assert in_lower_case == (expected if folded is None else folded).split(" ")


pieces_of_urls = st.lists(
    st.sampled_from([*"a1.,:;?!()'\"<>[]@_-%$*~#/é看 ", "http://", "www.", "a@b.c", ".org"]), max_size=12
)
characters = st.text(alphabet=st.sampled_from("aA.b,:'\"`1$%-* ()!nt…’–´½é\u0301\u00a0\ufffd\\/sS£#&"), max_size=14)


# Few examples of many texts each: a call takes as long for a hundred texts as for one.
@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(characters, pieces_of_urls.map("".join), st.text(max_size=20)), min_size=1, max_size=150))
def test_any_text_is_tokenised_and_tokenising_again_changes_nothing(texts):
    encoded = [text.encode("utf-8", "replace") for text in texts]
    for tokenizer in tokenizers.values():
        once = tokenizer(tf.constant(encoded)).to_list()
        again = tokenizer(tf.constant([b" ".join(row) for row in once])).to_list()
        assert once == again
        assert all(token and not token.isspace() for row in once for token in row)


@pytest.mark.slow
def test_gold_penn_treebank_tokens_survive(data_folder):
    sentences = (data_folder / "conll2000" / "train.txt").read_text().strip().split("\n\n")
    gold = [[line.split()[0] for line in sentence.split("\n")] for sentence in sentences]
    actual = tokens(*(" ".join(sentence) for sentence in gold))
    same = sum(a == b for a, b in zip(gold, actual, strict=True))
    assert len(gold) == 8936
    assert same / len(gold) > 0.998
