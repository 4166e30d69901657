"""The controller: all gates are asked before any is charged, and what comes back is taught."""

import record
from backoff import Backoff
from chance import Chance
from exact import END, U16, U32, U64, within
from gates import Budget, Calls, Hold
from pace import Never, Pace
from policy import law_of

# The longest record of a law, and a byte for which law it is.
LAW_BYTES = 1 + 105
GATES_BYTES = 8 + 9
PACE_BYTES = 24 + 1  # And whether it was what a call waited for.
PUSHBACK = ("throttled", "busy")
RANKS = ["over-limit", "budget", "too-big", "never"]
STATS = [
    "gone", "waits", "waited", "full", "refused", "ok", "throttled", "busy", "failed", "abandoned",
    "late", "slower", "faster", "retries",
]  # fmt: skip


class Hint:
    """What the server said about a limit."""

    def __init__(self, after=None, left=None, reset=None, limit=None, period=None, no_retry=False):
        self.after, self.left, self.reset = after, left, reset
        self.limit, self.period, self.no_retry = limit, period, no_retry

    def pause(self):
        return self.reset if self.after is None and self.left == 0 else self.after

    def is_used_up(self, cost):
        return self.left is not None and self.left < cost


class Reply:
    def __init__(self, outcome, hints, used):
        self.outcome, self.hints, self.used = outcome, hints, used


class Ask:
    def __init__(self, costs, deadline=END):
        self.costs, self.deadline, self.attempt = costs, deadline, 0
        self.not_before = self.rung = self.first_failed = 0


class Sample:
    """What a law is told of a call that came back."""

    def __init__(self, **told):
        vars(self).update(told)


class Limit:
    def __init__(self, config, now):
        self.config, self.law, self.pace = config, law_of(config, now), Pace(now)
        self.pressed = False
        self.cuts = self.began = 0  # Congestion events, and those before this law.

    def due(self, now, cost, in_flight):
        if cost == 0:
            return 0
        refusals, due = [], 0
        try:
            due = self.pace.due(now, cost, self.law.quota())
        except Never as never:
            refusals.append(never.reason)
        try:
            wait = self.law.check(now, in_flight)
            # A law whose wait is over has nothing to say, also where it ends just now.
            due = max(due, wait if wait > now else 0)
        except Never as never:
            refusals.append(never.reason)
        if refusals:
            raise Never(max(refusals, key=RANKS.index))
        return due

    def is_due_at(self, now, cost, in_flight, instant):
        try:
            return self.due(now, cost, in_flight) == instant
        except Never:
            return False


