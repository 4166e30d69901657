"""`autosleeper`: AutoSleeper, as in its source and corrected."""

from exact import END, MS, SECOND, U16, U64, part, part_up, since, within
from laws.base import Law, above_one, below_one


class Autosleeper(Law):
    TAG = 7
    LATE = 0
    NAME = "autosleeper"
    DEFAULT = {
        "initial": 500 * MS,
        "most": 900 * SECOND,
        "up": [3, 2],
        "down": [9, 10],
        "threshold": 10,
        "spread": [3, 10],
        "most_spread": 120 * SECOND,
        "variant": "mended",
    }
    NAMED = {
        "autosleeper": {"laws": [{"law": "autosleeper"}], "backoff": None},
    }
    SITUATIONS = [
        ("by default", {"named": "autosleeper"}),
        ("faithful", {"laws": [{"law": "autosleeper", "variant": "faithful"}], "backoff": None}),
        (
            "as its source's test",
            {
                "laws": [
                    {
                        "law": "autosleeper",
                        "variant": "faithful",
                        "initial": 1000,
                        "up": [2, 1],
                        "down": [1, 2],
                        "threshold": 5,
                        "spread": [0, 1],
                    }
                ]
            },
        ),
        (
            "faithful, out of order",
            {
                "laws": [
                    {
                        "law": "autosleeper",
                        "variant": "faithful",
                        "initial": 20 * SECOND,
                        "most": SECOND,
                        "threshold": 0,
                        "spread": [1, 1],
                    }
                ]
            },
        ),
        (
            "by nanoseconds",
            {
                "laws": [
                    {
                        "law": "autosleeper",
                        "initial": 1,
                        "most": END,
                        "up": [11, 10],
                        "down": [999, 1000],
                        "threshold": 1,
                        "spread": [0, 1],
                    }
                ]
            },
        ),
    ]

    @staticmethod
    def wrong(config):
        mended = config["variant"] == "mended"
        errors = [
            ("ZeroInitial", config["initial"] == 0),
            ("UpBelowOne", below_one(config["up"])),
            ("DownAboveOne", above_one(config["down"])),
            ("SpreadAboveOne", above_one(config["spread"])),
            ("InitialAboveMost", mended and config["initial"] > config["most"]),
            ("ZeroThreshold", mended and config["threshold"] == 0),
        ]
        return next((error for error, is_wrong in errors if is_wrong), None)

    def __init__(self, config, now):
        self.config = config
        self.faithful = config["variant"] == "faithful"
        self.now_delay, self.successes, self.quiet_from = 0, 0, now

    def interval(self, now):
        return self.now_delay or None

    def higher(self):
        """The source rounds down. The corrected variant rounds up, or a delay of one nanosecond
        would never grow."""
        if self.now_delay == 0:
            return self.config["initial"]
        return (part if self.faithful else part_up)(self.config["up"], self.now_delay)

    def spread(self, delay, most, chance):
        if self.config["spread"] == [0, 1]:
            return delay
        reach = min(part(self.config["spread"], delay), self.config["most_spread"])
        return chance.between(within(delay - reach), min(within(delay + reach), most))

    def or_none(self, delay):
        return 0 if delay < self.config["initial"] else delay

    def lower(self):
        return part(self.config["down"], self.now_delay)

    def keep_back(self, pacing, now, chance):
        delay = self.spread(self.now_delay, self.config["most"], chance)
        pacing.delay(now, delay)
        self.quiet_from = max(self.quiet_from, within(now + delay))

    def released(self, pacing, now, cost, attempt, chance):
        if self.faithful:
            return
        # Silence lowers the delay like successes. 256 steps suffice for any policy.
        silence = since(self.quiet_from, now)
        for _ in range(256):
            stretch = within(self.now_delay * self.config["threshold"])
            if self.now_delay == 0 or silence < stretch:
                break
            silence -= stretch
            self.now_delay = self.or_none(self.lower())
        self.keep_back(pacing, now, chance)

    def observe(self, pacing, sample, chance):
        if self.faithful:
            moved = self.observe_faithfully(sample, chance)
            pacing.delay(sample.now, self.now_delay)
            return moved
        moved = self.observe_mended(sample)
        if moved == "slower":
            self.keep_back(pacing, sample.now, chance)
        self.quiet_from = max(self.quiet_from, sample.now)
        return moved

    def observe_faithfully(self, sample, chance):
        if sample.outcome != "ok":
            if self.now_delay == 0:
                self.now_delay = self.config["initial"]
            else:
                self.now_delay = min(self.spread(self.higher(), U64, chance), self.config["most"])
            return "slower"
        if self.now_delay == 0:
            return None
        self.successes = within(self.successes + 1, U16)
        if self.successes != self.config["threshold"]:
            return None
        self.successes = 0
        self.now_delay = self.or_none(self.spread(self.lower(), U64, chance))
        return "faster"

    def observe_mended(self, sample):
        if not sample.fresh:
            return None
        if sample.outcome != "ok":
            self.now_delay = min(self.higher(), self.config["most"])
            self.successes = 0
            return "slower"
        if self.now_delay == 0 or not sample.rate_limited:
            return None
        self.successes = within(self.successes + 1, U16)
        if self.successes < self.config["threshold"]:
            return None
        self.successes = 0
        self.now_delay = self.or_none(self.lower())
        return "faster"

    def write(self, out):
        out.u64(self.now_delay)
        out.u16(self.successes)
        out.instant(self.quiet_from)

    def read(self, source):
        self.now_delay, self.successes = source.u64(), source.u16()
        self.quiet_from = source.instant()
