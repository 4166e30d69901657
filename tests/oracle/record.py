"""The record of a controller: little-endian numbers, and a checksum at the end.

Instants are stored relative to the record's instant, so it does not depend on the clock's epoch.
"""

from exact import END, LAST, within

VERSION = 3
NEVER = 2**63 - 1
FARTHEST = NEVER - 1  # 292 years in either direction.


def fnv1a(data, digest=0x811C9DC5):
    for byte in data:
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return digest


SIZES = {"flag": 1, "instant": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "i8": 1, "i16": 2, "i32": 4}
"""The bytes of each kind of value."""


class Writer:
    def __init__(self, now):
        self.now, self.data = now, bytearray()

    def put(self, kind, value):
        if kind == "instant":
            value = NEVER if value == END else max(-FARTHEST, min(value - self.now, FARTHEST))
        self.data += int(value).to_bytes(SIZES[kind], "little", signed=kind[0] == "i")

    def variant(self, size, tag, write=lambda out: None):
        """A tag and its content, padded to a size that all variants share."""
        end = len(self.data) + size
        self.put("u8", tag)
        write(self)
        self.data += bytes(end - len(self.data))


class Rejected(Exception):
    """A rejected record and the reason."""


class Reader:
    def __init__(self, data, now, away):
        self.data, self.at, self.now, self.away = data, 0, now, away
        self.then = within(now - away)

    def get(self, kind):
        start, self.at = self.at, self.at + SIZES[kind]
        value = int.from_bytes(self.data[start : self.at], "little", signed=kind[0] == "i")
        if kind == "flag" and value > 1:
            raise Rejected("OtherPolicy")
        if kind == "instant":
            value = END if value == NEVER else within(self.now + value - self.away, LAST if value >= self.away else END)
        return value == 1 if kind == "flag" else value

    def variant(self, size, kinds):
        """The content of one of the variants. `kinds` has a function for each tag."""
        end = self.at + size
        tag = self.get("u8")
        if tag not in kinds:
            raise Rejected("OtherPolicy")
        value = kinds[tag](self)
        self.at = end
        return value


def seal(limits, write, now):
    out = Writer(now)
    out.put("u8", VERSION)
    out.put("u8", limits)
    write(out)
    return bytes(out.data) + fnv1a(out.data).to_bytes(4, "little")


def unseal(data, limits, length, now, away):
    if not data or (data[0] != VERSION and len(data) != length):
        raise Rejected("Length")
    if data[0] != VERSION:
        raise Rejected("Version")
    if len(data) != length:
        raise Rejected("Length")
    if fnv1a(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise Rejected("Damaged")
    source = Reader(data[:-4], now, away)
    source.get("u8")
    if source.get("u8") != limits:
        raise Rejected("OtherPolicy")
    return source
