"""Bracketed sentiment trees: ``(3 (2 A) (4 (4 fine) (2 film)))``."""

from __future__ import annotations

import re
from collections.abc import Collection

Phrase = tuple[str, int]  # text, label

_TOKEN = re.compile(r"\((\d+) |([^() ]+)|(\))|( )|(.)")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"'}


def parse_tree(line: str, labels: Collection[int]) -> list[Phrase]:
    """Return the (text, label) of every node, the whole sentence first, in the order of their opening brackets.

    The treebank's escapes are replaced as in raw text ("-LRB-" by an opening bracket, "\\/" by a slash, "``" by a
    quotation mark).

    Args:
        line: A tree.
        labels: The labels a node may have.

    Raises:
        ValueError: The line is not a tree. The message gives the column.

    Example:
        >>> parse_tree("(3 (2 A) (4 (4 fine) (2 film)))", range(5))
        [('A fine film', 3), ('A', 2), ('fine film', 4), ('fine', 4), ('film', 2)]
    """
    words: list[str] = []
    nodes: list[list[int]] = []  # label, first word, end
    spans: list[list[int]] = []  # the open ones
    for match in _TOKEN.finditer(line):
        label, word, close, _, other = match.groups()
        if other or not (spans or (label and not nodes)):
            column = match.start() + 1
            raise ValueError(f"expected a bracketed tree; found {line[column - 1 :][:40]!r} in column {column}.")
        if label:
            if int(label) not in labels:
                raise ValueError(
                    f"found the label {label} in column {match.start() + 1}, not one of {', '.join(map(str, labels))}."
                )
            nodes.append([int(label), len(words), 0])
            spans.append(nodes[-1])
        elif word:
            words.append(_ESCAPES.get(word, word.replace("\\/", "/").replace("\\*", "*")))
        elif close:
            node = spans.pop()
            node[2] = len(words)
            if node[1] == node[2]:
                raise ValueError(f"found a node without words that ends in column {match.start() + 1}.")
    if spans or not nodes:
        raise ValueError(f"expected a bracketed tree; found {line[:40]!r}, with {len(spans)} brackets left open.")
    return [(" ".join(words[start:end]), label) for label, start, end in nodes]
