"""Clients that every law must handle. Each script covers one class of bugs or an ordinary day."""

from exact import DAY, END, HOUR, MS, SECOND, YEAR
from families.tools import HOSTILE, Dice

OUTCOMES = ["ok", "ok", "ok", "ok", "ok", "ok", "throttled", "busy", "failed", "abandoned"]


def steady(script):
    for number in range(12):
        script.call("throttled" if number == 7 else "ok", took=20 * MS)
    script.intervals()


def growing(script):
    for _ in range(14):
        script.poll()
        script.admit()
        script.after(5 * MS)
        script.settle()


def throttled_for_ever(script):
    for _ in range(7):
        script.call("throttled", took=MS)
    script.why()
    script.next_at()


def burst_of_failures(script):
    script.admit()
    script.after(MS)
    for _ in range(6):
        script.poll()
    for outcome in ["throttled", "throttled", "busy", "failed", "ok", "throttled"]:
        if script.outs:
            script.after(MS)
            script.settle(outcome)
    script.admit()


def late_permits(script):
    for _ in range(3):
        script.admit()
    script.settle("throttled", permit=script.outs[-1] if script.outs else None)
    script.after(HOUR)
    script.admit()
    script.settle({"outcome": "throttled", "after": MS})
    script.admit()


def lost_calls(script):
    script.set_concurrency(2)
    for _ in range(2):
        script.admit()
        script.admit()
        script.poll()
        script.next_at()
        script.why()
        script.after(SECOND)
        script.forget(2)
    script.poll()


def time_backwards(script):
    script.after(10 * SECOND)
    script.call("ok", took=30 * MS)
    script.call("throttled", took=30 * MS)
    for back in (5 * SECOND, SECOND, 1):
        script.poll(max(0, script.now - back))
        if script.outs:
            script.settle("ok", now=max(0, script.now - MS))
    script.admit()
    script.next_at()


def clock_at_max(script):
    script.now = END - 3 * SECOND
    script.call("throttled", took=MS)
    script.call("failed", took=MS)
    script.poll()
    for now in (END - 1, END):
        script.poll(now)
        if script.outs:
            script.settle("throttled")
        script.poll()
    script.why()
    script.next_at()
    script.save()
    script.restore(now=END, away=0)
    script.poll()


def polled_too_often(script):
    script.call("ok", took=MS)
    script.call("throttled", took=MS)
    for _ in range(5):
        script.poll()
    answer = script.poll(script.now + 1)
    if answer[0] == "wait":
        script.poll(answer[1] - 1)
        script.poll(answer[1])


def costs(script):
    heavy = [
        script.describe(index + 1, [cost] * script.limits)
        for index, cost in enumerate((0, 2, 2**32 - 1))
    ]
    for call in [0, *heavy, *heavy]:
        script.admit(call, most=2)
    for outcome, used in [("ok", 3), ("throttled", 0), ("ok", 2**32 - 1), ("abandoned", 5)]:
        if script.outs:
            script.settle({"outcome": outcome, "used": [used] * script.limits})
    script.admit(most=2)


def reboot(script):
    script.after(3 * HOUR)
    for outcome in ["ok", "throttled", "ok"]:
        script.call(outcome, took=40 * MS)
    script.save()
    # The clock starts again, and the time away is longer than it has run.
    script.restore(now=5 * SECOND, away=90 * SECOND)
    script.admit()
    script.save()
    script.restore(now=20 * SECOND, away=MS, seed=9)
    script.settle("ok")
    script.call("ok", took=40 * MS)


def damaged_records(script):
    script.call("throttled", took=MS)
    script.save()
    for damage in (
        [["flip", 3]],
        [["flip", 300]],
        [["cut", 40]],
        [["cut", 0]],
        [["grow", 1]],
        [["put", 0, 2]],
    ):
        script.restore(now=script.now, away=0, damage=damage)
    script.restore(now=script.now, away=0, damage=[["put", 1, 9]])
    script.restore(now=script.now, away=0, damage=[["put", 23 + 25, 99]])
    script.restore(now=script.now, away=SECOND)
    script.poll()


def another_policy(script):
    script.call("throttled", took=MS)
    script.save()
    script.admit(most=2)
    other = {"laws": [{"law": "fixed", "quota": [3, SECOND, 2]}] * script.limits}
    script.restore(now=script.now, away=0, policy=other)
    script.set_policy(other)
    if script.outs:
        script.settle({"outcome": "throttled", "used": [4] * script.limits})
    script.admit(most=2)
    script.set_policy(script.policy)
    script.admit(most=2)
    if script.outs:
        script.settle("ok")


def deadlines(script):
    script.call("throttled", took=MS)
    soon = script.describe(1, deadline=script.now + 5 * MS)
    later = script.describe(2, deadline=script.now + HOUR)
    script.poll(call=soon)
    script.why(soon)
    script.poll(call=later)
    script.why(later)
    script.poll(script.now + 6 * MS, call=soon)


def attempts(script):
    call = 0
    for turn in range(5):
        if script.admit(call, most=3)[0] != "admit":
            break
        script.after(MS)
        script.settle("throttled" if turn % 2 else "failed")
        if script.retry(call, "failed", into=1) is None:
            break
        call = 1
    script.retry(0, "ok", into=2)
    script.retry(0, {"outcome": "throttled", "no_retry": True}, into=2)


