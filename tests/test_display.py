"""Text from others in a real renderer of CommonMark and GitHub's tables: it shows as text and does nothing else."""

from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dense_lstm_zoo.display import Markdown, escape, fenced, one_line, table

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b",
    r"a\|b",
    r"a\\|b",
    "\\",
    "a\\",
    "`",
    "``` ` ```",
    "`" * 100,
    "`" * 100 + "|<b>",
    "*a* _b_ __init__ ~~c~~",
    "[x](javascript:alert(1)) ![y](http://example.com/z.png)",
    "http://example.com www.example.com a@example.com <http://example.com>",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "---",
    "two\nlines\n\n# three",
    "&lt; &amp; &#60;",
    "<!-- comment",
    "$x$ :smile: @someone #1",
    "ends with a space ",
    "\u202egnol",
    "\0\x1b[31mred",
    "\ud800",
    "",
]
TAGS_OF_A_TABLE = {"table", "thead", "tbody", "tr", "th", "td", "code"}


class Page(HTMLParser):
    """The tags of a page, and the text of its table's cells."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.comments: list[str] = []
        self.feed(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1] and data.strip("\n"):
            self.rows[-1][-1] += data

    def handle_comment(self, data):
        self.comments.append(data)


def test_the_page_of_these_tests_sees_what_is_live():
    page = Page("| a | b |\n|---|---|\n| <script>x</script> | *y* |")
    assert page.tags == {"table", "thead", "tbody", "tr", "th", "td", "script", "em"}
    assert page.rows == [["a", "b"], ["x", "y"]]


def test_a_table_shows_every_text_in_its_own_cell():
    page = Page(table(["number", *HOSTILE[:2]], [(i, text, text) for i, text in enumerate(HOSTILE)]))
    assert page.tags <= TAGS_OF_A_TABLE
    assert page.comments == []
    lines = [one_line(text) for text in HOSTILE]
    assert page.rows == [["number", *lines[:2]], *([str(i), text, text] for i, text in enumerate(lines))]


@pytest.mark.parametrize("text", HOSTILE)
def test_in_a_heading_and_a_list_there_is_the_text_alone(text):
    html = (
        MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .render(f"# {escape(text)}: scores\n\n- name: {escape(text)}\n")
    )
    page = Page(f"# {escape(text)}: scores\n\n- name: {escape(text)}\n")
    assert page.tags <= {"h1", "ul", "li", "code"}
    assert html.count("<h1>") == html.count("<li>") == 1


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab \\|`*_<>[]()!&#;~$-.:/\n\t\u202e\ud800é"), max_size=20))
@example("\\|`")
def test_any_text_in_a_cell_is_that_text(text):
    page = Page(table(["a", "b"], [(text, "end")]))
    assert page.tags <= TAGS_OF_A_TABLE
    assert page.rows[1] == [one_line(text), "end"]


def test_plain_texts_stay_readable_as_they_are():
    for text in ("NUM:dist", "very negative", "trec_fine", "it wasn't good (at all), was it? 10 ± 0.5 %", "units=64"):
        assert escape(text) == text


def test_markdown_of_our_own_is_kept_and_values_become_text():
    assert table(["x"], [(Markdown("**b**"),), (1.5,), (None,)]).splitlines()[2:] == [
        "| **b** |",
        "| 1.5 |",
        "| None |",
    ]


def test_one_line_is_one_line_that_utf_8_can_hold():
    line = one_line("a\r\nb\u2028c\x85d\x0be\ud800\u202e" + "x" * 100, 30)
    assert line.splitlines() == [line]
    assert line.encode()
    assert line.startswith(r"a b c d e\ud800\u202e")
    assert line.endswith(" ...")


def test_a_block_of_code_ends_where_it_should():
    html = MarkdownIt("commonmark").render(fenced("a\n```\n<b>\n````") + "\n\nbehind\n")
    assert html == "<pre><code>a\n```\n&lt;b&gt;\n````\n</code></pre>\n<p>behind</p>\n"
