"""The Penn Treebank's two kinds of files: words with their tags (.pos), and trees in brackets (.mrg).

Marcus et al. 1993, Building a large annotated corpus of English: the Penn Treebank, Computational Linguistics 19(2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tagging import brackets
from dense_lstm_zoo.tagging.corpus import TaggedSplit

_RULE = "===="  # begins the lines between paragraphs
_BRACKET = re.compile(r"[()]|[^()\s]+")
_TRACE = "-NONE-"
_CLOSING = ("''", "-RRB-", ")")  # tags of what closes a sentence behind its full stop


def read_pos(path: str | Path, *, encoding: str = "utf-8") -> TaggedSplit:
    r"""Read the words and tags of a tagged file: ``[ The/DT dog/NN ] barks/VBZ ./.``.

    A blank line or a line of ``====`` ends a sentence. As in the treebank's own files, one blank line does not end it
    between two noun phrases in brackets, unless a full stop comes first, nor do blank lines before closing quotes. The
    brackets around noun phrases are not read. Of alternative tags (``JJ|VBN``) the first counts. ``\/`` in a word is
    read as ``/``.

    Args:
        path: The file, such as ``wsj_0001.pos``, plain or .gz.
        encoding: How the file is encoded.

    Raises:
        FileNotFoundError: No such file. The message names similar ones beside it.
        ValueError: A word without a tag, a tag without a word. The message names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "wsj_0001.pos")
        ...     _ = path.write_text("[ Dogs/NNS ]\nbark/VBP ./.\n\n[ Either\\/or/CC ]\n")
        ...     split = read_pos(path)
        >>> split.tokens, split.tags
        ([['Dogs', 'bark', '.'], ['Either/or']], [['NNS', 'VBP', '.'], ['CC']])
    """
    path = files.existing_file(path)
    sentences = brackets.Sentences(path)
    sentence: list[tuple[str, str]] = []
    blank_lines, last_line = 0, ""
    for place, line in brackets.lines(path, encoding):
        if not line:
            blank_lines += 1
            continue
        is_rule = line.startswith(_RULE)
        if is_rule or (blank_lines and not _goes_on(sentence, last_line, line, blank_lines)):
            sentences.add(sentence)
            sentence = []
        blank_lines, last_line = 0, line
        if is_rule:
            continue
        for token in line.split():
            if token in ("[", "]"):
                continue
            word, slash, tag = token.rpartition("/")
            if not (slash and word and tag) or word.endswith("\\"):
                raise ValueError(f"{place}: found {token!r:.60}, expected a word and its tag, such as dog/NN.")
            sentence.append((word, brackets.checked_tag(place, tag)))
            if len(sentence) > brackets.MOST_TOKENS:
                raise brackets.too_long(place, "the sentence")
    sentences.add(sentence)
    return sentences.split("words with tags, such as [ Dogs/NNS ] bark/VBP")


def _goes_on(sentence: list[tuple[str, str]], before: str, line: str, blank_lines: int) -> bool:
    """Return whether a line goes on with the sentence before blank lines.

    The treebank has a blank line between two noun phrases that follow each other, and before closing quotes.
    """
    if not sentence:
        return False
    if all(token.rpartition("/")[2] in _CLOSING for token in line.split()):
        return True
    last_tag = next((tag for _, tag in reversed(sentence) if tag not in _CLOSING), "")
    return blank_lines == 1 and before.endswith("]") and line.startswith("[") and last_tag != "."


@dataclass
class _Node:
    """A bracket that is not closed: its label, and what it has held so far."""

    label: str | None = None
    word: str | None = None
    has_children: bool = False


def read_mrg(path: str | Path, *, encoding: str = "utf-8") -> TaggedSplit:
    r"""Read the words and tags at the leaves of trees in brackets: ``( (S (NP-SBJ (NNS Dogs)) (VP (VBP bark))) )``.

    Traces (``-NONE-``) are no words, and a tree of nothing else is no sentence. Words are taken as written, brackets as
    ``-LRB-``, except that ``\/`` is read as ``/``. Of alternative tags (``JJ|VBN``) the first counts.

    Args:
        path: The file, such as ``wsj_0001.mrg``, plain or .gz.
        encoding: How the file is encoded.

    Raises:
        FileNotFoundError: No such file. The message names similar ones beside it.
        ValueError: Brackets that do not match, or that hold something other than a label and its words or brackets. The
            message names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "wsj_0001.mrg")
        ...     _ = path.write_text("( (S (NP-SBJ (-NONE- *))\n     (VP (VB Go))\n     (. .)) )\n")
        ...     split = read_mrg(path)
        >>> split.tokens, split.tags
        ([['Go', '.']], [['VB', '.']])
    """
    path = files.existing_file(path)
    sentences = brackets.Sentences(path)
    sentence: list[tuple[str, str]] = []
    nodes: list[_Node] = []
    began = ""  # where the tree that is read begins
    for place, line in brackets.lines(path, encoding):
        for match in _BRACKET.finditer(line):
            token = match[0]
            if token == "(":
                if not nodes:
                    began = place
                elif nodes[-1].word is not None:
                    raise ValueError(f"{place}: found ( after the word {nodes[-1].word!r:.40}, expected ).")
                else:
                    nodes[-1].has_children = True
                nodes.append(_Node())
                if len(nodes) + len(sentence) > brackets.MOST_TOKENS:
                    raise brackets.too_long(began, "the tree")
            elif not nodes:
                raise ValueError(f"{place}: found {token!r:.40} outside a tree, expected (.")
            elif token != ")":
                _fill(nodes[-1], token, place)
            else:
                node = nodes.pop()
                if node.word is not None and node.label is not None and node.label != _TRACE:
                    sentence.append((node.word, brackets.checked_tag(place, node.label)))
                elif node.word is None and not node.has_children:
                    raise ValueError(f"{place}: a bracket holds {node.label or 'nothing'}, expected a tag and a word.")
                if not nodes:
                    sentences.add(sentence)
                    sentence = []
    if nodes:
        raise ValueError(f"{path} ends within the tree that begins at {began.rpartition(', ')[2]}: a ) is missing.")
    return sentences.split("trees in brackets, such as ( (S (NP (NNS Dogs)) (VP (VBP bark))) )")


def _fill(node: _Node, token: str, place: str) -> None:
    """Put a label or a word into a bracket."""
    if node.label is None and not node.has_children:
        node.label = token
    elif node.word is None and not node.has_children:
        node.word = token
    else:
        content = f"the word {node.word!r:.40}" if node.word is not None else "brackets"
        raise ValueError(f"{place}: found {token!r:.40} after {content}, expected ).")
