"""Readings with workers, and what is asked of a cluster, where the workers are this process."""

from types import SimpleNamespace

import numpy as np
import pytest

from fieldmend.core import afar, cluster, problem
from fieldmend.core.afar import Afar
from fieldmend.core.cluster import PARTS, TRIES, Cluster, Held
from fieldmend.core.problem import Scaling

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


class Here:
    """A cluster of one worker in this process: what is submitted is done at once."""

    def __init__(self, parts=3):
        self.homes, self.closed = ["w"] * parts, 0

    def hold(self, slots):
        self.homes = self.homes[:slots]
        return self

    def submit(self, task, *given, part):
        assert 0 <= part < len(self.homes)
        return task(*given)

    def gather(self, made):
        return list(made)

    def groups(self):
        return [list(range(len(self.homes)))]

    def delayed(self, parts):
        return list(dask.compute(*parts, scheduler="synchronous"))

    def close(self):
        self.closed += 1


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(23, 5)) * np.arange(1.0, 6.0) + 7
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.fixture
def here(monkeypatch):
    one = Here()
    monkeypatch.setattr(afar, "Cluster", lambda client: one)
    return one


@pytest.mark.parametrize("chunks", [(4, 2), (23, 5), (1, 5)])
@pytest.mark.parametrize("masked", [False, True])
def test_readings_are_read_checked_and_scaled_where_they_lie(X, here, chunks, masked):
    mask = np.random.default_rng(1).random(X.shape) < 0.9 if masked else None
    seen = ~np.isnan(X) if mask is None else ~np.isnan(X) & mask
    given = da.from_array(mask, chunks=chunks) if masked else None
    found = Afar.of(da.from_array(X, chunks=chunks), given, "client")
    assert (found.shape, found.dtype) == (X.shape, X.dtype)
    np.testing.assert_array_equal(np.asarray(found.observed), seen)
    np.testing.assert_array_equal(found[3:9], X[3:9])
    for center, scale in ((True, True), (True, False), (False, True), (False, False)):
        scaling = found.scaling(center=center, scale=scale)
        wanted = Scaling.of(X, seen, center=center, scale=scale)
        np.testing.assert_allclose(scaling.center, wanted.center)
        np.testing.assert_allclose(scaling.scale, wanted.scale)
        laid = np.asarray(found.scaled(scaling))
        np.testing.assert_allclose(laid, wanted.apply(np.nan_to_num(X), seen))
    found.close()
    assert here.closed == 1


def test_of_very_long_records_the_same_slots_are_looked_at(X, here, monkeypatch):
    monkeypatch.setattr(problem, "_ENOUGH", 7)  # every third slot
    monkeypatch.setattr(problem, "_AT_ONCE", 30)  # two or three nodes at a time
    found = Afar.of(da.from_array(X, chunks=(6, 5)), None, "client")
    wanted = Scaling.of(X, ~np.isnan(X), center=True, scale=True)
    scaling = found.scaling(center=True, scale=True)
    np.testing.assert_allclose(scaling.center, wanted.center)
    np.testing.assert_allclose(scaling.scale, wanted.scale)
    other = Scaling.of(X[1:], ~np.isnan(X[1:]), center=True, scale=True)
    assert (scaling.center != other.center).any()  # the slots between are others


def test_a_part_without_readings_is_no_empty_record(X, here):
    X[8:16] = np.nan  # all of the second of three parts
    found = Afar.of(da.from_array(X, chunks=(4, 5)), None, "client")
    assert np.isnan(found[9:12]).all()
    np.testing.assert_array_equal(np.asarray(found.observed), ~np.isnan(X))
    with pytest.raises(ValueError, match="nothing to decompose"):
        Afar.of(da.from_array(np.full((9, 2), np.nan), chunks=(3, 2)), None, "client")


@pytest.mark.parametrize(("kind", "wanted"), [("f4", "f4"), ("f8", "f8"), ("i4", "f8")])
def test_single_precision_stays_single(here, kind, wanted):
    X = da.from_array(np.ones((6, 2), dtype=kind), chunks=(2, 2))
    assert Afar.of(X, None, "client").dtype == np.dtype(wanted)


