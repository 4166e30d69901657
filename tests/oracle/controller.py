"""The controller: checks all gates before it charges any, and passes results to the laws."""

import record
from backoff import Backoff
from chance import Chance
from exact import END, SECOND, U16, U32, U64, since, within
from gates import RetryBudget, Cooldown
from pacing import Never, Pacing, lately
from policy import law_of

# The longest record of a law, and a byte for which law it is.
LAW_BYTES = 1 + 150
GATES_BYTES = 8 + 9
PACING_BYTES = 16 + 1  # And whether a call waited for it.
RANKS = ["over-limit", "retry_budget", "too-big", "never"]
STATS = [
    "admitted", "waits", "waited", "full", "rejected", "ok", "throttled", "busy", "failed", "abandoned",
    "exhausted", "slower", "faster", "retries",
]  # fmt: skip


class Hint:
    def __init__(self, after=None, left=None, reset=None, limit=None, period=None, should_retry=None, concurrency=False):
        self.after, self.left, self.reset = after, left, reset
        self.limit, self.period = limit, period
        self.should_retry, self.concurrency = should_retry, concurrency

    def cooldown(self):
        if self.after is None and self.left == 0 and self.reset is not None and self.reset > SECOND:
            return self.reset
        return self.after

    def is_used_up(self, cost):
        return self.left is not None and self.left < cost


class Reply:
    def __init__(self, outcome, hints, used):
        self.outcome, self.hints, self.used = outcome, hints, used


class Call:
    def __init__(self, costs, deadline=END, estimated=False):
        self.costs, self.deadline, self.attempt, self.estimated = costs, deadline, 0, estimated
        self.not_before = self.rung = self.first_failed = 0

    def is_unstated(self, index):
        """Estimated costs of 0 and 1 of limits other than the first are not known before the call."""
        return index > 0 and self.estimated and self.costs[index] <= 1


class Sample:
    """What a law gets to know about a settled call."""

    def __init__(self, **told):
        vars(self).update(told)


class Limit:
    def __init__(self, config, now):
        self.law, self.pacing = law_of(config, now), Pacing(now)
        self.rate_limited = False
        self.cuts = self.began = 0  # Cuts, and those before this law.
        self.usual = 0  # The mean cost of calls without a stated cost, with 4 fractional bits; 0 if unknown.

    def learn_cost(self, used):
        latest = min(used, U32 >> 4) << 4
        change = abs(latest - self.usual) // 16
        self.usual = latest if self.usual == 0 else self.usual + (change if latest > self.usual else -change)

    def usual_cost(self):
        """At most what can be sent at all."""
        quota, mean = self.law.quota(), (self.usual + 8) >> 4
        return mean if quota is None else min(mean, quota.burst)

    def due(self, now, cost, in_flight, retry=False):
        if cost == 0:
            return 0
        rejections, due = [], 0
        try:
            due = self.pacing.due(cost, self.law.quota())
        except Never as never:
            rejections.append(never.reason)
        try:
            wait = self.law.check(now, in_flight, retry)
            # A law whose wait is over does not delay the call, even if it ends now.
            due = max(due, wait if wait > now else 0)
        except Never as never:
            rejections.append(never.reason)
        if rejections:
            raise Never(max(rejections, key=RANKS.index))
        return due

    def is_due_at(self, now, cost, in_flight, retry, instant):
        try:
            return self.due(now, cost, in_flight, retry) == instant
        except Never:
            return False


