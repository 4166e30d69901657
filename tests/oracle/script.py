"""A script plays a client of the oracle's controller, and records every step and its answer."""

import json

import policy as policies
import record
from controller import STATS, Call, Controller, Hint, Reply
from exact import END

EXACT_IN_DOUBLES = 2**53
PLAIN = 0
KEPT = 64
"""The name of a call of cost 1, which every vector has."""


def spelt(value):
    """Numbers above 2^53 become strings of digits, because a double would round them."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= EXACT_IN_DOUBLES else str(value)
    if isinstance(value, dict):
        return {key: spelt(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [spelt(inner) for inner in value]
    return value


def line(vector):
    return json.dumps(spelt(vector), separators=(",", ":"), ensure_ascii=True)


def reply_of(told, limits):
    """A reply as written in vectors: an outcome, or an object with hints."""
    if isinstance(told, str):
        told = {"outcome": told}
    told = dict(told)
    outcome, used, hints = told.pop("outcome"), told.pop("used", None), told.pop("hints", None)
    if hints is None:
        # Numbers without a unit count calls, the first limit. A cooldown applies to all limits.
        all_alike = {part: told[part] for part in ("after", "should_retry", "concurrency") if part in told}
        first, rest = Hint(**told), Hint(**all_alike)
        made = [first] + [rest] * (limits - 1)
    else:
        made = [Hint(**hint) for hint in hints]
    return Reply(outcome, made, used)


class Script:
    def __init__(self, name, policy, seed=7, now=0):
        self.name, self.policy, self.seed, self.start = name, policy, seed, now
        self.events, self.described, self.told = [], {}, policy
        whole = policies.whole(policy)
        assert policies.wrong(whole) is None, f"{name}: {policies.wrong(whole)}"
        self.gate = Controller(whole, seed, now)
        self.limits = len(whole["laws"])
        self.described[PLAIN] = Call([1] * self.limits, estimated=True)
        self.now, self.saved, self.outs = now, b"", []

    def digest(self):
        return int.from_bytes(self.gate.record(self.now)[-4:], "little")

    def note(self, *event):
        self.events.append([*event, self.digest()])

    # The steps of a vector.

    def describe(self, name, costs=None, deadline=END, estimated=False):
        costs = costs or [1] * self.limits
        self.described[name] = Call(costs, deadline, estimated)
        flags = ["estimated"] if estimated else []
        self.events.append(["call", name, costs, None if deadline == END else deadline, *flags])
        return name

    def poll(self, now=None, call=PLAIN):
        self.at(now)
        answer = self.gate.poll(self.now, self.described[call])
        if answer[0] == "admit":
            self.outs.append(answer[1])
        self.note("poll", self.now, call, answer)
        return answer

    def settle(self, reply="ok", now=None, permit=None):
        """Settles the oldest call if none is named, or nothing if no call is in flight."""
        self.at(now)
        if not self.outs:
            return
        permit = self.outs[0] if permit is None else permit
        self.outs.remove(permit)
        self.gate.settle(self.now, permit, reply_of(reply, self.limits))
        self.note("settle", self.now, permit, reply)

    def settles(self, count, reply):
        """Settles this many of the calls that are out, or all, from the oldest on."""
        settled, self.outs = self.outs[:count], self.outs[count:]
        for permit in settled:
            self.gate.settle(self.now, permit, reply_of(reply, self.limits))
        self.note("settles", self.now, reply, len(settled))

    def stream(self, reply, then, used):
        """The call that has been out longest is answered now, and says at the end what it used."""
        permit = self.outs.pop(0)
        answered, self.now = self.now, then
        self.gate.settle(answered, permit, reply_of(reply, self.limits), then, used)
        self.note("stream", answered, permit, reply, then, used)

    def retry(self, call=PLAIN, reply="throttled", into=None, now=None):
        """The next attempt's call, under a separate name. `None` if there is none."""
        self.at(now)
        again = self.gate.retry(self.now, self.described[call], reply_of(reply, self.limits))
        into = call if into is None else into
        answer = None
        if again is not None:
            self.described[into] = again
            last = None if again.deadline == END else again.deadline
            answer = [again.not_before, last, again.attempt]
        self.note("retry", self.now, call, reply, into, answer)
        return None if again is None else into

    def why(self, call=PLAIN, now=None):
        self.at(now)
        self.events.append(["why", self.now, call, self.gate.why(self.now, self.described[call])])

    def next_at(self):
        self.events.append(["next", self.now, self.gate.next_at(self.now)])

    def intervals(self, now=None):
        self.at(now)
        self.events.append(["intervals", self.now, self.gate.intervals(self.now)])

    def set_concurrency(self, limit):
        self.gate.set_concurrency(limit)
        self.note("concurrency", self.now, limit)

    def forget(self, calls):
        del self.outs[:calls]
        self.gate.forget(calls)
        self.note("forget", self.now, calls)

    def set_policy(self, policy):
        self.told = policy
        self.gate.set_policy(policies.whole(policy), self.now)
        self.note("policy", self.now, policy)

    def save(self, now=None):
        self.at(now)
        self.saved = self.gate.record(self.now)
        self.note("save", self.now)

    def restore(self, now, away, seed=8, damage=None, policy=None):
        """Continues from the record. If it is rejected, continues with the old state."""
        self.at(now)
        asked = self.told if policy is None else policy
        data, answer = damaged(self.saved, damage), "Ok"
        try:
            permits = self.gate.permits
            self.gate = Controller.restored(policies.whole(asked), seed, data, self.now, away)
            self.told, self.gate.permits = asked, permits
        except record.Rejected as rejected:
            answer = str(rejected)
        self.note("restore", self.now, away, seed, damage, policy, answer)
        return answer

    # Many steps in one, for effects that need many calls.

    def polls(self, call=PLAIN):
        """Polls until no more calls may be sent. Only the first `KEPT` of them end later."""
        permits = []
        while (answer := self.gate.poll(self.now, self.described[call]))[0] == "admit":
            permits.append(answer[1])
        self.outs += permits[:KEPT]
        self.note("polls", self.now, call, [len(permits), answer])

    def calls(self, count, reply="ok", took=0, gap=0, call=PLAIN):
        """Calls one after the other. Each is polled until it is admitted, with a gap after it."""
        admitted, first = 0, self.now
        while admitted < count:
            answer = self.gate.poll(self.now, self.described[call])
            if answer[0] == "wait":
                self.now = answer[1]
            elif answer[0] == "admit":
                self.after(took)
                self.gate.settle(self.now, answer[1], reply_of(reply, self.limits))
                self.after(gap)
                admitted += 1
            else:
                break
        self.note("calls", first, call, reply, took, gap, count, [admitted, self.now])

    def queue(self, count, callers, work, reply="ok"):
        """Calls of several callers, who wait in one queue for a server that processes one call
        at a time."""
        admitted, first, free, line = 0, self.now, self.now, []
        while admitted < count:
            while len(line) < callers and admitted + len(line) < count:
                answer = self.gate.poll(self.now, self.described[PLAIN])
                if answer[0] != "admit":
                    break
                free = min(max(free, self.now) + work, END)
                line.append((free, answer[1]))
            if not line:
                break
            done, permit = line.pop(0)
            self.now = max(self.now, done)
            self.gate.settle(self.now, permit, reply_of(reply, self.limits))
            admitted += 1
        self.note("queue", first, reply, callers, work, count, [admitted, self.now])

    def retries(self, count, call=PLAIN, reply="failed", into=1, now=None):
        """The call after this many attempts that all completed at once."""
        self.at(now)
        self.described[into] = self.described[call]
        for _ in range(count):
            again = self.gate.retry(self.now, self.described[into], reply_of(reply, self.limits))
            if again is None:
                break
            self.described[into] = again
        last = self.described[into]
        self.note("retries", self.now, call, reply, into, count, [last.not_before, last.attempt])

    # Actions of clients.

    def at(self, now):
        self.now = self.now if now is None else now

    def after(self, nanos):
        self.now = min(self.now + nanos, END)

    def admit(self, call=PLAIN, most=20):
        """Polls and waits as told, until the call is admitted or rejected."""
        for _ in range(most):
            answer = self.poll(call=call)
            if answer[0] != "wait":
                return answer
            self.now = answer[1]
        return answer

    def call(self, reply="ok", took=0, call=PLAIN, now=None):
        """One call, from its first poll to its completion."""
        self.at(now)
        if self.admit(call)[0] == "admit":
            self.after(took)
            self.settle(reply, permit=self.outs[-1])

    def vector(self):
        return {
            "name": self.name,
            "kind": "controller",
            "policy": self.policy,
            "seed": self.seed,
            "now": self.start,
            "events": self.events,
            "stats": [self.gate.stats[name] for name in STATS],
        }


def damaged(data, damage):
    """A record with `damage`: flipped bits, truncation, or inserted bytes."""
    data = bytearray(data)
    for what, *numbers in damage or []:
        if what == "flip":
            data[numbers[0] // 8] ^= 1 << numbers[0] % 8
        elif what == "cut":
            del data[numbers[0] :]
        elif what == "grow":
            data += bytes(numbers[0])
        else:  # Inserted, with a new checksum: a forged record.
            place, *new = numbers
            data[place : place + len(new)] = bytes(new)
            data[-4:] = record.fnv1a(data[:-4]).to_bytes(4, "little")
    return bytes(data)
