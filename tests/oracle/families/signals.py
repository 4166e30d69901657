"""Responses: every header with every format of value, including invalid ones."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

from exact import END, SECOND, U64
from families.tools import Dice, vector
from signals.codes import AWS_THROTTLES, aws, coap, grpc, mqtt
from signals.http import Reading

CLOCK = 1_740_992_400 * SECOND  # Mon, 03 Mar 2025 09:00:00 GMT
DATE = ["Date", "Mon, 03 Mar 2025 09:00:00 GMT"]

MOMENTS = """0|1|30|120|0.5|1.999999999|1.9999999999|007|999999999|1000000000|1740992460|1740992400|
1740992399|1740992460.25|99999999999|100000000000|1740992460250|99999999999999|100000000000000|
18446744073709551609|18446744073709551610|18446744073709551616|99999999999999999999999|-1|+5|1e3|0x10|
1.|.5|1.5.5|1,2|3, 2|3 ,2|3,|,3|3,,2|3;2| 7 |7 s|soon|6m0s|12ms|1h2m3.5s|1m|90s|250us|250\xc2\xb5s|250\xce\xbcs|7\xc2\xb0s|
7ns|1.5h|1h,2h|2562047h47m16.854775807s|99999999999h|1d|6m0|6m 0s|m|5mss|1h-1m|\xff|5\x00|{}"""

DATES = """Mon, 03 Mar 2025 09:01:00 GMT|Monday, 03-Mar-25 09:01:00 GMT|Mon Mar  3 09:01:00 2025|Mon Mar 03 09:01:00 2025|
2025-03-03T09:01:00Z|2025-03-03T09:01Z|2025-03-03 09:01+01:00|2025-03-03T09:01.5Z|2025-03-03T09:01:61Z|2025-03-03t09:01:00z|2025-03-03 09:01:00Z|2025-03-03T09:01:00.25Z|2025-03-03T10:01:00+01:00|
2025-03-03T03:31:00-05:30|Sun, 06 Nov 1994 08:49:37 GMT|Sunday, 06-Nov-94 08:49:37 GMT|Sun Nov  6 08:49:37 1994|
Sun, 06 Nov 1969 08:49:37 GMT|Thu, 01 Jan 1970 00:00:00 GMT|Fri, 31 Dec 9999 23:59:60 GMT|Tue, 29 Feb 2028 00:00:00 GMT|
Tue, 29 Feb 2027 00:00:00 GMT|Tue, 29 Feb 2000 00:00:00 GMT|Mon, 29 Feb 2100 00:00:00 GMT|Mon, 31 Apr 2025 00:00:00 GMT|
Mon, 00 Mar 2025 00:00:00 GMT|Mon, 32 Mar 2025 00:00:00 GMT|Sat, 03 Mar 2025 09:01:00 GMT|Foo, 03 Mar 2025 09:01:00 GMT|
Mon, 03 Foo 2025 09:01:00 GMT|Mon, 03 Mon 2025 09:01:00 GMT|Mon, 3 Mar 2025 09:01:00 GMT|Mon, 03 Mar 25 09:01:00 GMT|
Mon, 03 Mar 2025 24:00:00 GMT|Mon, 03 Mar 2025 09:60:00 GMT|Mon, 03 Mar 2025 09:00:61 GMT|Mon, 03 Mar 2025 09:01:00 UTC|
Mon, 03 Mar 2025 09:01:00 GMT+1|Mon, 03 Mar 2025 09:01 GMT|Mon 03 Mar 2025 09:01:00 GMT|mon, 03 mar 2025 09:01:00 gmt|
Thursday, 01-Jan-70 00:00:00 GMT|Tuesday, 31-Dec-69 23:59:59 GMT|Mon, 03 March 2025 09:01:00 GMT|0000-01-01T00:00:00Z|
9999-12-31T23:59:59Z|10000-01-01T00:00:00Z|2025-13-01T00:00:00Z|2025-00-01T00:00:00Z|2025-02-30T00:00:00Z|
2025.5-03-03T09:01:00Z|2025-3-03T09:01:00Z|2025-03-03T09:01:00|2025-03-03T09:01:00+0100|2025-03-03T09:01:00+24:00|2025-03-03T09:01:00.Z|
2025-03-03|2554-07-21T23:34:33.709551615Z|2554-07-22T00:00:00Z|Mon, 03 Mar 2025 09:01:00 GMT, Mon, 03 Mar 2025 09:02:00 GMT|
Mon, 03 Mar 2025 09:01:00 GMT, 30|1969-12-31T23:59:59-01:00|1970-01-01T00:00:00+01:00"""

SERVICES = """"default";r=50;t=30|"default";r=50|"default";t=30|"a";r=1, "b";r=2|"a";r=1,"b";r=2 ,"c";r=0|"a";r=5;r=3|"a";r=5, "a";r=3|
default;r=50;t=30|*x;r=5|"default";r=50;t=30.5|"default";r=50.9|"default";r=-1|"default";r=|"default";r|"default"; r=50;  t=30|
"default" ;r=50|"default";r=50;|"default";R=50|"default";rR=50;r=4|"default";r="50"|"default";r=?1|"de\\"fault";r=50|"de\\fault";r=50|
"default;r=50|"";r=50|:YWJj:;r=50|"default";r=50;pk=:cHsdsRa894==:|"default";r=50;pk="x"|"default";r=50;pk=5|limit=100, remaining=50, reset=5|
limit=100|remaining=50|LIMIT=100, Remaining=50|limit=100, remaining=50, reset=5;x=1|limit=100;w=60, remaining=50, reset=5|limit="100"|x=5|
x=5, remaining=2|50|50;r=3|"a";r=1, 5|"a";r=1,|,"a";r=1||"a";r=18446744073709551615|"a";r=18446744073709551616|"a";"b";r=7|
"a";r=7;"b"|"a";r=7;foo|"a";r=7;foo=bar|"a";r=7;foo=-1|"a";r=7;foo=@5|"a";r=7;foo=(1)|"a";r=7;q=9|"a";r=9;q=7|"a";r=0;q=0|
"a";r=1;w=0|"a";r=1;w=0.0000000001|"a";r=7;qu="tokens"|"a";a=50;w=30;c=2|"a";a=5;w=30;t=9|"a";a=5;q=9;w=30|"a";c=2|"a";a=5;c=4294967299|"a";r=5;c=x|"a";r=7;a=5|"\xe4";r=5|"a"\t;r=5|"a";\tr=5"""

POLICIES = """"default";q=100;w=60|"default";q=100|"default";w=60|"a";q=10;w=1, "b";q=1000;w=86400|"a";q=10;w=1;qu="requests"|
"a";q=10;qu="content-bytes"|"a";q=10;qu="concurrent-requests"|"a";q=10;qu="tokens"|"a";q=10;qu="input-tokens"|"a";q=10;qu="quarks"|
"a";q=10;qu=tokens|"a";q=10;qu=5|100;w=60|100;w=60, 1000;w=3600|100|100, 200|100;w=60;comment="x"|100;w=0|100;w=60.5|-100;w=60|
fixed;q=12;w=3|"a";q=0;w=60|"a";q=18446744073709551616;w=1|"a";q=5;w=99999999999999999999|"a";q=5;w=60;pk=:AAAA:|"a";q=5;w="60"|
limit=5|"a";q=5;w=60 "b";q=6|"a";q=5;;w=60|"a";q=5;w=6,|"api";"hf";q=5;w=6"""

COUNTS = """100|0|100, 100;w=60|100;w=60|100, 100;w=60, 1000;w=3600|100, 200|200, 100|100;w=60;x="y"|100;w=0|  100  |+100|-5|1.5|
18446744073709551615|18446744073709551616|100;|100 ;w=60|unlimited|"100"|100,|,100||1000;w=60, 1000;w=3600|5,5,5"""

NAMES = """RateLimit-Limit|ratelimit-remaining|RATELIMIT-RESET|X-RateLimit-Limit|X-Rate-Limit-Limit|X-Rate-Limit-Remaining|X-Rate-Limit-Reset|
X-RateLimit-Reset-After|X-RateLimit-Limit-Requests|X-RateLimit-Remaining-Tokens|x-ratelimit-limit-tokens-minute|x-ratelimit-remaining-minute|
X-RateLimit-Limit-Second|X-RateLimit-Limit-Hour|X-RateLimit-Limit-Day|X-RateLimit-Limit-Month|anthropic-ratelimit-requests-limit|
anthropic-ratelimit-tokens-remaining|anthropic-ratelimit-input-tokens-remaining|anthropic-ratelimit-output-tokens-limit|
anthropic-ratelimit-limit|x-ms-ratelimit-remaining-subscription-reads|x-ms-ratelimit-remaining-tenant-writes|
x-ms-ratelimit-remaining-resource|x-ms-ratelimit-remaining-resource-requests|x-ms-ratelimit-limit-tokens|x-ratelimit-limit-tokens_usage_based|
x-ratelimit-bucket|x-ratelimit-used|x-ratelimit-resource|x-ratelimit-limits|x-ratelimit-limit-|x-ratelimit--limit|x-ratelimit-|
x-ratelimit|ratelimitlimit|ratelimit-policy-x|x-ratelimit-retry-after-x|x-ratelimit-retry-after|X-Rate-Limit-Retry-After-Seconds|
x-rate-limit-retry-after|retry-after-ms|x-ms-retry-after-ms|x-amz-retry-after|Retry-After|retry-after-x|Age|age-x|content-length|
x-ratelimit-requests-reset-after|x-ratelimit-reset-after-requests|x-ratelimit-limit-req-10-seconds|x-ratelimit-daily-limit|
fastly-ratelimit-remaining|x-app-limit-24hour-limit|x-user-limit-24hour-remaining|x-user-limit-24hour-reset|sforce-limit-info|
x-hubspot-ratelimit-max|x-hubspot-ratelimit-remaining|x-hubspot-ratelimit-daily|x-hubspot-ratelimit-daily-remaining|
x-hubspot-ratelimit-secondly-remaining|x-hubspot-ratelimit-interval-milliseconds|x-hubspot-ratelimit-secondly|ratelimitbysize-limit|
ratelimitbysize-reset|ratelimitbysize-query-cost|x-ratelimitbysize-remaining-minute|x-ratelimitbysize-limit-month|x-complexity|x-complexity-x|x-ratelimit-tokens-query-cost|
anthropic-ratelimit-unified-5h-utilization|anthropic-ratelimit-unified-7d-status|anthropic-ratelimit-unified-status|x-ratelimit-utilization|
x-ratelimit-limit-concurrent-requests|x-ratelimit-limit-bytes-day|x-ratelimit-limit-input-output-tokens|x-ratelimit-remaining-limit"""

ODDS = [
    ("X-Shopify-Shop-Api-Call-Limit", "32/40|40/40|41/40|0/0|32/|/40|32|32/40/1| 32/40 |3.5/40.5|-1/40|32 / 40"),
    ("Stripe-Should-Retry", "true|false|FALSE|False|0|| false |falsely|false,true"),
    ("x-should-retry", "false|true|True|no"),
    ("Sforce-Limit-Info", "api-usage=18/15000|api-usage=25/15000; per-app-api-usage=17/250(appName=x)|api-usage=|api-usage|=1/2|a=1/2x|a=3/2,b"),
    ("Stripe-Rate-Limited-Reason", "global-concurrency|endpoint-rate|concurrency|a concurrency||concurrency,x"),
    ("Twilio-Concurrent-Requests", "5|0||x y"),
    ("x-complexity", "143|1.9|-1|4294967296||x"),
    ("ratelimitbysize-query-cost", "0|32|99999999999"),
    ("X-HubSpot-RateLimit-Interval-Milliseconds", "10000|0|0.5|1e4||10000, 5"),
    ("anthropic-ratelimit-unified-5h-utilization", "0|0.42|0.9999|1|1.02|42%|-1|"),
    ("anthropic-ratelimit-unified-5h-status", "allowed|allowed_warning|rejected|Rejected||rejected now"),
    ("X-App-Usage", '{"call_count":28,"estimated_time_to_regain_access":19}|{"a":[{"estimated_time_to_regain_access": 3},{"estimated_time_to_regain_access" :7}]}|{"estimated_time_to_regain_access":0}|{}||"'),
    ("X-Business-Use-Case-Usage", '{"1":[{"call_count":95,"total_cputime":20,"total_time":101}]}|{"1":[{"call_count":99.5}]}|{"call_count" : 7,"total_time": 8}|{"call_count":"7"}|{"call_count":}|{"acall_count":5}|{"call_count":0,"estimated_time_to_regain_access":2}'),
    ("Age", "0|1|0.9|1.5|-1|x||18446744073709551616|0, 5"),
    ("x-amzn-errortype", "ThrottlingException|com.amazon#SlowDown|SlowDown:http://x|RequestTimeout| SlowDown |slowdown|Other|"),
    ("Date", "0|1740992400|Mon, 03 Mar 2025 09:00:00 GMT|5s|1740992400, 1740992401|garbage|"),
]  # fmt: skip


def items(text):
    return text.replace("\n", "").split("|")


def response(name, status, headers, clock=None):
    reading = Reading(status)
    for header, value in headers:
        reading.header(header, value)
    outcome, hint, limits, ignored = reading.finish(clock)
    told = {"outcome": outcome, "hint": hint, "limits": limits, "ignored": ignored}
    return vector("http", name, status=status, clock=clock, headers=[list(header) for header in headers], **told)


def moments():
    """A wait, with and without a clock, and a reset."""
    waits = ["Retry-After", "retry-after-ms", "X-RateLimit-Retry-After"]
    for index, value in enumerate(items(MOMENTS) + items(DATES)):
        status, header = (429, 503, 200, 403, 500)[index % 5], waits[index % 3]
        yield response(f"{header} of {value!r}", 429, [(header, value)], CLOCK)
        yield response(f"wait of {value!r} by {status}", status, [*[tuple(DATE)] * (index % 2), ("Retry-After", value)])
        yield response(f"reset of {value!r}", 200, [("X-RateLimit-Remaining", "3"), ("X-RateLimit-Reset", value)], CLOCK)
    for coarse in ("1", "2", "3", "Mon, 03 Mar 2025 09:00:02 GMT"):
        for fine in ("1", "999", "1000", "1001", "1999", "2000", "2500"):
            both = [("Retry-After", coarse), ("retry-after-ms", fine)]
            yield response(f"waits of {coarse} s and {fine} ms", 429, both, CLOCK)


def lists():
    for status, header, values in [
        (200, "RateLimit", SERVICES),
        (429, "RateLimit-Policy", POLICIES),
        (200, "RateLimit-Limit", COUNTS),
        (429, "X-RateLimit-Remaining", COUNTS),
    ]:
        for value in items(values):
            yield response(f"{header} of {value!r}", status, [(header, value)])


def names():
    for name in items(NAMES):
        for status, value in ((200, "40"), (429, "0")):
            yield response(f"header {name!r} of {value}", status, [(name, value)], CLOCK)
    others = [("Retry-After", "Mon, 03 Mar 2025 09:00:09 GMT"), ("X-RateLimit-Remaining", "0")]
    for name, values in ODDS:
        for value in values.split("|"):
            yield response(f"{name} of {value!r}", 429, [(name, value), *others])


STATUSES = """100 200 201 204 301 304 400 401 403 404 408 409 413 425 428 429 431 451 499
500 501 502 503 504 507 520 522 529 530 598 599 600 999 0 65535"""


def statuses():
    for status in map(int, STATUSES.split()):
        for what, headers in [
            ("alone", []),
            ("with a cooldown", [("Retry-After", "7")]),
            ("with nothing left", [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "9")]),
        ]:
            yield response(f"status {status} {what}", status, headers)


# One response per line, with its headers in any order.
CONTRADICTIONS = """RateLimit-Limit: 10|RateLimit-Remaining: 11
RateLimit-Limit: 0|RateLimit-Remaining: 0
RateLimit-Policy: "a";q=10;w=60|RateLimit: "a";r=1;t=999999
X-RateLimit-Remaining: 7|X-RateLimit-Remaining: 3, 9|X-RateLimit-Remaining: 5
X-RateLimit-Limit: 100|X-RateLimit-Limit: 60|X-RateLimit-Reset: 5|X-RateLimit-Reset: 50
Date: Mon, 03 Mar 2025 09:00:00 GMT|Date: Mon, 03 Mar 2025 09:01:00 GMT|Retry-After: Mon, 03 Mar 2025 09:02:00 GMT
Date: Mon, 03 Mar 2025 09:00:00 GMT|Retry-After: 5|Retry-After: Mon, 03 Mar 2025 09:02:00 GMT
x-amzn-errortype: RequestTimeout|x-amzn-errortype: Throttling|x-amzn-errortype: Nonsense
RateLimit: "a";r=5|RateLimit-Policy: "a";q=9;w=60;qu="bytes"|RateLimit-Policy: "a";q=8;w=90
RateLimit: "a";r=5|RateLimit-Policy: "a";q=9;pk=:YWJj:|RateLimit-Policy: "a";q=9;pk=:ZGVm:
RateLimit: limit=9, remaining=4|RateLimit-Policy: 9;w=60|RateLimit-Policy: 9;w=3600
RateLimit: "a";r=0;t=5, "b";r=0;t=50|RateLimit: "c";r=0|RateLimit: "d";r=0;t=500
x-ms-ratelimit-limit-tokens: 100, 100;w=60|X-RateLimit-Remaining: 12s
x-user-limit-24hour-unknown: 6|retry-after-ms: 7
x-ratelimit-remaining-tokens: 1|x-ratelimit-remaining-bytes: 2|anthropic-ratelimit-input-tokens-remaining: 3|anthropic-ratelimit-output-tokens-remaining: 4|ratelimit-remaining: 5"""

# The remaining calls of two limits. The smaller share binds, exact to one part in 2^32.
SHARES = [
    ((1, 3), (334, 1_000)),
    ((999_999_999, 1_000_000_000), (1, 1)),
    ((3_333_333_333_333_333_333, 9_999_999_999_999_999_999), (1, 2)),
    ((9_223_372_036_854_775_807, U64), (2, 3)),
    ((U64 - (1 << 33), U64), (U64 - 1, U64)),
    ((5, 10), (50, 100)),
    ((10, 10), (U64, U64)),
]


def contradictions():
    for index, text in enumerate(CONTRADICTIONS.split("\n")):
        headers = [tuple(header.split(": ", 1)) for header in text.split("|")]
        for turn, order in enumerate(permutations(headers)):
            yield response(f"contradiction {index}, order {turn}", 429, order)
    for index, shares in enumerate(SHARES):
        headers = []
        for name, (left, limit) in zip("ab", shares, strict=True):
            headers += [("RateLimit", f'"{name}";r={left}'), ("RateLimit-Policy", f'"{name}";q={limit}')]
        yield response(f"shares {index}", 200, headers)
    many = [(f"X-RateLimit-Remaining-Token{number}", "7") for number in range(20)]
    yield response("twenty limits", 200, many)
    listed = ",".join(f'"{number}";r={number}' for number in range(1000))
    yield response("a thousand limits", 200, [("RateLimit", listed)])


LETTERS = '0123456789 \t,;:=.-+"\\abqrtwpkhmsunsGMTZ*?@\xc2\xb5\xce\xbc\xb0\x00\x7f/'
FORMS = {
    "Retry-After": MOMENTS + "|" + DATES,
    "retry-after-ms": MOMENTS,
    "Date": DATES,
    "RateLimit": SERVICES,
    "RateLimit-Policy": POLICIES,
    "RateLimit-Limit": COUNTS,
    "X-RateLimit-Remaining": COUNTS,
    "X-RateLimit-Reset": MOMENTS + "|" + DATES,
}


def misspelt(dice, text):
    letters = list(text)
    for _ in range(dice.below(4)):
        place = dice.below(len(letters) + 1)
        letters[place : place + dice.below(3)] = [dice.of(LETTERS)] * dice.below(3)
    return "".join(letters)


def any_date(dice):
    then = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=dice.below(END // SECOND))
    away = dice.below(1440)
    forms = [
        f"{then:%a, %d %b %Y %H:%M:%S} GMT",
        f"{then:%A, %d-%b-%y %H:%M:%S} GMT",
        f"{then:%a %b} {then.day:2} {then:%H:%M:%S %Y}",
        f"{then:%Y-%m-%dT%H:%M:%SZ}",
        f"{then:%Y-%m-%dT%H:%M:%S}.{dice.below(SECOND):09}{dice.of('+-')}{away // 60:02}:{away % 60:02}",
    ]
    return dice.of(forms)


def any_quota(dice):
    """Two headers about a quota of any name and size."""
    limit, window = 1 + dice.below(10**15 - 1), 1 + dice.below(10**7 - 1)
    name = "".join(chr(dice.of([32, 33, *range(35, 92), *range(93, 127)])) for _ in range(1 + dice.below(30)))
    left, reset = dice.below(limit + 1), dice.below(window + 1)
    return [("RateLimit", f'"{name}";r={left};t={reset}'), ("RateLimit-Policy", f'"{name}";q={limit};w={window};qu="requests"')]


def any_response(dice, number):
    """Headers of any names and formats, some misspelt."""
    headers = any_quota(dice) if dice.below(6) == 0 else []
    is_right = dice.below(2)
    for _ in range(1 + dice.below(dice.of([3, 11]))):
        name = dice.of(list(FORMS))
        value = any_date(dice) if "e" in name and dice.below(4) == 0 else dice.of(items(FORMS[name]))
        if dice.below(3) == 0:
            name, value = dice.of(items(NAMES)), dice.of(["0", "1", "7", "40", "100", "6m0s", "1740992460", value])
        headers.append((name, value) if is_right else (misspelt(dice, name), misspelt(dice, value)))
    return response(f"response {number}", dice.of([200, 200, 429, 403, 503]), headers, dice.of([None, 0, CLOCK]))


def responses():
    dice = Dice(3)
    for number in range(800):
        yield any_response(dice, number)


def codes():
    for code in [*range(20), 255, 2**31, 2**32 - 1]:
        for pushback in (None, "1500", "-1"):
            yield of_grpc(code, pushback)
    for pushback in "0|00| 5 |2147483647|2147483648|18446744073709551616||1.5|+1|0x1|soon|1 2|\xff".split("|"):
        yield of_grpc(14, pushback)
    for code in range(256):
        yield vector("mqtt", f"0x{code:02X}", code=code, outcome=mqtt(code))
    options = [None, *"|\0|\5|\1,|\0\0\1|\xff\xff\xff\xff|\0\0\0\0\5".split("|")]
    for code in range(256):
        for option in options if code in (4 << 5 | 29, 5 << 5 | 3) else [options[code % 8]]:
            age, outcome, hint = coap(code, option)
            name, told = f"{code >> 5}.{code & 31:02}, max-age {option!r}", {"age": age, "outcome": outcome, "hint": hint}
            yield vector("coap", name, code=code, option=option, **told)
    words = "RequestTimeout|RequestTimeoutException|ValidationException||#|:|a#SlowDown|SlowDown#|SlowDown:x#y"
    words += "| Slow Down |slowdown|Throttling |x#y#Throttling:z|SlowDown\xff"
    for code in [*AWS_THROTTLES, *words.split("|")]:
        yield vector("aws", f"{code!r}", code=code, outcome=aws(code))


def of_grpc(code, pushback):
    outcome, hint = grpc(code, pushback)
    return vector("grpc", f"{code}, pushback {pushback!r}", code=code, pushback=pushback, outcome=outcome, hint=hint)


def http():
    for family in (moments, lists, names, statuses, contradictions, responses):
        yield from family()
