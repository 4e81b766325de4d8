"""CCGbank's derivations (AUTO files): the words of a sentence and their lexical categories, the supertags.

Hockenmaier and Steedman 2007, CCGbank: A corpus of CCG derivations and dependency structures extracted from the Penn
Treebank, Computational Linguistics 33(3).
"""

from __future__ import annotations

import re
from pathlib import Path

from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tagging import brackets
from dense_lstm_zoo.tagging.corpus import TaggedSplit

# A node has its category, its head and the number of its daughters. A word has its category, the two parts of speech
# that CCGbank and the Treebank give it, itself, and its category with indices.
_NODE = re.compile(r"\(<T (\S+) (\d) (\d)>\s*")
_LEAF = re.compile(r"\(<L (\S+) \S+ \S+ (\S+) \S+>\)\s*")
_END = re.compile(r"\)\s*")
_PARSES = re.compile(r"\bNUMPARSE=(\d+)")


def read_auto(path: str | Path, *, encoding: str = "utf-8") -> TaggedSplit:
    r"""Read the words and supertags of a file of derivations, one line each below its ID.

    Words are taken as written, brackets as ``-LRB-``, except that ``\/`` is read as ``/``.

    Args:
        path: The file, such as ``wsj_0001.auto``, plain or .gz.
        encoding: How the file is encoded.

    Raises:
        FileNotFoundError: No such file. The message names similar ones beside it.
        ValueError: A line that is not a derivation, or an ID without one. The message names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "wsj_0001.auto")
        ...     _ = path.write_text(
        ...         "ID=wsj_0001.1 PARSER=GOLD NUMPARSE=1\n"
        ...         "(<T S[dcl] 0 2> (<L NP NNS NNS Dogs NP>) (<L S[dcl]\\NP VBP VBP bark S[dcl]\\NP_1>) )\n"
        ...     )
        ...     split = read_auto(path)
        >>> split.tokens, split.tags
        ([['Dogs', 'bark']], [['NP', 'S[dcl]\\NP']])
    """
    path = files.existing_file(path)
    sentences = brackets.Sentences(path)
    waiting: str | None = None  # the place of an ID whose derivation is the next line
    for place, line in brackets.lines(path, encoding):
        if line.startswith("ID="):
            _refuse_waiting(waiting)
            number = _PARSES.search(line)
            if number is not None and int(number[1]) > 1:
                raise ValueError(f"{place}: {number[0]}, expected one derivation of a sentence ({line:.60}).")
            waiting = None if number is not None and int(number[1]) == 0 else place
        elif line:
            sentences.add(_leaves(line, place))
            waiting = None
    _refuse_waiting(waiting)
    return sentences.split("derivations of CCGbank, such as (<L NP NNS NNS Dogs NP>) below ID=wsj_0001.1 ...")


def _refuse_waiting(place: str | None) -> None:
    if place is not None:
        raise ValueError(f"{place} has no derivation below it; expected a line that begins with (<T or (<L.")


def _leaves(line: str, place: str) -> list[tuple[str, str]]:
    """Return the words of a derivation with their categories. Its nodes are counted, not built."""
    leaves: list[tuple[str, str]] = []
    open_nodes: list[int] = []  # of each node that is not closed: the daughters that are still to come
    at = 0
    while at < len(line):
        if leaves and not open_nodes:
            raise _derivation_error(place, line, at, "the end of the line: the derivation is complete")
        if leaf := _LEAF.match(line, at):
            tag, word = leaf.groups()
            leaves.append((word, brackets.checked_tag(place, tag)))
            _count_daughter(open_nodes, place, line, at)
            if len(leaves) > brackets.MOST_TOKENS:
                raise brackets.too_long(place, "the derivation")
            at = leaf.end()
        elif node := _NODE.match(line, at):
            _count_daughter(open_nodes, place, line, at)
            open_nodes.append(int(node[3]))
            at = node.end()
        elif open_nodes and (end := _END.match(line, at)):
            if missing := open_nodes.pop():
                raise _derivation_error(
                    place, line, at, f"{missing} more daughter{'s' if missing > 1 else ''} of this node"
                )
            at = end.end()
        else:
            raise _derivation_error(
                place, line, at, "(<T category head daughters> or (<L category tag tag word category>)"
            )
    if open_nodes:
        brackets_open = f"{len(open_nodes)} bracket{'s' if len(open_nodes) > 1 else ''}"
        raise ValueError(f"{place} ends within a derivation: {brackets_open} not closed; the line may be cut.")
    return leaves


def _count_daughter(open_nodes: list[int], place: str, line: str, at: int) -> None:
    if not open_nodes:
        return
    if not open_nodes[-1]:
        raise _derivation_error(place, line, at, "the end of a node, which has all its daughters")
    open_nodes[-1] -= 1


def _derivation_error(place: str, line: str, at: int, expected: str) -> ValueError:
    return ValueError(f"{place}, character {at + 1}: found {line[at : at + 40]!r}, expected {expected}.")