def outage(script):
    for _ in range(4):
        script.call("ok", took=50 * MS)
    for _ in range(6):
        script.call("failed", took=50 * MS)
    script.intervals()
    for _ in range(4):
        script.call("ok", took=50 * MS)
    script.intervals()


def silence(script):
    script.call("ok", took=MS)
    script.call("throttled", took=MS)
    script.admit()
    script.after(MS)
    script.settle("ok")
    for cooldown in (HOUR, DAY, YEAR):
        script.after(cooldown)
        script.intervals()
        for _ in range(3):
            script.poll()
        while script.outs:
            script.settle("ok")


def cooled_by_hints(script):
    for request in ({"after": 2 * SECOND}, {"after": 2 * HOUR}, {"left": 0, "reset": 5 * SECOND}):
        script.call({"outcome": "throttled", **request}, took=MS)
    script.poll()
    script.why()
    script.next_at()
    script.call({"outcome": "ok", "after": HOUR, "left": 3}, took=MS)
    script.admit()


def exhausted(script):
    script.call("exhausted", took=MS)
    script.intervals()
    script.retry(0, "exhausted", into=1)
    for used_up in ({"after": 2 * HOUR}, {"left": 0, "reset": DAY}, {"used": [3] * script.limits}):
        reply = {"outcome": "exhausted", **used_up}
        script.call(reply, took=MS)
        script.retry(0, reply, into=1)
        script.poll()
        script.why()
    script.intervals()


def told_beyond_the_deadline(script):
    """The wait is longer than the call's time, regardless of the ceiling."""
    told = {"outcome": "throttled", "after": 2 * DAY}
    for call, deadline in enumerate((10 * SECOND, 30 * HOUR, 60 * HOUR), 1):
        script.describe(call, deadline=script.now + deadline)
        script.admit(call)
        if script.outs:
            script.settle(told)
        script.retry(call, told, into=9)
    free = script.describe(4, [0] * script.limits, deadline=script.now + 30 * HOUR)
    script.retry(free, told, into=9)


def too_many_in_flight(script):
    for number in range(12):
        concurrency = {"outcome": "throttled", "concurrency": True}
        script.call(concurrency if number in (3, 4, 9) else "ok", took=20 * MS)
    script.intervals()
    for _ in range(4):
        script.admit(most=2)
    script.settle({"outcome": "throttled", "concurrency": True, "after": SECOND, "left": 0})
    script.settle({"outcome": "busy", "concurrency": True})
    script.settle({"outcome": "ok", "concurrency": True})
    script.poll()
    script.why()
    script.intervals()


def hostile(index):
    def client(script):
        name, request = HOSTILE[index]
        del name
        for outcome in ("ok", "throttled", "busy"):
            script.call({"outcome": outcome, **request}, took=MS)
            script.next_at()
        script.poll()

    return client


def any_day(seed):
    def client(script):
        dice = Dice(seed)
        call = 0
        for _ in range(16):
            script.after(dice.below(400) * MS)
            if not script.outs or dice.below(3) > 0:
                script.poll(call=call)
            elif dice.below(2):
                outcome = dice.of(OUTCOMES)
                script.settle(outcome, permit=dice.of(script.outs))
                call = script.retry(call, outcome, into=1) or 0
            else:
                request = {"outcome": dice.of(OUTCOMES), "left": dice.below(40)}
                script.settle(request, permit=dice.of(script.outs))
        script.intervals()

    return client


CLIENTS = [
    ("a steady client", [], steady),
    ("a client that waits for the law", [], growing),
    ("rejected for ever", ["ThrottledForEver"], throttled_for_ever),
    ("a burst of failures", ["BurstOfFailures"], burst_of_failures),
    ("permits settled late, or never", ["LatePermit"], late_permits),
    ("calls that are lost", ["LostCalls"], lost_calls),
    ("a clock that steps back", ["TimeBackwards"], time_backwards),
    ("the end of time", ["ClockAtMax"], clock_at_max),
    ("polls without need", ["PollTooOften"], polled_too_often),
    ("costs of nothing and of too much", ["HugeCost", "ZeroCost", "CostCorrected"], costs),
    ("a reboot", ["RestoreAfterReboot"], reboot),
    ("damaged records", ["DamagedRecord"], damaged_records),
    ("a policy that changes", ["PolicyChanges"], another_policy),
    ("deadlines", ["Deadline"], deadlines),
    ("retries", ["Retries"], attempts),
    ("an outage", ["Outage"], outage),
    ("hours, days and years of silence", ["Silence"], silence),
    ("cooldowns that the server asked for", ["ServerCooldown"], cooled_by_hints),
    *(
        (f"a server that says {request[0]}", ["HostileHint"], hostile(index))
        for index, request in enumerate(HOSTILE)
    ),
    *((f"any day, {seed}", [], any_day(seed)) for seed in range(4)),
    ("a quota that is exhausted", ["Exhausted"], exhausted),
    ("waits beyond the deadline", ["Deadline", "ServerCooldown"], told_beyond_the_deadline),
    ("too many calls in flight", ["BurstOfFailures"], too_many_in_flight),
]