class Controller:
    def __init__(self, policy, seed, now):
        self.policy = policy
        self.limits = [Limit(config, now) for config in policy["laws"]]
        self.hold, self.calls = Hold(), Calls(now, seed)
        self.budget = Budget(policy["budget"]) if policy["budget"] else None
        self.chance = Chance(seed)
        self.stats = dict.fromkeys(STATS, 0)
        self.permits = {}  # Those of all controllers of a script, in the order in which they came.

    def count(self, what, by=1):
        self.stats[what] = within(self.stats[what] + by, U64 if what == "waited" else U32)

    # Asking.

    def in_flight(self):
        return self.calls.count()

    def open_window(self, now, costs):
        """The policy's window, where no law of a limit that the call costs has a narrower one."""
        most, lease = self.policy["window"]
        windows = [limit.law.window(now) for limit, cost in zip(self.limits, costs) if cost > 0]
        return min([most] + [window for window in windows if window is not None]), lease

    def check(self, now, ask):
        due, refusals = max(self.hold.until, ask.not_before), []
        for limit, cost in zip(self.limits, ask.costs):
            try:
                due = max(due, limit.due(now, cost, self.in_flight()))
            except Never as never:
                refusals.append(never.reason)
        if ask.attempt > 0 and self.budget and not self.budget.allows():
            refusals.append("budget")
        if refusals:
            return [max(refusals, key=RANKS.index)]
        if max(due, now) > ask.deadline:
            return ["late", max(due, now)]
        if self.calls.is_full(now, self.open_window(now, ask.costs)):
            return ["full"]
        return ["wait", due] if due > now else ["go"]

    def poll(self, now, ask):
        verdict = self.check(now, ask)
        kind = verdict[0]
        if kind == "go":
            return ["go", self.leave(now, ask)]
        if kind in ("wait", "late"):
            for limit, cost in zip(self.limits, ask.costs):
                limit.pressed |= limit.is_due_at(now, cost, self.in_flight(), verdict[1])
        if kind == "wait":
            self.count("waits")
            self.count("waited", verdict[1] - now)
        elif kind == "full":
            most, _ = self.open_window(now, ask.costs)
            for limit, cost in zip(self.limits, ask.costs):
                window = limit.law.window(now)
                limit.pressed |= cost > 0 and window is not None and window <= most
            self.count("full")
        else:
            self.count("refused")
        return verdict

    def leave(self, now, ask):
        parts = [
            Sample(cost=cost, cuts=limit.cuts, paced=limit.pressed)
            for limit, cost in zip(self.limits, ask.costs)
        ]
        period = self.calls.add(now, self.policy["window"])
        for limit, cost in zip(self.limits, ask.costs):
            if cost > 0:
                limit.pressed = False
                limit.pace.charge_late(now, limit.law.late(now), cost, limit.law.quota())
                limit.law.released(limit.pace, now, cost, self.chance)
        if ask.attempt > 0 and self.budget:
            self.budget.spend()
        self.count("gone")
        number, self.permits[len(self.permits)] = len(self.permits), (now, period, parts, ask.attempt)
        return number

    # Settling.

    def settle(self, now, permit, reply):
        sent, period, parts, attempt = self.permits[permit]
        self.count(reply.outcome)
        counts = self.calls.counts(period)
        if reply.outcome != "abandoned":
            if counts:
                self.learn(now, sent, parts, attempt, reply)
            else:
                self.count("late")
            self.cool_down(now, parts, reply)
        self.calls.remove(period)

    def learn(self, now, sent, parts, attempt, reply):
        if reply.used is not None:
            for limit, part, used in zip(self.limits, parts, reply.used):
                # Of a law that has gone meanwhile there is nothing to correct.
                if (part.cuts - limit.began) % 2**16 <= (limit.cuts - limit.began) % 2**16:
                    limit.pace.correct(now - limit.law.late(now), part.cost, used, limit.law.quota())
                    limit.law.corrected(now, part.cost, used)
        self.teach(now, sent, parts, attempt, reply)
        if reply.outcome == "ok" and self.budget:
            self.budget.earn()

    def cool_down(self, now, parts, reply):
        if reply.outcome == "ok":
            return
        pauses = [hint.pause() for hint, part in zip(reply.hints, parts) if part.cost > 0]
        pauses = [pause for pause in pauses if pause is not None]
        if pauses:
            self.hold.raise_to(now, max(pauses), self.policy["hold"], self.chance)

    def teach(self, now, sent, parts, attempt, reply):
        blamed = [hint.is_used_up(part.cost) for hint, part in zip(reply.hints, parts)]
        known = len(parts) > 1 and reply.outcome == "throttled" and any(blamed)
        for index, (limit, part, hint) in enumerate(zip(self.limits, parts, reply.hints)):
            if part.cost == 0 or (known and not blamed[index]):
                continue
            limit.pace.drain(now - limit.law.late(now), limit.law.quota())
            sample = Sample(
                now=now,
                sent=sent,
                cost=part.cost if reply.used is None else max(1, reply.used[index]),
                outcome=reply.outcome,
                hint=hint,
                fresh=part.cuts == limit.cuts,
                paced=part.paced,
                attempt=attempt,
                in_flight=self.in_flight() - 1,
                ceiling=self.policy["hold"][0],
            )
            moved = limit.law.observe(limit.pace, sample, self.chance)
            if moved is not None:
                self.count(moved)
            if moved == "slower":
                limit.cuts = (limit.cuts + 1) % 2**16

    def retry(self, now, ask, reply):
        unwanted = any(hint.no_retry for hint in reply.hints)
        if reply.outcome in ("ok", "abandoned") or unwanted:
            return None
        attempt, most = within(ask.attempt + 1, U16), self.policy["attempts"]
        if most is not None and attempt >= most:
            return None
        again = Ask(ask.costs, ask.deadline)
        delay = 0
        if self.policy["backoff"]:
            schedule = Backoff(*self.policy["backoff"])
            again.rung = schedule.climb(ask.rung, self.chance)
            delay = schedule.delay(again.rung, self.chance)
        again.attempt, again.not_before = attempt, within(now + delay)
        again.first_failed = now if ask.attempt == 0 else ask.first_failed
        elapsed = self.policy["elapsed"]
        last = END if elapsed is None else within(again.first_failed + elapsed)
        again.deadline = min(ask.deadline, last)
        if self.check(now, again)[0] == "late":
            return None
        self.count("retries")
        return again

    # Looking.

    def why(self, now, ask):
        verdict = self.check(now, ask)
        if verdict[0] in ("wait", "late"):
            until = verdict[1]
            dues = [
                limit.is_due_at(now, cost, self.in_flight(), until)
                for limit, cost in zip(self.limits, ask.costs)
            ]
            if until > now and any(dues):
                return "pace"
            return "hold" if until > now else None
        return {"go": None, "full": "window", "budget": "budget"}.get(verdict[0], "pace")

    def next_at(self, now):
        due, helps = self.hold.until, True
        for limit in self.limits:
            try:
                due = max(due, limit.due(0, 1, self.in_flight()))
            except Never as never:
                helps &= never.reason == "over-limit"
        instants = [due] if helps and due > 0 else []
        room = self.has_room_at(now)
        return max(instants + ([] if room is None else [room]), default=None)

    def has_room_at(self, now):
        """When one more call may be in flight: for each window, as a lease ends or the law opens."""
        most, lease = self.policy["window"]
        instants = [self.calls.ready_at(self.policy["window"])]
        for limit in self.limits:
            start = now
            while (window := limit.law.window(start)) is not None:
                ended = self.calls.ready_at((min(most, window), lease))
                wider = limit.law.widens_at(start)
                if ended is None or wider is None or wider >= ended:
                    instants.append(ended)
                    break
                start = wider
            if start != now:
                instants.append(start)
        return max((instant for instant in instants if instant is not None), default=None)

    def intervals(self, now):
        return [limit.law.interval(now) for limit in self.limits]

    # What is set while it runs.

    def set_policy(self, policy, now):
        for index, config in enumerate(policy["laws"]):
            if self.limits[index].config != config:
                began = (self.limits[index].cuts + 1) % 2**16
                self.limits[index] = Limit(config, now)
                self.limits[index].cuts = self.limits[index].began = began
        if self.policy["budget"] != policy["budget"]:
            self.budget = Budget(policy["budget"]) if policy["budget"] else None
        self.set_window(policy["window"], now)
        self.policy = policy

    def set_window(self, window, now):
        if window[1] != self.policy["window"][1]:
            self.calls.renew(now, self.policy["window"][1])
        self.policy = {**self.policy, "window": window}

    # The record.

    def record(self, now):
        def write(out):
            out.instant(self.hold.until)
            saved = self.budget.saved if self.budget else 0
            out.variant(
                9, self.budget is not None, lambda out: out.u64(saved) if self.budget else None
            )
            for limit in self.limits:
                limit.pace.write(out, limit.law.quota(), now)
                out.u8(limit.pressed)
                out.variant(LAW_BYTES, limit.law.TAG, limit.law.write)

        return record.seal(len(self.limits), write, now)

    @classmethod
    def restored(cls, policy, seed, data, now, away):
        made = cls(policy, seed, now)
        length = 2 + GATES_BYTES + len(made.limits) * (PACE_BYTES + LAW_BYTES) + 4
        source = record.unseal(data, len(made.limits), length, now, away)
        made.hold.until = source.instant()
        saved = source.variant(9, {0: lambda source: None, 1: lambda source: source.u64()})
        if made.budget and saved is not None:
            made.budget.saved = min(saved, made.budget.most)
        for limit in made.limits:
            level = limit.pace.read(source)
            limit.pressed = source.flag()
            source.variant(LAW_BYTES, {limit.law.TAG: limit.law.read})
            limit.pace.pour_again(level, limit.law.quota())
            limit.pace.away(source.before_the_clock, limit.law.quota())
        return made