def test_what_does_not_lie_with_workers_is_refused(X, here):
    for other in (X, da.from_array(X[0], chunks=2), da.from_array(X[None], chunks=5)):
        with pytest.raises(ValueError, match="is for a Dask array"):
            Afar.of(other, None, "client")
    laid = da.from_array(X, chunks=(4, 5))
    with pytest.raises(ValueError, match="of the shape of X"):
        Afar.of(laid, np.ones((23, 4), dtype=bool), "client")
    with pytest.raises(ValueError, match="no entry of X is observed"):
        Afar.of(laid, np.zeros(X.shape, dtype=bool), "client")
    one = np.zeros(X.shape, dtype=bool)
    one[tuple(np.argwhere(~np.isnan(X))[0])] = True
    assert Afar.of(laid, one, "client").shape == X.shape  # one reading is enough


# What is asked of Dask


class Client:
    """Does at once what is submitted, and writes down where."""

    def __init__(self, threads):
        self.threads, self.sent, self.released, self.status = threads, [], 0, "running"

    def nthreads(self):
        return self.threads

    def submit(self, task, *given, **options):
        self.sent.append(options)
        made = task(*(g.made if isinstance(g, SimpleNamespace) else g for g in given))
        return SimpleNamespace(made=made, result=lambda: made, release=self._release)

    def gather(self, futures):
        return [one.made for one in futures]

    def _release(self):
        self.released += 1


def held_by(threads, slots=100):
    one = object.__new__(Cluster)
    one._client, one._own = Client(threads), False
    one._killed, one._lost = KeyError, OSError
    return one, one.hold(slots)


def test_every_thread_of_a_worker_holds_parts_and_they_lie_together():
    _, held = held_by({"b": 1, "a": 2})
    assert held.homes == ["a"] * (2 * PARTS) + ["b"] * PARTS
    assert held.groups() == [list(range(2 * PARTS)), list(range(2 * PARTS, 3 * PARTS))]
    assert held_by({"b": 1, "a": 2}, slots=2)[1].homes == ["a", "a"]
    assert held_by({})[1].homes == [""]


def test_a_part_is_sent_to_its_worker_and_may_go_elsewhere_if_that_dies():
    one, held = held_by({"a": 1, "b": 1})
    made = [held.submit(len, "xyz", part=part) for part in (0, PARTS)]
    assert held.gather(made) == [3, 3]
    for sent, home in zip(one._client.sent, "ab", strict=True):
        assert sent == {"pure": False, "retries": TRIES, "workers": [home],
                        "allow_other_workers": True}  # fmt: skip
    Held(one, [""]).submit(len, "x", part=0)
    assert one._client.sent[-1] == {"pure": False, "retries": TRIES}


def test_a_cluster_that_was_given_is_left_open():
    one, _ = held_by({"a": 1})
    one.close()  # the client has no close: it is the caller's


def test_what_goes_wrong_with_dask_is_said_in_words():
    one, held = held_by({"a": 1})

    def failing(error):
        one._client.gather = lambda _: (_ for _ in ()).throw(error)
        return held.gather([])

    with pytest.raises(cluster.WorkersDied, match=f"{TRIES} times"):
        failing(KeyError("worker"))
    with pytest.raises(OSError, match="disk"):  # the scheduler answers: it is something else
        failing(OSError("disk"))
    one._client.status = "closed"
    with pytest.raises(cluster.SchedulerLost, match=r"gone \(OSError\)"):
        failing(OSError("disk"))


@pytest.mark.parametrize(("threads", "size"), [({}, 2), ({"a": 1}, 2), ({"a": 3, "b": 2}, 5)])
def test_pieces_are_taken_two_for_each_thread_ahead(threads, size):
    one, _ = held_by(threads)
    assert one.size == size
    taken = []

    def pieces():
        for number in range(40):
            taken.append(number)
            yield number

    done = one.ordered(abs, pieces())
    assert next(done) == (0, 0)
    assert len(taken) == 2 * size + 1
    assert next(done) == (1, 1)
    assert len(taken) == 2 * size + 2
    done.close()
    assert one._client.released == 2 * size  # those that nobody will ask for
    assert [made for _, made in held_by(threads)[0].ordered(abs, [-3, 2])] == [3, 2]
