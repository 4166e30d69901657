"""Policies: defaults for missing settings, and named errors for invalid ones."""

import backoff
from exact import SECOND
from laws import LAWS
from laws.base import above_one, below_one

RULES = {
    "cooldown": [3600 * SECOND, [1, 8]],
    "concurrency": 65_535,
    "retry_budget": None,
    "backoff": backoff.DEFAULT,
    "attempts": 10,
    "elapsed": None,
}

NAMED = {name: policy for law in LAWS.values() for name, policy in law.NAMED.items()}


def law_of(config, now):
    return LAWS[config["law"]](config, now)


def whole(policy):
    """The policy with all defaults."""
    if "named" in policy:
        policy = {**NAMED[policy["named"]], **{k: v for k, v in policy.items() if k != "named"}}
    laws = [LAWS[config["law"]].whole(config) for config in policy["laws"]]
    patience = 0 if "attempts" in policy else 120 * SECOND
    return {**RULES, **policy, "laws": laws, "patience": patience}


def wrong(policy):
    """The error of a complete policy, by name. `None` if it is valid."""
    found = [LAWS[law["law"]].wrong(law) for law in policy["laws"]]
    ceiling, spread = policy["cooldown"]
    found.append("CooldownCeiling" if ceiling == 0 else "CooldownSpread" if above_one(spread) else None)
    if policy["retry_budget"]:
        earns, reserve = policy["retry_budget"]
        found.append("RetryBudgetReserve" if reserve == 0 else "RetryBudgetRatio" if earns[0] == 0 else None)
    if policy["backoff"]:
        found.append(backoff_wrong(*policy["backoff"]))
    return next((error for error in found if error), None)


def backoff_wrong(growth, jitter, base, most):
    if base == 0:
        return "BackoffBase"
    if base > most:
        return "BackoffMost"
    if growth[0] == "exponential" and below_one(growth[1:]):
        return "BackoffFactor"
    return "BackoffSpread" if jitter[0] == "spread" and above_one(jitter[1:]) else None
