"""Rows whose words are part of another row, as the phrases of SST-2 are parts of its sentences.

A model that has learned the parts of a sentence knows the sentence, too. Who judges by rows that were held out has to
hold out wholes, and to train on no part of them.
"""

import numpy

from . import data
from .data import Texts

_ENDS = 1  # control tokens before and behind the words of a text


def split(texts: Texts, share: float, apart: bool) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The numbers of rows to train on and of a share that is held out, each ascending. `apart`: of those rows that are
    no part of another; their parts are not trained on either."""
    left_out = numpy.zeros(len(texts), bool)
    held_out = data.chosen(numpy.flatnonzero(wholes(texts)) if apart else numpy.arange(len(texts)), share)
    left_out[held_out] = True
    return numpy.flatnonzero(~(parts(texts, left_out) if apart else left_out)), held_out


def wholes(texts: Texts) -> numpy.ndarray:
    """[rows] whether no longer row has the row's words, one behind another."""
    return ~_occur(texts, numpy.ones(len(texts), bool), longer=True)


def parts(texts: Texts, of: numpy.ndarray) -> numpy.ndarray:
    """[rows] whether the row's words stand, one behind another, in one of the rows of the mask `of` [rows]."""
    return _occur(texts, of, longer=False)


def _occur(texts: Texts, among: numpy.ndarray, longer: bool) -> numpy.ndarray:
    """[rows] whether the row's words occur among the words of some rows, or of longer ones of these. Words are
    compared by a hash of 64 bits that follows from that of one word less."""
    firsts, lengths = texts.begins[:-1] + _ENDS, texts.lengths - 2 * _ENDS
    row_of = numpy.repeat(numpy.arange(len(texts)), texts.lengths)
    ends = (firsts + lengths)[row_of]
    draw = numpy.random.default_rng(0)
    values = draw.integers(1 << 64, size=int(texts.ids.max()) + 1, dtype=numpy.uint64)[texts.ids]
    multiplier = draw.integers(1 << 63, dtype=numpy.uint64) * numpy.uint64(2) + numpy.uint64(1)
    begins = numpy.arange(len(texts.ids))  # of what is hashed: it ends where its row does, or before
    begins = begins[(begins >= firsts[row_of]) & (begins < ends)]
    hashes = numpy.zeros(len(texts.ids), numpy.uint64)
    occur = numpy.zeros(len(texts), bool)
    for words in range(1, int(lengths.max()) + 1):
        begins = begins[begins + words <= ends[begins]]
        hashes[begins] = hashes[begins] * multiplier + values[begins + words - 1]
        rows = row_of[begins]
        found = hashes[begins[among[rows] & (lengths[rows] > words if longer else True)]]
        asked = numpy.flatnonzero(lengths == words)
        occur[asked] = numpy.isin(hashes[firsts[asked]], found)
    return occur
