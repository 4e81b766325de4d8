"""An interpolated modified Kneser-Ney n-gram model (Chen & Goodman 1998), a baseline that a recurrent model must beat.

For a word w after a context h, where h' is h without its first word,

    p(w | h) = (a(hw) - D(a(hw))) / sum_v a(hv) + g(h) p(w | h'),

where a is the count of an n-gram at the highest order and, at lower ones, how many different words were seen before it.
The discount D is one of three values, for an a of 1, of 2 and of more, and each order has its own, worked out from how
many of its n-grams have an a of 1, 2, 3 and 4. g(h) hands on what D took off after h. Below the unigrams lies the
uniform distribution over the words of train, <eos> and <unk>, which alone gives <unk> its probability.

Sentences are scored apart, each behind one <s> that is given and never predicted. Nothing stands before an n-gram that
begins with <s>, so its a is its plain count at every order.
"""

import math
from collections import Counter

BEGIN, END, UNKNOWN = "<s>", "<eos>", "<unk>"

# For an order with too few n-grams for the estimate, which then leaves the range from 0 to the count: KenLM's values.
FALLBACK = (0.0, 0.5, 1.0, 1.5)


def discounts(counts: list[int]) -> tuple[float, float, float, float]:
    """Return the discounts of a count of 0, 1, 2, and 3 or more."""
    n1, n2, n3, n4 = (counts.count(value) for value in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    y = n1 / (n1 + 2 * n2)
    estimate = (0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    return estimate if all(0 < value < count for count, value in enumerate(estimate) if count) else FALLBACK


class KneserNey:
    """The model that a corpus of tokenised sentences gives."""

    def __init__(self, train: list[list[str]], order: int = 5) -> None:
        self.order = order
        self.vocabulary = {END, UNKNOWN}.union(*train)
        plain: list[Counter[tuple[str, ...]]] = [Counter() for _ in range(order + 1)]
        for sentence in train:
            words = (BEGIN, *sentence, END)
            for end in range(2, len(words) + 1):
                for n in range(1, min(order, end) + 1):
                    plain[n][words[end - n : end]] += 1

        self.counts: dict[tuple[str, ...], int] = {}
        self.discounts = [discounts([])] * (order + 1)
        # After each context: the sum of the counts, and how many of them are 1, 2, and 3 or more.
        self.after: dict[tuple[str, ...], list[int]] = {}
        for n in range(1, order + 1):
            counts = plain[n]
            if n < order:
                preceded = Counter(longer[1:] for longer in plain[n + 1])
                counts = Counter({gram: plain[n][gram] if gram[0] == BEGIN else preceded[gram] for gram in plain[n]})
            self.counts |= counts
            self.discounts[n] = discounts(list(counts.values()))
            for gram, count in counts.items():
                statistics = self.after.setdefault(gram[:-1], [0, 0, 0, 0])
                statistics[0] += count
                statistics[min(count, 3)] += 1

    def probability(self, word: str, context: tuple[str, ...] = ()) -> float:
        """Return the probability of a word after a context, of which the last order - 1 words count."""
        result = 1 / len(self.vocabulary)
        for length in range(min(len(context), self.order - 1) + 1):
            history = context[len(context) - length :]
            if history not in self.after:
                break
            total, *kinds = self.after[history]
            discount = self.discounts[length + 1]
            count = self.counts.get((*history, word), 0)
            freed = sum(value * kind for value, kind in zip(discount[1:], kinds, strict=True))
            result = (count - discount[min(count, 3)] + freed * result) / total
        return result


def perplexity(train: list[list[str]], test: list[list[str]], order: int = 5) -> float:
    """Return train's perplexity over test's tokens and the <eos> after each of its sentences."""
    model = KneserNey(train, order)
    log_probabilities = []
    for sentence in test:
        words = (BEGIN, *(word if word in model.vocabulary else UNKNOWN for word in sentence), END)
        for position in range(1, len(words)):
            log_probabilities.append(math.log(model.probability(words[position], words[:position])))
    return math.exp(-sum(log_probabilities) / len(log_probabilities))
