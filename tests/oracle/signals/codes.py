"""The codes of HTTP, gRPC, MQTT 5, CoAP and AWS, as numbered by their specifications."""

import re

from exact import SECOND


def http_status(status):
    if status == 429:
        return "throttled"
    if status in (503, 529):
        return "busy"
    if status in (501, 505, 508):
        return "ok"
    return "failed" if status == 408 or 500 <= status <= 599 else "ok"


# gRPC's statuscodes.md, from OK (0) to UNAUTHENTICATED (16).
GRPC = {0: "ok", 1: "abandoned", 2: "failed", 3: "ok", 4: "failed", 8: "throttled", 13: "failed"}
GRPC.update({14: "busy", 15: "failed"})


def grpc(code, pushback):
    """The outcome and the hint. A pushback that is not a number forbids another attempt (gRFC
    A6)."""
    outcome = GRPC.get(code, "ok" if code <= 16 else "failed")
    if pushback is None or outcome in ("ok", "abandoned"):
        return outcome, {}
    if re.fullmatch("[ \t]*[0-9]+[ \t]*", pushback) and int(pushback) < 2**31:
        return outcome, {"after": int(pushback) * 10**6}
    return outcome, {"should_retry": False}


def mqtt(reason):
    if reason in (0x03, 0x88, 0x89):
        return "busy"
    if reason in (0x06, 0x93, 0x96, 0x97, 0x9F):
        return "throttled"
    return "failed" if reason in (0x80, 0x83, 0x8B, 0x8D) else "ok"


def coap(code, option):
    """The age in an option, the outcome and the hint."""
    age = (
        None
        if option is None or len(option) > 4
        else int.from_bytes(option.encode("latin-1"), "big")
    )
    kind, detail = divmod(code, 32)
    if (kind, detail) not in ((4, 29), (5, 3)):
        return age, "failed" if kind == 5 else "ok", {}
    cooldown = 60 if age is None else age
    return age, "throttled" if kind == 4 else "busy", {"after": cooldown * SECOND}


AWS_THROTTLES = """BandwidthLimitExceeded EC2ThrottledException LimitExceededException
PriorRequestNotComplete ProvisionedThroughputExceededException RequestLimitExceeded RequestThrottled
RequestThrottledException SlowDown ThrottledException Throttling ThrottlingException
TooManyRequestsException TransactionInProgressException""".split()


def aws(code):
    """The meaning of an error code. Text before a # and after a : is ignored."""
    code = code.partition(":")[0].rpartition("#")[2].replace(" ", "")
    if code in AWS_THROTTLES:
        return "throttled"
    return "failed" if code in ("RequestTimeout", "RequestTimeoutException") else None
