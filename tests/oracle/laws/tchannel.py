"""`tchannel`: TChannel's limit per second, as in its program."""

from copy import copy
from fractions import Fraction

from exact import END, SECOND, U32, U64, floor, since, within
from laws.base import Law
from pacing import Never
from record import Rejected

GRAIN = Fraction(1, 2**36)
MOST_HALVINGS = 20


class Tchannel(Law):
    TAG = 2
    NAME = "tchannel"
    DEFAULT = {"most": 9_999_999, "over": "wait"}
    NAMED = {
        "tchannel": {"laws": [{"law": "tchannel", "rate": 3}]},
    }

    @classmethod
    def whole(cls, config):
        rate = {} if "value" in config else {"rate": 3}
        return {**cls.DEFAULT, **rate, **config}

    @staticmethod
    def wrong(config):
        if config["most"] > 9_999_999:
            return "TchannelMost"
        rate, value = config.get("rate"), config.get("value")
        if rate is not None and rate > 14:
            return "TchannelRate"
        return "TchannelRecovery" if value == 0 or rate == 0 else None

    def __init__(self, config, now):
        self.config = config
        self.most = Fraction(config["most"])
        self.second, self.limit = now, self.most
        self.sent = self.busy = 0

    def grown(self, seconds):
        """The limit after this many quiet seconds, capped at the maximum."""
        if "value" in self.config:
            return min(self.limit + self.config["value"] * seconds, self.most)
        factor = self.config["rate"] + 1
        limit = self.limit
        # A limit of at least one grain reaches the maximum after 60 doublings.
        for _ in range(min(seconds, 64)):
            limit = min(limit * factor, self.most)
        return limit

    def end_second(self):
        limit = self.limit * (self.config.get("rate", 0) + 1) + self.config.get("value", 0)
        # The value to be halved has 64 bits, so it saturates from 2^28 calls a second.
        limit = min(limit, U64 * GRAIN) / 2 ** min(self.busy, MOST_HALVINGS)
        # Fractions of a grain are dropped, but at least one grain remains.
        self.limit = max(GRAIN, min(floor(limit / GRAIN) * GRAIN, self.most))
        self.sent = self.busy = 0
        self.second = within(self.second + SECOND)

    def pass_time(self, now):
        """One update for each second that has ended."""
        ended = since(self.second, now) // SECOND
        at_end = self.second + ended * SECOND
        if ended > 0:
            self.end_second()
            self.limit = self.grown(ended - 1)
        self.second = at_end

    def room(self):
        return floor(self.limit) - self.sent

    def check(self, now, in_flight, retry=False):
        state = copy(self)
        state.pass_time(now)
        if state.room() > 0:
            return 0
        if self.config["over"] == "reject":
            raise Never("over-limit")
        for _ in range(64):
            state.end_second()
            if state.room() > 0:
                break
        if state.second == END:
            raise Never("never")
        return state.second

    def released(self, now, cooldown_end, cost, attempt, chance):
        self.pass_time(now)
        self.sent = within(self.sent + 1, U32)

    def observe(self, pacing, sample, chance):
        before = self.limit
        self.pass_time(sample.now)
        if sample.outcome in ("throttled", "busy"):
            self.busy = within(self.busy + 1, U32)
            return "slower"
        return "faster" if self.limit > before else None

    def write(self, out):
        out.put("instant", self.second)
        out.put("u64", int(self.limit / GRAIN))
        out.put("u32", self.sent)
        out.put("u32", self.busy)

    def read(self, source):
        self.second, self.limit = source.get("instant"), source.get("u64") * GRAIN
        self.sent, self.busy = source.get("u32"), source.get("u32")
        if not GRAIN <= self.limit <= self.most:
            raise Rejected("OtherPolicy")
