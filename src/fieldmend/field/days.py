"""Kinds of days: how days differ from the usual one, told by all nodes together.

Beside its usual course each node has a few ways of its own to depart from it: on Sundays, in a
strike, in the heat. How far a day goes each of these ways is one number for all nodes, so a node
that was silent all day is told by its own days of that kind. Factors over nodes would have to know
every way in which nodes differ from each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array
from fieldmend.field.jumps import Index
from fieldmend.field.model import Data
from fieldmend.field.scaling import single

_MOST, _EACH = 2, 7  # ways, and days that it takes to tell one: Sundays come in a week
_READINGS = 2  # for each number that is told by them
_FAR = 4.0  # departures beyond this many root mean squares count as this far
_ROUNDS = 8
_SMOOTH = 72  # courses are smoothed over this part of the day, to either side
_NIGHT = 8  # part of a day that a night is at least
_LEAST = 1e-6  # of the departures' square: no day is told without any doubt
_WITNESS = 8  # readings of a node within this part of a day are one witness of what day it is


@dataclass(frozen=True)
class Ways:
    """The ways in which days depart from the usual one, and what is expected of a day unheard."""

    courses: Array  # ways × nodes × period, scaled
    usual: Array  # ways × days of the week, or ways × 1: how far such a day goes
    border: int  # phase at which days begin
    doubt: float  # what draws a day towards the usual
    far: float  # departures beyond count as this far

    @property
    def length(self) -> int:
        """Slots in a day."""
        return int(self.courses.shape[2])

    def at(self, rest: Array, data: Data) -> Array:
        """What is to be added to the usual course, nodes × slots; `rest` is what it leaves."""
        days = _Calendar.of(data.slots, self.length, self.border)
        courses = self.courses[:, :, days.phase]
        usual = self.usual[:, days.day % self.usual.shape[1]]
        rest = np.clip(rest, -self.far, self.far)
        went = _went(courses * data.used, rest, days, doubt=self.doubt, usual=usual)
        out: Array = np.einsum("knt,kt->nt", courses, went[:, days.number], optimize=True)
        return out


@dataclass(frozen=True)
class _Calendar:
    """Which day each slot is of, as the how manieth of those that are there, and its phase."""

    day: Index  # of each day that is there
    number: Index  # of each slot
    phase: Index  # of each slot

    @classmethod
    def of(cls, slots: Index, length: int, border: int) -> _Calendar:
        day, number = np.unique((slots - border) // length, return_inverse=True)
        return cls(day, number, slots % length)

    def cube(self, values: Array, length: int) -> Array:
        """Nodes × slots as nodes × days × phases, zero where no slot is there."""
        out = np.zeros((len(values), len(self.day), length))
        out[:, self.number, self.phase] = values
        return out

    def sums(self, values: Array) -> Array:
        """Of each day; slots first."""
        starts = np.searchsorted(self.number, np.arange(len(self.day)))
        out: Array = np.add.reduceat(values, starts, axis=0)
        return out


def ways_of(rest: Array, data: Data, length: int, week: int) -> Ways | None:
    """From what the usual course leaves of the readings, nodes × slots; None if days are too few.

    `week` is the number of days after which they are expected to come again; 1: nothing is.
    """
    count = min(_MOST, len(data.slots) // (_EACH * length), _told(data, length) - 1)
    size = float(np.sqrt((rest[data.used] ** 2).mean())) if data.used.any() else 0.0
    if count < 1 or not size:
        return None
    rest = np.where(data.used, np.clip(rest, -_FAR * size, _FAR * size), 0.0)
    border = _border(rest, data, length)
    days = _Calendar.of(data.slots, length, border)
    seen, cube = days.cube(data.used.astype(np.float64), length), days.cube(rest, length)
    went, doubt = _components(cube, count), 0.0
    for _ in range(_ROUNDS):
        courses = _courses(cube, seen, went)
        at = courses[:, :, days.phase]
        left = rest - np.einsum("knt,kt->nt", at, went[:, days.number], optimize=True)
        noise = float((left[data.used] ** 2).mean())
        doubt = max(noise, _LEAST * size**2) * length / _WITNESS
        went = _unit(_went(at * data.used, rest, days, doubt=doubt))
    courses = _courses(cube, seen, went)
    usual = np.zeros((count, week))
    for weekday in range(week):
        own = went[:, days.day % week == weekday]
        usual[:, weekday] = own.sum(axis=1) / (own.shape[1] + 1)
    return Ways(np.ascontiguousarray(single(courses)), usual, border, doubt, _FAR * size)


def _told(data: Data, length: int) -> int:
    """How many numbers of each node and phase its readings tell, two for each.

    As the courses are smoothed, those around count too.
    """
    width = 2 * (length // _SMOOTH) + 1
    return int(data.used.sum() / (data.used.shape[0] * length) * width / _READINGS)


def _border(rest: Array, data: Data, length: int) -> int:
    """Where one day ends and the next begins: at night, when days differ least."""
    phase = data.slots % length
    total = np.bincount(phase, (rest**2).sum(axis=0), minlength=length)
    count = np.bincount(phase, data.used.sum(axis=0), minlength=length)
    unrest = total / np.maximum(count, 1.0)
    around = np.arange(length)[:, None] + np.arange(length // _NIGHT) - length // (2 * _NIGHT)
    return int(np.argmin(unrest[around % length].sum(axis=1)))


def _components(cube: Array, count: int) -> Array:
    """The main components of the days, ways × days."""
    gram = np.einsum("ndp,nep->de", cube, cube, optimize=True)
    return _unit(np.linalg.eigh(gram)[1][:, ::-1][:, :count].T.copy())


def _unit(went: Array) -> Array:
    size = np.sqrt((went**2).mean(axis=1, keepdims=True))
    out: Array = went / np.where(size > 0, size, 1.0)
    return out


def _courses(cube: Array, seen: Array, went: Array) -> Array:
    """Of each node and phase, by least squares over the days, one of them for nothing; smooth."""
    gram = np.einsum("kd,ld,ndp->npkl", went, went, seen, optimize=True) + np.eye(len(went))
    side = np.einsum("kd,ndp->npk", went, cube, optimize=True)
    courses = np.moveaxis(np.linalg.solve(gram, side[..., None])[..., 0], 2, 0)
    reach = courses.shape[2] // _SMOOTH
    kernel = np.zeros(courses.shape[2])
    kernel[np.arange(-reach, reach + 1)] = 1.0 / (2 * reach + 1)
    out: Array = np.fft.irfft(np.fft.rfft(courses) * np.fft.rfft(kernel), n=len(kernel))
    return out


def _went(
    courses: Array, rest: Array, days: _Calendar, *, doubt: float, usual: Array | float = 0.0
) -> Array:
    """How far each day goes each way, ways × days: least squares over its readings.

    Courses, ways × nodes × slots, are zero where nothing was read.
    """
    gram = days.sums(np.einsum("knt,lnt->tkl", courses, courses, optimize=True))
    side = days.sums(np.einsum("knt,nt->tk", courses, rest, optimize=True))
    side += doubt * np.transpose(usual)
    return np.linalg.solve(gram + doubt * np.eye(len(courses)), side[..., None])[..., 0].T
