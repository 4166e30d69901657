"""Policies: what a vector leaves out is the default, and what makes no sense is refused by name."""

import backoff
from exact import SECOND, U64
from laws.adaptive import Adaptive
from laws.base import MOST_BURST
from laws.busy import Busy
from laws.cubic import Cubic
from laws.proportional import Proportional
from laws.responsive import Responsive
from laws.simple import Aimd, Crowd, Fixed, law_rate
from laws.vegas import Vegas

MS = 10**6

LAWS = {
    "adaptive": (Adaptive, {"quota": None}),
    "aimd": (
        Aimd,
        {
            "start": [10, SECOND],
            "floor": [1, 60 * SECOND],
            "ceiling": [1_000_000, SECOND],
            "step": [1, SECOND],
            "every": 10,
            "keep": [1, 2],
            "pause": [10 * MS, 10 * SECOND, 10],
        },
    ),
    "busy": (Busy, {"most": 9_999_999, "over": "wait", "variant": "promised"}),
    "crowd": (Crowd, {"start": 4, "most": 1000, "keep": [9, 10]}),
    "cubic": (Cubic, {}),
    "fixed": (Fixed, {"quota": None}),
    "proportional": (
        Proportional,
        {
            "strategy": "remaining",
            "start": 0,
            "add": 800 * MS,
            "times": [6, 5],
            "floor": 0,
            "divisor": 4500,
            "jitter": [1, 10],
            "spare_first": False,
            "once_per_event": False,
            "calm": None,
        },
    ),
    "responsive": (
        Responsive,
        {
            "initial": 500 * MS,
            "most": 900 * SECOND,
            "up": [3, 2],
            "down": [9, 10],
            "threshold": 10,
            "spread": [3, 10],
            "most_spread": 120 * SECOND,
            "variant": "mended",
        },
    ),
    "vegas": (Vegas, {}),
}

RULES = {
    "hold": [3600 * SECOND, [1, 8]],
    "window": [65_535, 300 * SECOND],
    "budget": None,
    "backoff": backoff.DEFAULT,
    "attempts": None,
    "elapsed": None,
}

EXACT = [3600 * SECOND, [0, 1]]
NAMED = {
    "adaptive": {"laws": [{"law": "adaptive"}], "backoff": None, "hold": EXACT},
    "none": {"laws": [{"law": "fixed"}], "backoff": None},
    "backoff": {"laws": [{"law": "fixed"}]},
    "fixed": {"laws": [{"law": "fixed", "quota": [10, SECOND]}]},
    "aimd": {"laws": [{"law": "aimd"}]},
    "crowd": {"laws": [{"law": "crowd"}]},
    "vegas": {"laws": [{"law": "vegas"}]},
    "responsive": {"laws": [{"law": "responsive"}], "backoff": None},
    "busy": {"laws": [{"law": "busy", "rate": 3}]},
    "cubic": {"laws": [{"law": "cubic"}]},
    "gradual": {
        "laws": [{"law": "proportional", "strategy": ["gradual", 800 * MS]}],
        "backoff": None,
    },
    "proportional": {
        "laws": [{"law": "proportional", "strategy": "proportional"}],
        "backoff": None,
    },
    "remaining": {"laws": [{"law": "proportional"}], "backoff": None},
}


def law_of(config, now):
    return LAWS[config["law"]][0](config, now)


def whole_law(config):
    default = LAWS[config["law"]][1]
    if config["law"] == "busy" and "value" not in config:
        default = {**default, "rate": 3}
    return {**default, **config}


def whole(policy):
    """The policy with all that it leaves out."""
    if "named" in policy:
        policy = {**NAMED[policy["named"]], **{k: v for k, v in policy.items() if k != "named"}}
    laws = [whole_law(config) for config in policy["laws"]]
    return {**RULES, **policy, "laws": laws}


def below_one(ratio):
    return ratio[0] < ratio[1]


def above_one(ratio):
    return ratio[0] > ratio[1]


