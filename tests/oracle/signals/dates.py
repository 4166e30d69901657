"""Points in time in every format that servers use (RFC 9110, RFC 3339, Go), as milliseconds or, of a date, seconds."""

import re
from datetime import date

from exact import U32, within

IN, AT = "in", "at"
MOST = U32 - 1

DAYS = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[A-Za-z]*"
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
MONTH = f"(?P<name>{'|'.join(MONTHS)})[A-Za-z]*"
CLOCK = "(?P<h>[0-9]{2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2})"
DATES = [
    f"{DAYS}, (?P<day>[0-9]{{2}}) {MONTH} (?P<year>[0-9]{{4}}) {CLOCK} GMT",
    f"{DAYS}, (?P<day>[0-9]{{2}})-{MONTH}-(?P<short>[0-9]{{2}}) {CLOCK} GMT",
    f"{DAYS} {MONTH} (?P<day> [0-9]|[0-9]{{2}}) {CLOCK} (?P<year>[0-9]{{4}})",
    "(?P<year>[0-9]+)-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})[Tt ](?P<h>[0-9]{2}):(?P<m>[0-9]{2})"
    "(?::(?P<s>[0-9]{2}))?(?:\\.(?P<part>[0-9]+))?"
    "(?:[Zz]|(?P<zone>[+-][0-9]{2}:[0-9]{2}))",
]
NUMBER = "[0-9]+(?:\\.[0-9]+)?"
SIXTIES = {"h": 3600, "m": 60, "s": 1}
UNIT = "h|m(?!s)|s|ms|us|\xc2\xb5s|\xce\xbcs|ns"
DURATION = f"(?:{NUMBER}(?:{UNIT}))+"


class Garbage(Exception):
    """Invalid input."""


def whole(digits):
    """The integer part of a decimal number. The last few values that fit count as the maximum."""
    number = int(digits.partition(".")[0])
    return number if number < U32 // 10 * 10 else MOST


def scaled(digits, places):
    """A decimal number times a power of ten, rounded up."""
    head, _, fraction = digits.partition(".")
    number = whole((head + fraction[:places]).ljust(len(head) + places, "0"))
    return within(number + (fraction[places:].strip("0") != ""), U32)


def midnight(year, month, day):
    """Days since 1970. `None` for earlier dates."""
    if year > 9999:
        raise Garbage
    try:
        # The calendar repeats after 400 years, which makes the year zero representable.
        days = date(year + 400 if year == 0 else year, month, day).toordinal()
    except ValueError:
        raise Garbage from None
    return 0 if year < 1970 else days - date(1970, 1, 1).toordinal()


def clock(h, m, s):
    if h >= 24 or m >= 60 or s >= 61:
        raise Garbage
    return h * 3600 + m * 60 + s


def instant(found):
    """The seconds since 1970 of a date, rounded up."""
    told = found.groupdict()
    if told.get("short"):
        short = int(told["short"])
        year = short + (2000 if short < 70 else 1900)
    else:
        year = int(told["year"])
    month = MONTHS.index(told["name"]) + 1 if told.get("name") else int(told["month"])
    seconds = midnight(year, month, int(told["day"])) * 86_400
    seconds += clock(int(told["h"]), int(told["m"]), int(told["s"] or 0))
    if told.get("part"):
        seconds += told["part"].strip("0") != ""
    seconds = within(seconds, MOST)
    if told.get("zone"):
        sign, offset = told["zone"][0], told["zone"][1:].split(":")
        ahead = clock(int(offset[0]), int(offset[1]), 0)
        seconds = within(seconds - ahead if sign == "+" else seconds + ahead, MOST)
    return seconds


def meaning(scale, digits):
    """What a bare number stands for, and its value."""
    number = int(digits.partition(".")[0])
    if scale in ("seconds", "millis"):
        return IN, scaled(digits, 3 if scale == "seconds" else 0)
    if number < 10**9:
        return IN, scaled(digits, 3)
    if 10**11 <= number < 10**14:
        return AT, within(-(-number // 1000), MOST)
    if whole(digits) < MOST:
        return AT, scaled(digits, 0)
    if scale == "any":
        return IN, MOST
    raise Garbage


def moment(text, at, scale):
    """The reference of the point in time, its value, and the rest of the text."""
    for form in DATES:
        found = re.compile(form).match(text, at)
        if found:
            return AT, instant(found), found.end()
    found = re.compile(DURATION).match(text, at)
    if found:
        sum_of_parts = 0
        for digits, unit in re.findall(f"({NUMBER})({UNIT})", found.group()):
            if unit in SIXTIES:
                sum_of_parts += scaled(digits, 3) * SIXTIES[unit]
            else:
                sum_of_parts += scaled(digits, 0) if unit == "ms" else min(scaled(digits, 0), 1)
        return IN, within(sum_of_parts, MOST), found.end()
    found = re.compile(f"({NUMBER})(?=[ \t,]|\\Z)").match(text, at)
    if not found:
        raise Garbage
    part, value = meaning(scale, found.group(1))
    return part, within(value, MOST), found.end()


def moments(text, scale):
    """All points in time of a list, as the latest of each kind."""
    at, told = 0, {}
    while True:
        part, value, at = moment(text, at, scale)
        told[part] = max(value, told.get(part, 0))
        at = behind_comma(text, at)
        if at is None:
            return told


def behind_comma(text, at):
    """The start of the next member of a list. `None` at the end."""
    found = re.compile("[ \t]*(?:\\Z|,[ \t]*)").match(text, at)
    if not found:
        raise Garbage
    return None if "," not in found.group() else found.end()
