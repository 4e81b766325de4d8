"""CCGbank and the Wall Street Journal of the Penn Treebank, from a licensee's own copy.

They are divided into training, dev and test sections as in Wu et al. 2016.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dense_lstm_zoo.data.sources import data_folders
from dense_lstm_zoo.tagging.ccgbank import read_auto
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus
from dense_lstm_zoo.tagging.penn import read_mrg, read_pos

READERS: dict[str, Callable[..., TaggedSplit]] = {"auto": read_auto, "pos": read_pos, "mrg": read_mrg}
"""The readers of one file, by its ending."""


@dataclass(frozen=True)
class Licensed:
    """A corpus that only its licensees have, in sections: folders named 00 to 24 with files of one ending.

    Args:
        name: The name of the corpus, and of its folder.
        title: What it is called.
        catalogue: Its number at the Linguistic Data Consortium.
        places: Where its sections may be, below its folder, and the ending of the files there. The first one counts.
        sections: The sections of each part.
        sentences: How many sentences each part has, as published, for files of one ending.
    """

    name: str
    title: str
    catalogue: str
    places: tuple[tuple[str, str], ...]
    sections: Mapping[str, range]
    sentences: Mapping[str, Mapping[str, int]]

    @property
    def example(self) -> str:
        """The first file of the first place."""
        place, ending = self.places[0]
        return f"$DENSE_LSTM_ZOO_DATA/{self.name}/{place}/00/wsj_0001.{ending}"

    def find(self) -> list[Path]:
        """Return all its files, in the order of the sections.

        Raises:
            FileNotFoundError: It is not on this machine, or a section is missing. The message says where to put it.
        """
        roots = [folder / self.name for folder in data_folders()]
        for root in roots:
            for place, ending in self.places:
                if any(files_in(root / place / section, ending) for section in self._names()):
                    return self._files(root, root / place, ending)
        folders = [root for root in roots if root.is_dir()]
        looked = " and ".join(map(str, roots))
        content = f" ({folders[0]} holds {_content_of(folders[0])})" if folders else ""
        raise FileNotFoundError(
            f"{self.title} is not in {looked}{content}. It is licensed, so it cannot be downloaded: get it from the "
            f"Linguistic Data Consortium ({self.catalogue}) and put or link its folder so that its sections lie there "
            f"as in {self.example}."
        )

    def read(self, name: str, paths: list[Path]) -> TaggingCorpus:
        """Read the files that ``find`` found into the parts of Wu et al. 2016, and warn if sentences are missing."""
        ending = _ending(paths[0])
        parts = {}
        for part, sections in self.sections.items():
            names_of_sections = {f"{section:02}" for section in sections}
            parts[part] = read_all(path for path in paths if path.parent.name in names_of_sections)
            published = self.sentences.get(ending, {}).get(part)
            if published not in (None, len(parts[part])):
                warnings.warn(
                    f"{paths[0].parents[1]}: {part} has {len(parts[part]):,} sentences, published are {published:,}; "
                    "scores may not compare with the papers'.",
                    stacklevel=2,
                )
        return TaggingCorpus(name, parts["train"], parts["dev"], parts["test"])

    def _names(self) -> list[str]:
        return [f"{section:02}" for sections in self.sections.values() for section in sections]

    def _files(self, root: Path, place: Path, ending: str) -> list[Path]:
        paths, missing = [], []
        inside = os.path.realpath(root)
        for section in self._names():
            own = files_in(place / section, ending)
            for path in own:
                if os.path.commonpath([inside, os.path.realpath(path)]) != inside:
                    raise ValueError(
                        f"{path} lies outside {root} by a link within it; put the files there, or link all of it."
                    )
            paths += own
            missing += [] if own else [section]
        if missing:
            raise FileNotFoundError(
                f"{self.title} in {place} has no files *.{ending} of section{'s' if len(missing) > 1 else ''} "
                f"{', '.join(missing)}; training, dev and test need {_ranges_of(self.sections)}."
            )
        return paths


def files_in(folder: Path, ending: str) -> list[Path]:
    """Return the files of a folder with an ending, in the order of their names, or none if there is no such folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _ending(path) == ending and path.is_file())


def read_all(paths: Iterable[Path]) -> TaggedSplit:
    """Read files one after the other, each with the reader of its ending."""
    tokens: list[list[str]] = []
    tags: list[list[str]] = []
    for path in paths:
        split = READERS[_ending(path)](path)
        tokens += split.tokens
        tags += split.tags
    return TaggedSplit(tokens, tags)


def _ending(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]


def _content_of(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") if names else "nothing"


def _ranges_of(sections: Mapping[str, range]) -> str:
    ranges = []
    for part, numbers in sections.items():
        ends = dict.fromkeys((f"{numbers[0]:02}", f"{numbers[-1]:02}"))
        ranges.append(f"{'-'.join(ends)} ({part})")
    return ", ".join(ranges)


CCGBANK = Licensed(
    "ccgbank",
    "CCGbank",
    "LDC2005T13",
    (("data/AUTO", "auto"), ("AUTO", "auto"), ("", "auto"), ("ccgbank_1_1/data/AUTO", "auto")),
    {"train": range(2, 22), "dev": range(1), "test": range(23, 24)},
    {"auto": {"train": 39_604}},  # Wu et al. 2016, section 6.1
)
# Trees before tagged files, as published scores are on the words of the trees.
_WSJ_PLACES = tuple(
    (f"{folder}{kind}/wsj".removeprefix("/"), ending)
    for kind, ending in (("parsed/mrg", "mrg"), ("mrg", "mrg"), ("combined", "mrg"), ("tagged/pos", "pos"))
    for folder in ("", "treebank_3/")
)
WSJ = Licensed(
    "wsj",
    "The Wall Street Journal of the Penn Treebank",
    "LDC99T42",
    (*_WSJ_PLACES, ("", "mrg"), ("", "pos")),
    {"train": range(19), "dev": range(19, 22), "test": range(22, 25)},
    {"mrg": {"train": 38_219, "dev": 5_527, "test": 5_462}},  # Toutanova et al. 2003, Table 1
)
