"""`adaptive`: slow start, a search for the rate, and the server's hints."""

from exact import END, SECOND, U16, U32, part, since, within
from laws.adaptive import logs
from laws.adaptive.logs import add, fit, log
from laws.adaptive.parts import (
    APP_LIMITED,
    FEW,
    RIPE,
    UNKNOWN,
    Cap,
    Meter,
    Noise,
    Open,
    Paced,
    Places,
    Hinted,
    Usual,
    doubles_after,
    limit,
    unit_of,
)
from laws.base import Law, fields, quota_wrong
from pacing import Never, Quota
from record import Rejected

DAY = 86_400 * SECOND
SLOWEST = 52 << 24
"""The longest learned interval: 2^52 ns, about 52 days."""
LATENESS = SECOND // 500
DARK = 4
"""After this many consecutive rejections, the server is assumed to serve nothing for a while."""
MOST_OWN = 4
"""The count of misses of retries stops here."""
PHASE_BYTES = 36
CAP_BYTES = 5
THROTTLED, BUSY = 1, 2
"""What the latest unconfirmed rejection said."""
INSTANTS = ("release", "fresh_at", "interval_end")


def weight_of(interval):
    """The weight of a success, as a coarse logarithm."""
    return max(-512, min(logs.coarse(fit(interval - log(SECOND // 2))) >> 4, 512))


class Adaptive(Law):
    TAG = 0
    NAME = "adaptive"
    FIELDS = (
        "interval_end instant release instant apart i32 event_at instant trip u32 ceiling i16 server u8"
        " misses u8 calls u8 own u8 suspect u8 score u8 fresh_at instant missed_at instant"
    )
    DEFAULT = {"quota": None, "tolerance": [1, 64]}
    NAMED = {
        "adaptive": {"laws": [{"law": "adaptive"}], "backoff": None, "cooldown": [3600 * SECOND, [0, 1]]},
    }

    @staticmethod
    def wrong(config):
        return config["quota"] and quota_wrong(*config["quota"])

    def __init__(self, config, now):
        self.phase, self.meter, self.usual = Open(), Meter(now), Usual()
        self.interval_end, self.release, self.event_at = now, 0, now
        self.apart = 0  # The logarithm of the interval between two usual calls.
        self.trip, self.ceiling, self.down = 0, 2**15 - 1, False
        # The misses in a row, those of them that were first attempts or told of the limit, and those of
        # retries since the latest retry that was served.
        self.misses = self.calls = self.own = 0
        # The evidence before there is a rate: the latest rejection without confirmation, and a score.
        self.suspect = self.score = 0
        self.fresh_at, self.missed_at = 0, now
        self.hinted, self.places = Hinted(), Places()
        self.tolerance = min(part(config["tolerance"], 1 << 12), 512)
        self.configured = Quota(*config["quota"]) if config["quota"] else None

    def settings(self):
        return self.NAME, self.tolerance, self.configured

    # Decisions.

    def is_open(self):
        return isinstance(self.phase, Open)

    def round_trip(self):
        return self.trip << 10

    def longest(self):
        """The longest cooldown."""
        return logs.fine(self.ceiling)

    def quota_interval(self):
        if self.hinted.unit == 0 or (not self.is_open() and self.phase.refuted):
            return 0
        return min(logs.octaves(self.hinted.unit, self.usual.octave), self.longest())

    def exceeds_quota(self, now):
        """Whether more was served than two windows or a bucket of the told quota allow."""
        more = self.meter.calls(self.usual) - 2 * self.hinted.limit
        if more <= 0 or self.hinted.limit == 0:
            return False
        least = add(add(self.quota_interval(), logs.ratio(16 * 8, 17 * 7)), log(more))
        return least > log(self.meter.cycle(now))

    def begin_paced(self, now):
        refuted = self.is_open() and self.phase.told and self.exceeds_quota(now)
        self.phase, self.places = Paced(self.apart), Places()
        self.phase.refuted = refuted

    def base(self, now):
        """The interval that probes double."""
        if not self.is_open():
            return self.apart
        tenth = log(SECOND // 10)
        mean = self.meter.mean(now, self.usual)
        return tenth if self.calls > 0 or mean == 0 else min(mean, tenth)

    def doublings(self, misses):
        return max(0, misses - (DARK - 1 if self.down else 1))

    def doubled(self, doublings, now):
        """The interval during consecutive misses."""
        base = self.base(now)
        if doublings == 0:
            return base
        dark, some = log(since(self.missed_at, now)), log(20 * SECOND)
        if self.down:
            most = min(fit(dark - logs.ratio(6, 1)), some)
        else:
            most = max(logs.octaves(dark, -2), min(some, max(logs.octaves(base, 7), log(SECOND))))
        if not self.is_open() and self.phase.window > 0:
            most = min(most, ((self.phase.window << 6) - (2 << 8)) << 16)
        most = max(most, logs.octaves(base, 2))
        return max(min(logs.octaves(base, doublings), most, self.longest()), base)

    def current(self, now):
        return max(self.doubled(self.doublings(self.calls), now), self.quota_interval())

    def is_out(self):
        """Whether so many calls failed in a row that the server is down."""
        return self.down and self.calls >= DARK

    def quota(self):
        return self.configured

    def interval(self, now):
        quoted = super().interval(now)
        return quoted if self.is_open() else max(logs.span(self.current(now)), quoted or 0)

    def check(self, now, in_flight, retry=False):
        has_room = not self.is_open() and self.hinted.has_room(in_flight)
        release = self.release if retry else self.fresh_at
        if release <= now or has_room:
            return 0
        if release == END:
            raise Never("never")
        return release

    def concurrency(self, now):
        passed = since(self.event_at, now)
        if not self.is_open():
            search = limit(within(self.phase.successes + 1, U16), passed) if self.phase.searching else None
            limits = (search, self.places.most)
            return min([limit for limit in limits if limit not in (None, 255)], default=None)
        first = self.phase.limit(passed)
        starts = first is not None and self.phase.cap is None
        limits = [first, self.hinted.calls_left(self.phase.refilled, starts)]
        return min([limit for limit in limits if limit is not None], default=None)

    def widens_at(self, now):
        after = doubles_after(since(self.event_at, now))
        return None if after is None else within(self.event_at + after)

    # Sending.

    def shorten(self, latest):
        for name in INSTANTS:
            setattr(self, name, min(getattr(self, name), latest))

    def released(self, now, cooldown_end, cost, attempt, chance):
        self.see_cost(cost)
        self.leave_out_silence(now)
        if self.is_open():
            if not self.phase.probing:
                slow = self.phase.limit(since(self.event_at, now)) is not None
                rises = self.phase.rises(since(self.fresh_at, now), self.round_trip())
                if rises and not slow and not self.phase.together:
                    self.meter = Meter(now)
                    self.phase.measure_again()
                start = self.interval_end
                self.interval_end = self.phase.send(start, now, self.round_trip())
            self.fresh_at = now
            self.release = max(self.release, self.fresh_at)
            if attempt > 0 and self.suspect == THROTTLED:
                self.release = max(self.release, within(now + self.round_trip()))
            if self.is_out():
                self.back_off(now, 0, 0, chance)
        else:
            shortest = self.shortest()
            self.apart, self.phase.target = max(self.apart, shortest), max(self.phase.target, shortest)
            self.advance(now, cooldown_end, self.usual.interval_of(cost, self.current(now)), chance)
        if attempt > 0 and self.own > 0:
            self.delay_retries(now, 0, attempt, chance)

    def shortest(self):
        """The learned rate is never above the configured quota."""
        if self.configured is None:
            return 0
        unit = log(self.configured.interval)
        return max(0, min(logs.octaves(unit, self.usual.octave), SLOWEST))

    def see_cost(self, cost):
        octaves = self.usual.see(cost)
        if octaves == 0:
            return
        if self.is_open():
            self.phase.rescale(octaves)
        else:
            self.apart = min(logs.octaves(self.apart, octaves), SLOWEST)
            self.phase.target = min(logs.octaves(self.phase.target, octaves), SLOWEST)
            self.phase.noise.rescale(octaves)

    def leave_out_silence(self, now):
        """After a long silence nothing is made up, and the silence is not measured."""
        if not self.is_open():
            silence = since(max(self.interval_end, self.release), now)
            interval = self.current(now)
            if silence > max(LATENESS, logs.span(logs.octaves(interval, 4))):
                self.meter.skip(silence, now)
                if silence > logs.span(logs.octaves(interval, 6)):
                    self.interval_end = now
        elif not self.phase.probing:
            round_trip = self.round_trip()
            usual = self.phase.interval(self.interval_end, self.fresh_at, round_trip)
            if self.phase.is_silence(since(self.fresh_at, now), usual, round_trip):
                self.meter = Meter(now)
                self.phase.measure_again()
            elif self.phase.is_new() and self.meter.is_empty():
                # The first call.
                self.meter, self.event_at = Meter(now), now

    def advance(self, now, cooldown_end, interval, chance):
        width = logs.span(logs.octaves(add(interval, logs.fine(self.phase.depth())), -2))
        step = logs.span(interval)
        self.interval_end = within(max(self.interval_end, within(now - max(step, LATENESS)), cooldown_end) + step)
        drawn = within(within(self.interval_end - width // 2) + chance.between(0, width))
        self.fresh_at = min(drawn, within(now + self.longest_wait(interval)))
        # A retry that has missed delays the next one.
        self.release = max(self.fresh_at, self.release if self.own > 0 else 0)

    def longest_wait(self, interval):
        """No wait is longer than the longest cooldown, unless the learned interval is."""
        longest = self.longest()
        return logs.span(logs.octaves(interval, 1) if interval > longest else longest)

    def corrected(self, now, charged, used):
        if self.is_open():
            return
        if charged == used:
            return
        difference = self.usual.interval_of(abs(charged - used), self.current(now))
        by, latest = logs.span(difference), within(now + DAY)
        for name in INSTANTS:
            at = getattr(self, name)
            later = max(at, min(within(at + by), latest)) if used > charged else min(at, max(within(at - by), now))
            setattr(self, name, later)

    # Results.

    def observe(self, pacing, sample, chance):
        now, served = sample.now, sample.outcome == "ok"
        if served:
            self.score = max(0, self.score - 1)
            latest = min(since(sample.sent, now) >> 10, U32)
            change = abs(latest - self.trip) // 16
            if self.trip == 0:
                self.trip = latest
            else:
                self.trip += change if latest > self.trip else -change
        if self.is_open():
            self.event_at = min(self.event_at, now)
            if served and not self.phase.probing:
                self.phase.serve(sample.in_flight)
        elif served:
            self.places.serve(sample.in_flight, self.phase.successes)
        hint, hinted = sample.hint, self.hinted
        told = any(number is not None for number in (hint.left, hint.reset, hint.limit, hint.period))
        tells = told or hinted.knows()
        if tells or not served:
            self.ceiling = fit(logs.coarse(log(sample.ceiling)) - 1, 16)
        confirmed = self.confirm(sample)
        if sample.outcome == "failed":
            moved = self.fail(sample, chance)
            return "slower" if confirmed else moved
        if tells:
            self.hear(sample)
        if served:
            moved = self.success(sample, confirmed, chance)
            return "slower" if confirmed else moved
        asked = sample.hint.cooldown()
        if asked is not None and sample.fresh:
            asked = min(asked, END - now)
            own = self.round_trip() if self.is_open() else logs.span(self.apart)
            # A shorter wait may only be pacing.
            if asked > SECOND and asked > within(2 * own):
                return self.cool_down(sample, asked, chance)
        moved = self.reject(sample, chance)
        return "slower" if confirmed else moved

    def confirm(self, sample):
        """A rejection before there is a rate is confirmed if the program does not try the call again, or if
        a retry is served."""
        served = sample.outcome == "ok" and sample.attempt > 0
        pending = self.is_open() and sample.fresh and self.suspect == THROTTLED
        if not (pending and (served or not sample.tries_again)):
            return False
        event = self.missed_at if self.misses > 0 else sample.now
        self.cut(sample.now, event, 0)
        if since(event, sample.now) <= SECOND:
            self.misses, self.calls = min(self.misses, 1), min(self.calls, 1)
        return True

    def hear(self, sample):
        hinted, hint, calls_in = self.hinted, sample.hint, self.usual.calls_in
        if self.is_bare(sample):
            hinted.busy = APP_LIMITED
            return
        limit = calls_in(hint.limit or 0)
        if hint.limit and hint.period is not None:
            unit = unit_of(hint.limit, hint.period)
            change = max(-2 * logs.OCTAVE, min(fit(unit - hinted.unit), 2 * logs.OCTAVE))
            known, changed = hinted.unit > 0, abs(change) > logs.ratio(16, 15)
            if self.is_open():
                self.phase.told = not changed
            else:
                self.phase.refuted &= not changed
            if known and limit == hinted.limit and sample.fresh and changed and not self.is_open():
                # Not slower than the longest cooldown.
                most = max(self.apart, self.longest())
                self.apart = min(add(self.apart, change), most)
                self.phase.target = min(add(self.phase.target, change), most)
            hinted.unit = unit
        elif sample.fresh and sample.outcome == "ok":
            hinted.unit = 0
        hinted.limit = limit
        hinted.lasts = hint.reset is not None and hint.reset > self.round_trip()
        left = UNKNOWN if hint.left is None else calls_in(hint.left)
        if left <= hinted.left or hinted.stale == 0:
            hinted.left, hinted.stale = left, sample.in_flight
        else:
            hinted.stale -= 1
        if left != UNKNOWN:
            hinted.most = max(hinted.most, left)
        if limit > 0:
            hinted.most = min(hinted.most, limit)
        if self.is_open():
            if not self.phase.probing:
                self.phase.see_left(left, min(sample.in_flight + 1, U16))
        else:
            more = self.phase.unused and min(self.phase.unused + 1, 255)
            self.phase.unused = more if hinted.is_full() else 1
        waited = sample.rate_limited or sample.outcome != "ok"
        hinted.busy = APP_LIMITED if waited else max(0, hinted.busy - 1)

    def begin_at(self, at):
        self.release = self.fresh_at = self.interval_end = at

    def fail(self, sample, chance):
        """A failure teaches nothing about the rate, but many in a row show that the server is down."""
        if not sample.fresh:
            return None
        if self.misses == 0 and not self.is_open():
            self.event_at = sample.now
        self.down = True
        self.suspect = 0
        self.note_miss(sample.now, sample.attempt == 0, False)
        if sample.attempt > 0:
            self.own = min(self.own + 1, MOST_OWN)
        out = self.is_out()
        if out or sample.attempt > 0:
            self.back_off(sample.now, 0, sample.attempt, chance)
        return "slower" if out else None

    def reject(self, sample, chance):
        now, retry, busy = sample.now, sample.attempt > 0, sample.outcome == "busy"
        asked = sample.hint.cooldown()
        cooldown = min(asked or 0, sample.ceiling)
        hint = sample.hint
        told = any(number is not None for number in (asked, hint.left, hint.reset, hint.limit, hint.period))
        told = told and not self.has_room(sample) and not self.is_alone(sample)
        if sample.fresh and self.misses == 0 and not self.is_open():
            if self.places.reject(sample.in_flight, self.phase.successes):
                return "slower"
        first = self.calls == 0
        cuts = sample.fresh and self.is_evident(sample, told, first)
        if cuts:
            self.suspect = self.score = 0
        if self.is_open() and not self.phase.probing and (cuts or not sample.fresh):
            if self.phase.reject(since(self.event_at, now)):
                self.event_at = now
            if busy and asked is None and self.phase.too_busy(sample.in_flight, sample.fresh):
                return "slower" if sample.fresh else None
        if not sample.fresh:
            if not self.is_open() and self.phase.flight > 0:
                self.phase.rejected = min(self.phase.rejected + 1, 255)
            return None
        if cuts:
            self.misses, self.calls, self.down = 0, 0, False
            self.cut(now, now, cooldown)
        self.note_miss(now, told or not retry, busy)
        if retry and not told:
            self.own = min(self.own + 1, MOST_OWN)
        if retry or not self.is_open():
            self.back_off(now, cooldown, sample.attempt, chance)
        return "slower" if cuts or not (first or self.is_open()) else None

    def has_room(self, sample):
        """Whether the server says that enough is left for the call."""
        return sample.hint.left is not None and sample.hint.left >= sample.cost

    def is_bare(self, sample):
        """Whether this is a rejection without any hint."""
        hint = sample.hint
        says = any(number is not None for number in (hint.left, hint.reset, hint.limit, hint.period, hint.cooldown()))
        return sample.outcome != "ok" and not says

    def is_alone(self, sample):
        """Whether the server may reject only this call: rejected twice before, while others are served."""
        return sample.attempt > 1 and self.calls == 0

    def is_evident(self, sample, told, first):
        """Whether a rejection shows that the rate is too high: not if it may be chance, nor if the server
        may reject this one call each time."""
        retry = sample.attempt > 0
        if self.is_open():
            crowded = self.phase.cap is not None and sample.in_flight > 0
            knows = self.phase.together or (crowded and not retry)
            return told or self.is_confirmed(sample) or (knows and first)
        if self.suspect > 0 and sample.attempt < 2:
            return True
        if retry and not told:
            return False
        free = sample.tries_again and not retry and not sample.rate_limited and self.interval_end <= sample.sent
        if first and free and self.apart >= log(self.round_trip()):
            # The client was slower than its rate. Only the rejection of the retry shows that the rate is the cause.
            self.suspect = THROTTLED
            return False
        paced = self.phase
        chance = paced.successes < 4 and paced.rejected < paced.successes
        # If the server says that enough is left, another rejection has to confirm the first.
        pending, self.score = self.score > 0, 0
        bare = self.is_bare(sample) and self.hinted.leaves_room(sample.in_flight)
        if first and not pending and (bare or self.has_room(sample)):
            self.score = 24
            return False
        begins = first or pending
        if begins and chance:
            paced.rejected = min(paced.rejected + 1, 255)
        return begins and not chance and not self.is_noise(told)

    def is_noise(self, told):
        """Whether the first rejection of a run is noise. What a server says about its limit never is."""
        hinted = self.hinted
        if told or hinted.knows() or self.tolerance == 0:
            return False
        noise = self.phase.noise.judge(self.apart, self.phase, self.tolerance)
        if isinstance(noise, bool):
            return noise
        self.phase.begin_at(noise)
        self.apart = self.phase.target = noise
        return True

    def is_confirmed(self, sample):
        """Before there is a rate, the rejection of a first attempt is evidence if it is the fifth in a row,
        or one of very many; or the second of a busy server, if the program makes no retries."""
        if sample.attempt > 0 or self.is_out():
            return False
        self.score = min(self.score + (24 if self.has_room(sample) else 3), 255)
        again, self.suspect = self.suspect > 0, BUSY if sample.outcome == "busy" else THROTTLED
        alone = self.suspect == BUSY and again and not sample.tries_again
        return self.calls >= 4 or self.score >= 48 or alone

    def cut(self, now, event, cooldown):
        """Cuts the rate for what happened at `event`."""
        self.suspect = self.score = 0
        target, first = None, self.is_open()
        if first:
            target = self.leave_open(now)
            # Until all calls in flight have returned, another call would give no new information.
            self.begin_at(within(now + self.round_trip()))
        self.hit(event, cooldown, first)
        if target is not None:
            self.phase.target = target

    def note_miss(self, now, new, busy):
        if self.misses == 0:
            self.missed_at = now
        self.down |= busy and self.misses >= DARK - 1
        self.misses = min(self.misses + 1, 40)
        if new:
            self.calls = min(self.calls + 1, 40)

    def back_off(self, now, cooldown, attempt, chance):
        if attempt > 0:
            self.delay_retries(now, cooldown, attempt, chance)
        if self.is_open() and not self.is_out():
            return
        interval = logs.span(self.current(now))
        self.fresh_at = max(self.fresh_at, self.about(interval, now, cooldown, chance))
        self.release = max(self.release, self.fresh_at)
        if not self.is_open():
            self.interval_end = max(self.interval_end, within(now + max(interval, cooldown)))

    def delay_retries(self, now, cooldown, attempt, chance):
        """Retries wait longer than first attempts: up to 2^4 intervals, or longer with few others. Before
        there is a rate, several calls that are rejected together count once."""
        doublings = max(self.doublings(self.misses), self.own)
        if self.is_open() and not self.down:
            doublings = min(doublings, attempt)
        interval = self.doubled(doublings, now)
        interval = logs.span(max(interval, self.quota_interval()))
        self.release = max(self.release, self.about(interval, now, cooldown, chance))

    def about(self, interval, now, cooldown, chance):
        following = chance.between(interval - interval // 2, within(interval + interval // 2))
        return within(now + min(max(following, cooldown), self.longest_wait(self.apart)))

    def leave_open(self, now):
        sent = self.phase.interval(self.interval_end, now, self.round_trip())
        rejected = 0
        if self.phase.measured == 0 and not self.hinted.knows():
            # Of a burst, only a part may have been served.
            served = self.meter.calls(self.usual)
            rejected = max(0, log(max(1, self.phase.sends)) - log(max(1, served)))
        # Whether the client calls rarely.
        rarely = self.phase.measured != 0 and logs.octaves(sent, -2) > log(self.round_trip())
        self.apart = min(add(add(sent, rejected // 2), 0 if rarely else logs.ratio(7, 4)), SLOWEST)
        self.begin_paced(now)
        return logs.octaves(log(self.round_trip()), 2) if rarely else None

    def flight(self):
        """The number of calls in flight at this rate, as a coarse logarithm."""
        return logs.rough(self.trip) + (10 << 8) - logs.coarse(self.apart)

    def hit(self, now, cooldown, first=False):
        paced = self.phase
        few = paced.successes < 8 or since(self.meter.start, now) // 2 <= cooldown
        soon = few and not first
        ripe = paced.is_ripe()
        gained = logs.OCTAVE // 2
        if cooldown > SECOND:
            gained = 0 if self.quota_interval() > 0 else logs.OCTAVE * 2
        self.apart = add(self.apart, paced.cut(self.apart, self.flight(), gained))
        if self.hinted.is_full():
            paced.unused = 0
        if paced.searching and cooldown > 0:
            cycle = log(self.meter.cycle(within(now + cooldown)))
            served = fit(cycle - log(max(1, self.meter.calls(self.usual))))
            slower = fit(served - self.apart)
            if slower > 0:
                # Halfway to what was served, on a logarithmic scale.
                self.apart = add(self.apart, slower >> 1)
            elif self.hinted.knows():
                self.apart = max(served, self.quota_interval())
        self.meter.turn(now, self.usual, first)
        reading = self.meter.reading_before(self.usual)
        if soon and reading is not None:
            fall = min(max(0, fit(reading - self.apart)), SLOWEST if paced.searching else logs.OCTAVE)
            self.apart = add(self.apart, fall)
            if cooldown > 0:
                paced.fall(fall >> 1)
        if cooldown > 0:
            lost = fit(log(min(cooldown, SECOND)) - self.apart)
            paced.cover_cooldowns(logs.coarse(lost), ripe)
        self.apart = min(self.apart, SLOWEST)
        self.phase.target = self.apart
        self.event_at = now

    def cool_down(self, sample, wait, chance):
        now = sample.now
        self.leave_out_silence(now)
        hinted = within(now + wait)
        # At least a quarter of the time since the first rejection, up to four times as long.
        dark = since(self.missed_at, now) if self.misses > 0 else 0
        wait = min(max(wait, min(dark // 4, 4 * wait)), logs.span(self.longest()))
        end = within(now + wait)
        calls, cycle = self.meter.calls(self.usual), log(self.meter.cycle(end))
        before = 0
        if self.is_open():
            if self.phase.probing:
                before = self.interval_end
            self.phase.probing = True
            if self.misses == 0:
                self.missed_at = now
            self.misses = max(self.misses, DARK)
            spread = min(max(logs.span(fit(cycle - log(calls))), self.round_trip()), wait // 8)
        else:
            if not self.is_alone(sample):
                if self.calls == 0 or self.suspect > 0:
                    self.suspect = 0
                    self.hit(now, wait)
                self.note_miss(now, True, sample.outcome == "busy")
                self.misses, self.calls = max(DARK, self.misses), max(DARK, self.calls)
            spread = logs.span(max(fit(cycle - log(max(calls, RIPE))), self.phase.target))
        ceiling = logs.span(self.longest())
        latest = within(now + ceiling)
        if end < latest:
            until = min(within(end + chance.between(0, spread)), latest)
        else:
            until = within(latest - chance.between(0, min(spread, ceiling // 8)))
        self.begin_at(until)
        if self.is_open():
            spread = wait if hinted > end else spread
            self.interval_end = max(within(hinted + spread), before)
        return None if not self.is_open() and self.is_alone(sample) else "slower"

    def judge(self, now):
        """The first success after a cooldown while the law was open."""
        calls, again = self.meter.calls(self.usual), self.phase.together
        self.suspect = self.score = 0
        if calls == 0 or (calls < FEW and not again):
            self.phase = Open(together=True)
            if calls == 0:
                self.meter = Meter(now)
            if self.interval_end <= within(now + logs.span(self.longest())):
                self.fresh_at = max(self.fresh_at, self.interval_end)
                self.release = max(self.release, self.fresh_at)
            self.event_at = max(self.fresh_at, now)
            return False
        self.event_at = now
        counted = calls + 1 if calls < FEW else calls
        self.apart = min(log(self.meter.cycle(now)) - log(counted), SLOWEST)
        self.begin_paced(now)
        self.phase.searching = False
        self.phase.cover(counted)
        self.misses, self.calls, self.down = 0, 0, False
        self.meter = Meter(now)
        self.begin_at(now)
        return True

    def success(self, sample, confirmed, chance):
        retried = sample.fresh and sample.attempt > 0
        self.own = 0 if retried else self.own
        if not self.is_open():
            self.suspect = 0
        elif sample.attempt > 1 and self.suspect > 0:
            # Neither chance nor this call explains so many rejections of it.
            self.score = min(self.score + 6 * min(sample.attempt - 1, 4), 255)
        probing = self.is_open() and self.phase.probing
        judged = sample.fresh and probing and self.judge(sample.now)
        again = sample.fresh and self.begin_again(sample.now)
        self.meter.count(sample.cost)
        if again:
            return "faster"
        if not self.is_open():
            self.phase.noise.serve(self.phase)
        if judged or (confirmed and self.misses == 0):
            return "slower"
        if sample.fresh and self.misses > 0:
            # Another call ends only the run of its like.
            misses = self.misses if retried else self.calls
            if misses > 0:
                self.recover(sample.now, misses, chance)
                return None
            self.misses, self.down = 0, False
        if self.is_open():
            return None
        paced = self.phase
        paced.succeed()
        paced.searching &= paced.successes < 8
        if not sample.rate_limited or self.misses > 0:
            return None
        flight, quota = self.flight(), self.quota_interval()
        paced.refuted |= self.apart <= quota and self.exceeds_quota(sample.now)
        most = -(4 << 8) - max(flight, 0)
        if self.apart > paced.target:
            step = logs.growth(most + (2 << 8))
            self.apart = max(fit(self.apart - step), paced.target)
            return "faster"
        weight = weight_of(self.apart)
        if self.hinted.is_low() and paced.is_past_plateau():
            weight -= 3 << 8
        if paced.unused > 16:
            weight += 2 << 8
        grown = fit(self.apart - paced.grow(weight, most))
        if quota and paced.least > 4 << 4:
            # Each rejection costs a cooldown: a 64th below the quota, not an eighth above it.
            quota += logs.ratio(8 * 64, 7 * 63)
        self.apart = max(grown, min(quota, self.apart), 0)
        paced.target = min(paced.target, self.apart)
        return "faster"

    def begin_again(self, now):
        """The first success after a dark time before which nothing was served: slow start begins again."""
        if self.is_open() or not self.phase.searching or self.misses < DARK or self.down or not self.meter.is_empty():
            return False
        self.meter, self.phase = Meter(now), Open(together=True)
        self.misses = self.calls = 0
        self.event_at = now
        self.begin_at(now)
        return True

    def recover(self, now, misses, chance):
        paced = self.phase
        if self.is_open():
            if self.is_out():
                paced.restart()
                self.event_at = now
                self.begin_at(now)
        else:
            if misses < DARK and not self.down and paced.rejected >= 16:
                more = paced.deepen(paced.rejected)
                paced.rejected = 0
                if more > 0:
                    self.apart = min(add(self.apart, more), SLOWEST)
                    paced.target = self.apart
            if misses >= (DARK if self.down else 2):
                self.return_to_rate(now, misses, chance)
            paced.succeed()
        if self.calls > 1:
            self.own = 0
        self.misses, self.calls, self.down = 0, 0, False
        if self.own == 0:
            self.release = self.fresh_at

    def return_to_rate(self, now, misses, chance):
        paced = self.phase
        dark = misses >= DARK and not self.down
        if dark:
            self.read_meter(now)
        if self.down:
            self.meter.skip(since(self.missed_at, now), now)
            paced.target, self.apart = self.apart, min(logs.octaves(self.apart, 1), SLOWEST)
        elif dark:
            self.apart = paced.target
        else:
            paced.target = self.apart
        paced.progress = 0
        interval = max(self.doubled(self.doublings(misses), now), self.quota_interval())
        self.shorten(within(now + chance.between(0, logs.span(interval))))

    def read_meter(self, now):
        """Reads what was served in a whole cycle of bright and dark time."""
        dark, target = since(self.missed_at, now), self.apart
        read = self.meter.end_dark(now, dark, self.usual)
        if read is None:
            self.phase.target = target
            return
        cycle, calls, again = read
        reading = add(fit(log(cycle) - log(max(calls, FEW))), logs.ratio(33, 32))
        trusted = calls >= FEW and dark > cycle // 4
        if trusted and reading < target:
            self.phase.target = reading
        elif calls >= FEW:
            own = max(target, logs.octaves(reading, -1)) if trusted else target
            self.phase.target = max(target, add(own, min(fit(reading - own), logs.OCTAVE) >> 1))
        else:
            self.phase.target = max(target, reading)
        self.phase.target = min(self.phase.target, SLOWEST)
        window, knows = again or not SECOND <= dark <= 60 * SECOND, self.hinted.knows()
        if self.quota_interval() > 0 or self.phase.least > 0:
            if trusted and window or knows:
                self.phase.cover(calls)
        elif trusted and (window or dark > cycle // 2) or knows and dark > cycle // 64:
            self.phase.cover_windows(log(cycle), self.phase.target)

    # Snapshots.

    def write(self, out):
        state = self.phase.probing if self.is_open() else 2
        out.variant(PHASE_BYTES, state, lambda out: write(out, self.phase))
        self.server = self.server_state()
        for thing in (self.meter, self, self.usual, self.places, self.hinted):
            write(out, thing)

    def read(self, source):
        kinds = {
            0: lambda source: read(source, Open()),
            1: lambda source: read(source, Open(probing=True)),
            2: lambda source: read(source, Paced(0)),
        }
        self.phase = source.variant(PHASE_BYTES, kinds)
        for thing in (self.meter, self, self.usual, self.places, self.hinted):
            read(source, thing)
        self.down = self.server > 2
        reached = self.calls <= self.misses <= 40 and self.server == self.server_state() and self.suspect <= BUSY
        if self.usual.octave >= 28 or not reached or self.own > MOST_OWN:
            raise Rejected("OtherPolicy")

    def server_state(self):
        """Serving, rejecting, dark, failing, or an outage."""
        some = 3 + (self.calls >= DARK) if self.down else 1 + (self.misses >= DARK)
        return some if self.misses else 0


def write(out, thing):
    for name, kind in fields(thing):
        value = getattr(thing, name)
        if kind == "cap":
            out.variant(CAP_BYTES, value is not None, lambda out: value and write(out, value))
        elif kind == "noise":
            write(out, value)
        else:
            out.put(kind, value)


def read(source, thing):
    for name, kind in fields(thing):
        if kind == "cap":
            kinds = {0: lambda source: None, 1: lambda source: read(source, Cap())}
            thing.cap = source.variant(CAP_BYTES, kinds)
        elif kind == "noise":
            thing.noise = read(source, Noise())
        else:
            value = source.get(kind)
            if kind == "i32":  # a logarithm
                value = max(-63 * logs.OCTAVE, min(value, 64 * logs.OCTAVE - 1))
            setattr(thing, name, value)
    return thing