class Controller:
    def __init__(self, policy, seed, now):
        self.policy = policy
        self.limits = [Limit(config, now) for config in policy["laws"]]
        self.cooldown, self.in_flight = Cooldown(), 0
        self.retry_budget = RetryBudget(policy["retry_budget"]) if policy["retry_budget"] else None
        self.chance = Chance(seed)
        self.mark = self.chance.s[1] >> 24
        self.tries_again = False
        self.stats = dict.fromkeys(STATS, 0)
        self.permits = {}  # The permits of all controllers of a script, in order.

    def count(self, what, by=1):
        self.stats[what] = within(self.stats[what] + by, U64 if what == "waited" else U32)

    # Decisions.

    def open_concurrency(self, now, costs):
        """The policy's concurrency limit, or a lower one of a law whose limit the call uses."""
        limits = [limit.law.concurrency(now) for limit, cost in zip(self.limits, costs) if cost > 0]
        return min([self.policy["concurrency"]] + [concurrency for concurrency in limits if concurrency is not None])

    def costs(self, call):
        """The call's cost for each limit: as stated, or the usual cost, if known."""
        return [
            max(cost, limit.usual_cost()) if call.is_unstated(index) else cost
            for index, (limit, cost) in enumerate(zip(self.limits, call.costs))
        ]

    def due(self, now, call):
        due, rejections = max(self.cooldown.until, call.not_before), []
        for limit, cost in zip(self.limits, self.costs(call)):
            try:
                due = max(due, limit.due(now, cost, self.in_flight, call.attempt > 0))
            except Never as never:
                rejections.append(never.reason)
        return due, rejections

    def check(self, now, call):
        due, rejections = self.due(now, call)
        if call.attempt > 0 and self.retry_budget and not self.retry_budget.allows():
            rejections.append("retry_budget")
        if rejections:
            return [max(rejections, key=RANKS.index)]
        if max(due, now) > call.deadline:
            return ["late", max(due, now)]
        if self.in_flight >= self.open_concurrency(now, self.costs(call)):
            return ["full"]
        return ["wait", due] if due > now else ["admit"]

    def poll(self, now, call):
        verdict = self.check(now, call)
        kind = verdict[0]
        if kind == "admit":
            return ["admit", self.admit(now, call)]
        if kind in ("wait", "late"):
            for limit, cost in zip(self.limits, self.costs(call)):
                limit.rate_limited |= limit.is_due_at(now, cost, self.in_flight, call.attempt > 0, verdict[1])
        if kind == "wait":
            self.count("waits")
            self.count("waited", verdict[1] - now)
        elif kind == "full":
            most = self.open_concurrency(now, self.costs(call))
            for limit, cost in zip(self.limits, self.costs(call)):
                concurrency = limit.law.concurrency(now)
                limit.rate_limited |= cost > 0 and concurrency is not None and concurrency <= most
            self.count("full")
        else:
            self.count("rejected")
        return verdict

    def admit(self, now, call):
        costs = self.costs(call)
        parts = [
            Sample(cost=cost, used=None, cuts=limit.cuts, rate_limited=limit.rate_limited, unstated=call.is_unstated(index))
            for index, (limit, cost) in enumerate(zip(self.limits, costs))
        ]
        self.in_flight = within(self.in_flight + 1, U16)
        for limit, cost in zip(self.limits, costs):
            if cost > 0:
                limit.pacing.charge_late(now, limit.rate_limited, cost, limit.law.quota())
                limit.rate_limited = False
                limit.law.released(now, self.cooldown.until, cost, call.attempt, self.chance)
        if call.attempt > 0 and self.retry_budget:
            self.retry_budget.spend()
        self.count("admitted")
        number, self.permits[len(self.permits)] = len(self.permits), (now, self.mark, parts, call.attempt)
        return number

    # Results.

    def settle(self, now, permit, reply, then=None, used=None):
        """A stream says what it `used` at its end, `then`."""
        sent, mark, parts, attempt = self.permits[permit]
        if mark != self.mark:  # A permit of another controller.
            return
        self.count(reply.outcome)
        if reply.outcome != "abandoned":
            self.learn(now, sent, parts, attempt, reply)
            self.tries_again = self.tries_again and reply.outcome in ("ok", "exhausted")
            self.cool_down(now, parts, reply)
        if used is not None:
            self.correct(then, parts, used)
        self.forget(1)

    def forget(self, calls):
        self.in_flight = max(0, self.in_flight - calls)

    def learn(self, now, sent, parts, attempt, reply):
        for limit, part, hint in zip(self.limits, parts, reply.hints):
            # A limit that is not set teaches nothing.
            is_told = hint.limit is not None or hint.left is not None
            is_set = is_told or limit.law.interval(now) is not None
            part.unstated = part.unstated and reply.outcome == "ok" and is_set
        if reply.used is not None:
            self.correct(now, parts, reply.used)
        self.teach(now, sent, parts, attempt, reply)
        if reply.outcome == "ok" and self.retry_budget:
            self.retry_budget.earn()

    def correct(self, now, parts, costs):
        for limit, part, used in zip(self.limits, parts, costs):
            # A law that was replaced meanwhile has nothing to correct.
            if (part.cuts - limit.began) % 2**16 <= (limit.cuts - limit.began) % 2**16:
                charged = part.cost if part.used is None else part.used
                limit.pacing.correct(lately(now), charged, used, limit.law.quota())
                limit.law.corrected(now, charged, used)
            if part.unstated:
                limit.learn_cost(used)
            part.used, part.unstated = used, False

    def cool_down(self, now, parts, reply):
        if reply.outcome == "ok":
            return
        cooldowns = [hint.cooldown() for hint, part in zip(reply.hints, parts) if part.cost > 0]
        cooldowns = [cooldown for cooldown in cooldowns if cooldown is not None]
        if cooldowns:
            self.cooldown.raise_to(now, max(cooldowns), self.policy["cooldown"], self.chance)

    def teach(self, now, sent, parts, attempt, reply):
        blamed = [hint.is_used_up(part.cost) for hint, part in zip(reply.hints, parts)]
        known = len(parts) > 1 and reply.outcome == "throttled" and any(blamed)
        for index, (limit, part, hint) in enumerate(zip(self.limits, parts, reply.hints)):
            if part.cost == 0 or reply.outcome == "exhausted" or (known and not blamed[index]):
                continue
            outcome = reply.outcome
            if outcome == "throttled" and hint.concurrency:
                # Too many calls in flight: no evidence for a law without a concurrency limit.
                if limit.law.concurrency(now) is None:
                    continue
                outcome = "busy"
            sample = Sample(
                now=now,
                sent=sent,
                cost=part.cost if reply.used is None else max(1, reply.used[index]),
                outcome=outcome,
                hint=hint,
                fresh=part.cuts == limit.cuts,
                rate_limited=part.rate_limited,
                attempt=attempt,
                tries_again=self.tries_again,
                in_flight=max(0, self.in_flight - 1),
                ceiling=self.policy["cooldown"][0],
            )
            moved = limit.law.observe(limit.pacing, sample, self.chance)
            if moved is not None:
                self.count(moved)
            if moved == "slower":
                limit.cuts = (limit.cuts + 1) % 2**16

    def retry(self, now, call, reply):
        unwanted = any(hint.should_retry is False for hint in reply.hints)
        if reply.outcome in ("ok", "abandoned", "exhausted") or unwanted:
            return None
        self.tries_again = self.policy["attempts"] != 1
        attempt, most = within(call.attempt + 1, U16), self.policy["attempts"]
        first_failed = now if call.attempt == 0 else call.first_failed
        failing = since(first_failed, now)
        patient = reply.outcome == "throttled" and failing < self.policy["patience"]
        extra = most is not None and attempt >= most
        if extra and not (patient and attempt < 64):
            return None
        again = Call(call.costs, call.deadline, call.estimated)
        delay = 0
        if self.policy["backoff"]:
            schedule = Backoff(*self.policy["backoff"])
            again.rung = schedule.climb(call.rung, self.chance)
            delay = schedule.delay(again.rung, self.chance)
        delay = max(delay, failing // 4 if extra else 0)
        again.attempt, again.not_before = attempt, within(now + delay)
        again.first_failed = first_failed
        elapsed = self.policy["elapsed"]
        last = END if elapsed is None else within(again.first_failed + elapsed)
        again.deadline = min(call.deadline, last)
        asked = [hint.cooldown() for hint, cost in zip(reply.hints, self.costs(call)) if cost > 0]
        asked = max((cooldown for cooldown in asked if cooldown is not None), default=0)
        if max(self.due(now, again)[0], within(now + asked)) > again.deadline:
            return None
        self.count("retries")
        return again

    # State.

    def why(self, now, call):
        verdict = self.check(now, call)
        if verdict[0] in ("wait", "late"):
            until = verdict[1]
            dues = [
                limit.is_due_at(now, cost, self.in_flight, call.attempt > 0, until)
                for limit, cost in zip(self.limits, self.costs(call))
            ]
            if until > now and any(dues) and max(self.cooldown.until - now, 0) <= (until - now) // 2:
                return "pacing"
            return "cooldown" if until > now else None
        return {"admit": None, "full": "concurrency", "retry_budget": "retry_budget"}.get(verdict[0], "pacing")

    def next_at(self, now):
        due, helps = self.cooldown.until, True
        for limit, cost in zip(self.limits, self.costs(Call([1] * len(self.limits), estimated=True))):
            try:
                due = max(due, limit.due(0, cost, self.in_flight))
            except Never as never:
                helps &= never.reason == "over-limit"
        room = self.has_room_at(now)
        at = max(due if helps else 0, room)
        return at if at > 0 and room < END else None

    def has_room_at(self, now):
        """When another call may be in flight: 0 if it may be now, `END` if only a call that settles helps."""
        instants = [END if self.in_flight >= self.policy["concurrency"] else 0]
        for limit in self.limits:
            start, at = now, 0
            while (most := limit.law.concurrency(start)) is not None and self.in_flight >= most:
                wider = limit.law.widens_at(start)
                if wider is None or wider <= start:
                    at = END
                    break
                start = at = wider
            instants.append(at)
        return max(instants)

    def intervals(self, now):
        return [limit.law.interval(now) for limit in self.limits]

    # Changes of settings.

    def set_policy(self, policy, now):
        ceiling = policy["cooldown"][0]
        latest = within(now + ceiling) if ceiling < self.policy["cooldown"][0] else END
        for index, config in enumerate(policy["laws"]):
            old, new = self.limits[index], Limit(config, now)
            if old.law.settings() != new.law.settings():
                old.pacing.follow(now, old.law.quota(), new.law.quota())
                new.cuts = new.began = (old.cuts + 1) % 2**16
                new.pacing, new.usual = old.pacing, old.usual
                self.limits[index] = new
            self.limits[index].pacing.cooldown = min(self.limits[index].pacing.cooldown, latest)
            self.limits[index].law.shorten(latest)
        self.cooldown.until = min(self.cooldown.until, latest)
        if self.policy["retry_budget"] != policy["retry_budget"]:
            self.retry_budget = RetryBudget(policy["retry_budget"]) if policy["retry_budget"] else None
        self.policy = policy

    def set_concurrency(self, concurrency):
        self.policy = {**self.policy, "concurrency": concurrency}

    # Snapshots.

    def record(self, now):
        def write(out):
            out.put("instant", self.cooldown.until)
            saved = self.retry_budget.saved if self.retry_budget else 0
            out.variant(
                9, self.retry_budget is not None, lambda out: out.put("u64", saved) if self.retry_budget else None
            )
            for limit in self.limits:
                limit.pacing.write(out)
                out.put("u8", limit.rate_limited)
                out.variant(LAW_BYTES, limit.law.TAG, limit.law.write)
            for limit in self.limits[1:]:
                out.put("u32", limit.usual)

        return record.seal(len(self.limits), write, now)

    @classmethod
    def restored(cls, policy, seed, data, now, away):
        made = cls(policy, seed, now)
        length = 2 + GATES_BYTES + len(made.limits) * (PACING_BYTES + LAW_BYTES)
        length += 4 * (len(made.limits) - 1) + 4
        source = record.unseal(data, len(made.limits), length, now, away)
        made.cooldown.until = source.get("instant")
        saved = source.variant(9, {0: lambda source: None, 1: lambda source: source.get("u64")})
        if made.retry_budget and saved is not None:
            made.retry_budget.saved = min(saved, made.retry_budget.most)
        for limit in made.limits:
            limit.pacing.read(source)
            limit.rate_limited = source.get("flag")
            source.variant(LAW_BYTES, {limit.law.TAG: limit.law.read})
        for limit in made.limits[1:]:
            limit.usual = source.get("u32")
        return made
