"""A softmax-weighted mean over tokens that arrive a chunk at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class OnlineSoftmax:
    """The recurrence of online softmax: a running maximum, and sums that shrink by exp(m_old - m_new) when it grows."""

    def __init__(self, rows: int, dims: int) -> None:
        self.maximum = np.full((rows, 1), -np.inf)
        self._sum = np.zeros((rows, 1))
        self._weighted = np.zeros((rows, dims))

    def add(self, logits: Floats, values: Floats) -> Floats:
        """Takes in logits (rows, tokens) and values (tokens, dims); answers exp(logits - maximum so far)."""
        top = np.maximum(self.maximum, logits.max(axis=1, keepdims=True))
        shrink = np.exp(self.maximum - top)
        weights: Floats = np.exp(logits - top)
        self._sum = self._sum * shrink + weights.sum(axis=1, keepdims=True)
        self._weighted = self._weighted * shrink + weights @ values
        self.maximum = top
        return weights

    def mean(self) -> Floats:
        """(rows, dims)"""
        return np.asarray(self._weighted / self._sum)

    def log_sum(self) -> Floats:
        """(rows,): natural log of the sum of exp(logit)."""
        return np.asarray((self.maximum + np.log(self._sum))[:, 0])
