"""Small files of word vectors, and the numbers that they hold."""

import random

import numpy as np

WORDS = ["the", "of", "cat", ". . .", "at name@domain.com", "naïve", "a\u0085b", "c\u00a0d", "e\u2028f", "66"]


def some_lines(words=WORDS, dim=3, seed=0):
    source = random.Random(seed)
    return [f"{word} {' '.join(f'{source.gauss(0, 1):.5f}' for _ in range(dim))}" for word in words]


def write(path, lines, end="\n"):
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def expected(lines, dim=3):
    return np.array([[np.float32(number) for number in line.split(" ")[-dim:]] for line in lines], np.float32)
