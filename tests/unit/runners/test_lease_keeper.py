"""When a heartbeat is due, and until when a run may live."""

from runners.daemon.lease_keeper import LeaseKeeper
from runners.protocol import LeaseLost, Order, Registered, SiteUnreachable
from tests.unit.runners.fake_port import FakePort, assignment


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def keeper(port, clock):
    return LeaseKeeper(port, assignment("0" * 64), Registered(1, 15.0, 60.0), clock.now, clock)


def test_it_beats_at_once_and_then_at_each_interval():
    port, clock = FakePort(), Clock()
    lease = keeper(port, clock)
    assert lease.beat_if_due("build", 0.0) == Order(keep=True)
    assert lease.beat_if_due("build", 0.0) is None
    assert lease.seconds_to_next() == 15.0
    clock.now += 15.0
    assert lease.beat_if_due("time", 0.5) == Order(keep=True)
    assert port.beats == [("build", 0.0), ("time", 0.5)]


def test_it_counts_the_deadline_from_the_sending():
    port, clock = FakePort(), Clock()
    lease = keeper(port, clock)

    def slow_answer(*_):
        clock.now += 20.0
        return Order(keep=True)

    port.heartbeat = slow_answer
    lease.beat_if_due("build", 0.0)
    assert lease.deadline == 1000.0 + 55.0
    clock.now = 1054.9
    assert not lease.is_over
    clock.now = 1055.0
    assert lease.is_over


def test_it_tries_sooner_after_a_lost_answer_and_keeps_the_deadline():
    port, clock = FakePort(), Clock()
    lease = keeper(port, clock)
    lease.beat_if_due("build", 0.0)
    port.heartbeat = raiser(SiteUnreachable("down"))
    clock.now += 15.0
    assert lease.beat_if_due("build", 0.0) is None
    assert lease.seconds_to_next() == 5.0
    assert lease.deadline == 1055.0


def test_it_does_not_lengthen_a_lease_that_must_stop():
    port, clock = FakePort(order=Order(keep=False, reason="cancelled")), Clock()
    lease = keeper(port, clock)
    clock.now += 10.0
    assert lease.beat_if_due("build", 0.0) == Order(keep=False, reason="cancelled")
    assert lease.deadline == 1055.0
    port.heartbeat = raiser(LeaseLost("it has ended"))
    clock.now += 15.0
    assert lease.beat_if_due("build", 0.0) == Order(keep=False, reason="lost")


def test_it_hurries_but_never_chatters():
    port, clock = FakePort(), Clock()
    lease = keeper(port, clock)
    lease.beat_if_due("build", 0.0)
    lease.hurry()
    assert lease.seconds_to_next() == 2.0
    clock.now += 5.0
    lease.hurry()
    assert lease.seconds_to_next() == 0.0


def raiser(error):
    def heartbeat(*_):
        raise error

    return heartbeat
