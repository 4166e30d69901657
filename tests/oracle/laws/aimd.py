"""`aimd`."""

from exact import MS, SECOND, part
from laws.base import PER, PUSHBACK, Law, below_one, burst_wrong, quota_wrong
from pacing import Quota, lately
from record import Rejected


def law_rate(count, period):
    """Calls a second with 20 bits of fraction, rounded down, but never to zero."""
    return max(1, PER // Quota(count, period).interval)


def law_quota(rate, burst):
    """Rounded down, so that the rate of a quota gives its interval again, if that is short."""
    return Quota(1, PER // rate, burst)


class Aimd(Law):
    """Additive increase, multiplicative decrease, and a cooldown that doubles with each cut."""

    TAG = 1
    NAME = "aimd"
    DEFAULT = {
        "start": [10, SECOND],
        "floor": [1, 60 * SECOND],
        "ceiling": [1_000_000, SECOND],
        "step": [1, SECOND],
        "every": 10,
        "keep": [1, 2],
        "cooldown": [10 * MS, 10 * SECOND, 10],
    }
    NAMED = {
        "aimd": {"laws": [{"law": "aimd"}]},
    }

    @staticmethod
    def wrong(config):
        quotas = [config[name] for name in ("start", "floor", "ceiling", "step")]
        error = next(filter(None, (quota_wrong(*quota) for quota in quotas)), None)
        if error:
            return error
        burst = (config["start"] + [1])[2]
        if burst_wrong(law_quota(law_rate(*config["floor"][:2]), burst).interval, burst):
            return "AimdBurst"
        if config["every"] == 0:
            return "AimdEvery"
        if not below_one(config["keep"]):
            return "AimdKeep"
        cooldown = config["cooldown"]
        if cooldown and (cooldown[0] == 0 or cooldown[0] > cooldown[1] or cooldown[2] == 0):
            return "AimdCooldown"
        rates = [law_rate(*config[name][:2]) for name in ("floor", "start", "ceiling")]
        return None if rates == sorted(rates) else "AimdStart"

    def __init__(self, config, now):
        rates = {key: law_rate(*config[key][:2]) for key in ("start", "floor", "ceiling", "step")}
        self.config = {**config, **rates, "burst": (config["start"] + [1])[2]}
        self.rate = self.config["start"]
        self.successes = self.doublings = self.calm = 0

    def quota(self):
        return law_quota(self.rate, self.config["burst"])

    def observe(self, pacing, sample, chance):
        if not sample.fresh:
            return None
        if sample.outcome in PUSHBACK:
            self.cut(pacing, sample, chance)
            return "slower"
        if sample.outcome != "ok":
            return None
        if self.config["cooldown"] and self.doublings > 0:
            self.calm += 1
            if self.calm >= self.config["cooldown"][2]:
                self.calm, self.doublings = 0, self.doublings - 1
        if not sample.rate_limited:
            return None
        self.successes += 1
        if self.successes < self.config["every"]:
            return None
        before = self.rate
        self.set(min(self.rate + self.config["step"], self.config["ceiling"]), pacing, sample.now)
        return "faster" if self.rate > before else None

    def set(self, rate, pacing, now):
        before = self.quota()
        self.rate, self.successes = rate, 0
        pacing.follow(lately(now), before, self.quota())

    def cut(self, pacing, sample, chance):
        self.set(max(part(self.config["keep"], self.rate), self.config["floor"]), pacing, sample.now)
        if self.config["cooldown"]:
            base, most, _ = self.config["cooldown"]
            self.calm = 0
            # Beyond the longest cooldown, successes have nothing to undo.
            if base << self.doublings < most:
                self.doublings += 1
            cooldown = min(base << self.doublings, most)
            pacing.delay(sample.now, min(chance.between(cooldown // 2, cooldown), sample.ceiling))

    def write(self, out):
        out.put("u64", self.rate)
        out.put("u64", self.quota().interval)
        out.put("u16", self.successes)
        out.put("u8", self.doublings)
        out.put("u16", self.calm)

    def read(self, source):
        self.rate, interval, self.successes = source.get("u64"), source.get("u64"), source.get("u16")
        self.doublings, self.calm = source.get("u8"), source.get("u16")
        if not self.config["floor"] <= self.rate <= self.config["ceiling"] or interval != self.quota().interval:
            raise Rejected("OtherPolicy")
