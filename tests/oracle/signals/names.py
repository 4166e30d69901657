"""The names of headers that are about limits."""

EXACT = {
    "date": "date",
    "age": "age",
    "retry-after-ms": "fine",
    "x-ms-retry-after-ms": "fine",
    "x-amz-retry-after": "fine",
    "retry-after": "pause",
    "x-ratelimit-retry-after": "delay",
    "x-rate-limit-retry-after-seconds": "delay",
    "ratelimit-policy": "policy",
    "ratelimit": "service",
    "x-shopify-shop-api-call-limit": "used/limit",
    "x-amzn-errortype": "aws",
    "x-should-retry": "retry",
    "stripe-should-retry": "retry",
}
FAMILIES = {
    "ratelimit-": "ratelimit",
    "x-ratelimit-": "x-ratelimit",
    "x-rate-limit-": "x-ratelimit",
    "anthropic-ratelimit-": "anthropic",
    "x-ms-ratelimit-": "x-ms",
}
NUMBERS = ["reset-after", "reset", "remaining", "limit"]


def header(name):
    """What a header is about, the name of its limit, and the word that qualifies it."""
    name = name.lower()
    if name in EXACT:
        kind = EXACT[name]
        return kind, "shopify" if kind == "used/limit" else "ratelimit", ""
    taken = [known for known in EXACT if name.startswith(known) and known + "-" not in FAMILIES]
    if taken or name.startswith("x-ms-ratelimit-remaining-resource"):
        return None
    family = next((family for family in FAMILIES if name.startswith(family)), None)
    if family is None:
        return None
    rest = name[len(family) :]
    for number in NUMBERS:
        if rest == number:
            return number, FAMILIES[family], ""
        if rest.startswith(number):
            if rest.startswith(number + "-"):
                return number, FAMILIES[family], rest[len(number) + 1 :]
            break
    qualifier, dash, number = rest.rpartition("-")
    return (number, FAMILIES[family], qualifier) if dash and number in NUMBERS else None
