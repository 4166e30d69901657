"""The names of rate limit headers."""

EXACT = {
    "date": "date",
    "age": "age",
    "retry-after-ms": "fine",
    "x-ms-retry-after-ms": "fine",
    "x-amz-retry-after": "fine",
    "retry-after": "cooldown",
    "x-ratelimit-retry-after": "delay",
    "x-rate-limit-retry-after-seconds": "delay",
    "ratelimit-policy": "policy",
    "ratelimit": "service",
    "x-shopify-shop-api-call-limit": "used/limit",
    "x-amzn-errortype": "aws",
    "x-should-retry": "retry",
    "stripe-should-retry": "retry",
    "sforce-limit-info": "used/limit",
    "x-hubspot-ratelimit-max": "limit",
    "x-hubspot-ratelimit-interval-milliseconds": "period",
    "x-hubspot-ratelimit-daily": "limit",
    "x-hubspot-ratelimit-daily-remaining": "remaining",
    "ratelimitbysize-query-cost": "cost",
    "x-ratelimit-tokens-query-cost": "cost",
    "x-complexity": "cost",
    "stripe-rate-limited-reason": "reason",
    "twilio-concurrent-requests": "reason",
    "x-business-use-case-usage": "usage",
    "x-app-usage": "usage",
    "beta-ratelimit": "service",
    "beta-ratelimit-policy": "policy",
}
# The name of the limit in these headers, if not `ratelimit`.
CALLED = {
    "x-shopify-shop-api-call-limit": "shopify",
    "sforce-limit-info": "api-usage",
    "x-hubspot-ratelimit-max": "hubspot",
    "x-hubspot-ratelimit-interval-milliseconds": "hubspot",
    "x-hubspot-ratelimit-daily": "daily",
    "x-hubspot-ratelimit-daily-remaining": "daily",
    "ratelimitbysize-query-cost": "minute",
    "x-ratelimit-tokens-query-cost": "tokens-minute",
    "x-complexity": "complexity",
    "twilio-concurrent-requests": "twilio",
    "x-business-use-case-usage": "usage",
    "x-app-usage": "usage",
}
FAMILIES = {
    "ratelimit-": "ratelimit",
    "x-ratelimit-": "x-ratelimit",
    "x-rate-limit-": "x-ratelimit",
    "anthropic-ratelimit-": "anthropic",
    "x-ms-ratelimit-": "x-ms",
    "fastly-ratelimit-": "fastly",
    "x-app-limit-24hour-": "app-limit-24hour",
    "x-user-limit-24hour-": "user-limit-24hour",
    "x-hubspot-ratelimit-": "hubspot",
    "ratelimitbysize-": "minute",
    "x-ratelimitbysize-": "minute",
}
NUMBERS = ["reset-after", "reset", "remaining", "limit"]
NAMES = [*NUMBERS, "utilization", "status"]


def header(name):
    """The kind of a header, the name of its limit, and a qualifier."""
    name = name.lower()
    if name in EXACT:
        return EXACT[name], CALLED.get(name, "ratelimit"), ""
    families = [family for family in FAMILIES if name.startswith(family)]
    family = max(families, key=len, default=None)
    taken = [known for known in EXACT if name.startswith(known) and len(known) > len(family or "")]
    if taken or name.startswith("x-ms-ratelimit-remaining-resource"):
        return None
    if family is None:
        return None
    rest = name[len(family) :]
    for number in NAMES:
        if rest == number:
            return number, FAMILIES[family], ""
        if rest.startswith(number):
            if rest.startswith(number + "-"):
                return number, FAMILIES[family], rest[len(number) + 1 :]
            break
    qualifier, dash, number = rest.rpartition("-")
    return (number, FAMILIES[family], qualifier) if dash and number in NAMES else None