def wrong(policy):
    """What is wrong with a whole policy, by the name of the error; `None` where nothing is."""
    found = [law_wrong(law) for law in policy["laws"]]
    ceiling, spread = policy["hold"]
    found.append("ZeroCeiling" if ceiling == 0 else "SpreadAboveOne" if above_one(spread) else None)
    limit, lease = policy["window"]
    found.append("ZeroLimit" if limit == 0 else "ZeroLease" if lease == 0 else None)
    if policy["budget"]:
        earns, reserve = policy["budget"]
        found.append("ZeroReserve" if reserve == 0 else "ZeroRatio" if earns[0] == 0 else None)
    if policy["backoff"]:
        found.append(backoff_wrong(*policy["backoff"]))
    return next((error for error in found if error), None)


def backoff_wrong(growth, jitter, base, most):
    if base == 0:
        return "ZeroBase"
    if base > most:
        return "BaseAboveMost"
    if growth[0] == "exponential" and below_one(growth[1:]):
        return "FactorBelowOne"
    return "SpreadAboveOne" if jitter[0] == "spread" and above_one(jitter[1:]) else None


def quota_wrong(count, period, burst=1):
    if count == 0:
        return "ZeroCount"
    if period == 0:
        return "ZeroPeriod"
    if burst == 0:
        return "ZeroBurst"
    return "BurstTooLarge" if period * burst > U64 else None


def law_wrong(law):
    checks = {
        "adaptive": lambda: law["quota"] and quota_wrong(*law["quota"]),
        "fixed": lambda: law["quota"] and quota_wrong(*law["quota"]),
        "aimd": lambda: aimd_wrong(**{k: v for k, v in law.items() if k != "law"}),
        "busy": lambda: busy_wrong(law),
        "crowd": lambda: (
            "KeepNotBelowOne"
            if not below_one(law["keep"])
            else "StartAboveMost"
            if law["start"] > law["most"]
            else None
        ),
        "proportional": lambda: proportional_wrong(law),
        "responsive": lambda: responsive_wrong(law),
    }
    return checks.get(law["law"], lambda: None)()


def aimd_wrong(start, floor, ceiling, step, every, keep, pause):
    for quota in (start, floor, ceiling, step):
        if quota_wrong(*quota):
            return quota_wrong(*quota)
    if (start + [1])[2] > MOST_BURST:
        return "Burst(BurstTooLarge)"
    if every == 0:
        return "ZeroEvery"
    if not below_one(keep):
        return "KeepNotBelowOne"
    if pause and (pause[0] == 0 or pause[0] > pause[1] or pause[2] == 0):
        return "Pause"
    rates = [law_rate(*quota[:2]) for quota in (floor, start, ceiling)]
    return None if rates == sorted(rates) else "StartOutside"


def busy_wrong(law):
    if law["most"] > 9_999_999:
        return "MostTooLarge"
    rate, value = law.get("rate"), law.get("value")
    if rate is not None and rate > 14:
        return "RateTooLarge"
    stuck = value == 0 or rate == 0 or (rate == 1 and law["variant"] == "promised")
    return "NoRecovery" if stuck else None


def proportional_wrong(law):
    if below_one(law["times"]):
        return "TimesBelowOne"
    stays = law["start"] > 0 and law["floor"] > 0 and law["strategy"] != "exponential"
    if law["add"] == 0 and not stays:
        return "StuckAtZero"
    return "ZeroCalm" if law["calm"] == 0 else None


def responsive_wrong(law):
    mended = law["variant"] == "mended"
    for error, is_wrong in [
        ("ZeroInitial", law["initial"] == 0),
        ("UpBelowOne", below_one(law["up"])),
        ("DownAboveOne", above_one(law["down"])),
        ("SpreadAboveOne", above_one(law["spread"])),
        ("InitialAboveMost", mended and law["initial"] > law["most"]),
        ("ZeroThreshold", mended and law["threshold"] == 0),
    ]:
        if is_wrong:
            return error
    return None
