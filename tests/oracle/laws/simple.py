"""`fixed`, `aimd` and `crowd`."""

from exact import part, within
from laws.base import PER, Law
from pace import Quota
from record import Refused

PUSHBACK = ("throttled", "busy")


def law_rate(count, period):
    """Calls a second with 20 bits of fraction, rounded down, but never to nothing."""
    return max(1, within(count * PER // period))


class Fixed(Law):
    """A rate that never moves, or none."""

    TAG = 5

    def __init__(self, config, now):
        self.limit = Quota(*config["quota"]) if config["quota"] else None

    def quota(self):
        return self.limit

    def observe(self, pace, sample, chance):
        return None

    def write(self, out):
        pass

    def read(self, source):
        pass


class Aimd(Law):
    """Additive increase, multiplicative decrease, and a pause that doubles from cut to cut."""

    TAG = 1

    def __init__(self, config, now):
        rates = {key: law_rate(*config[key][:2]) for key in ("start", "floor", "ceiling", "step")}
        self.config = {**config, **rates, "burst": (config["start"] + [1])[2]}
        self.rate = self.config["start"]
        self.successes = self.doublings = self.calm = 0

    def quota(self):
        return Quota(self.rate, PER, self.config["burst"])

    def observe(self, pace, sample, chance):
        if not sample.fresh:
            return None
        if sample.outcome in PUSHBACK:
            self.cut(pace, sample, chance)
            return "slower"
        if sample.outcome != "ok":
            return None
        if self.config["pause"] and self.doublings > 0:
            self.calm += 1
            if self.calm >= self.config["pause"][2]:
                self.calm, self.doublings = 0, self.doublings - 1
        if not sample.paced:
            return None
        self.successes += 1
        if self.successes < self.config["every"]:
            return None
        before, self.successes = self.rate, 0
        self.rate = min(within(self.rate + self.config["step"]), self.config["ceiling"])
        return "faster" if self.rate > before else None

    def cut(self, pace, sample, chance):
        self.rate = max(part(self.config["keep"], self.rate), self.config["floor"])
        self.successes = 0
        if self.config["pause"]:
            base, most, _ = self.config["pause"]
            self.calm = 0
            # Past the longest pause there is nothing that successes could take back.
            if base << self.doublings < most:
                self.doublings += 1
            pause = min(base << self.doublings, most)
            pace.delay(sample.now, min(chance.between(pause // 2, pause), sample.ceiling))

    def write(self, out):
        out.u64(self.rate)
        out.u16(self.successes)
        out.u8(self.doublings)
        out.u16(self.calm)

    def read(self, source):
        self.rate, self.successes = source.u64(), source.u16()
        self.doublings, self.calm = source.u8(), source.u16()
        if not self.config["floor"] <= self.rate <= self.config["ceiling"]:
            raise Refused("OtherPolicy")


class Crowd(Law):
    """A window that a window's worth of successes opens by one."""

    TAG = 3

    def __init__(self, config, now):
        self.config, self.open, self.successes = config, config["start"], 0

    def window(self, now):
        return self.open

    def observe(self, pace, sample, chance):
        if not sample.fresh:
            return None
        if sample.outcome != "ok":
            self.open, self.successes = max(1, part(self.config["keep"], self.open)), 0
            return "slower"
        if not sample.paced or self.open >= self.config["most"]:
            return None
        self.successes += 1
        if self.successes < self.open:
            return None
        self.open, self.successes = self.open + 1, 0
        return "faster"

    def write(self, out):
        out.u16(self.open)
        out.u16(self.successes)

    def read(self, source):
        self.open, self.successes = source.u16(), source.u16()
        if not 1 <= self.open <= self.config["most"]:
            raise Refused("OtherPolicy")
