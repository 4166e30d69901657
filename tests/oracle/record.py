"""The record of a controller: little-endian numbers, and a checksum at the end.

Instants are stored relative to the record's instant, so it does not depend on the clock's epoch.
"""

from exact import END, LAST, U64, within

VERSION = 3
NEVER = 2**63 - 1
FARTHEST = NEVER - 1  # 292 years in either direction.


def fnv1a(data, digest=0x811C9DC5):
    for byte in data:
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return digest


class Writer:
    def __init__(self, now):
        self.now, self.data = now, bytearray()

    def number(self, value, size):
        self.data += value.to_bytes(size, "little")

    def u8(self, value):
        self.number(int(value), 1)

    def flag(self, value):
        self.u8(value)

    def u16(self, value):
        self.number(value, 2)

    def u32(self, value):
        self.number(value, 4)

    def u64(self, value):
        self.number(value, 8)

    def i8(self, value):
        self.number(value & 0xFF, 1)

    def i16(self, value):
        self.number(value & 0xFFFF, 2)

    def i32(self, value):
        self.number(value & 0xFFFFFFFF, 4)

    def instant(self, value):
        distance = max(-FARTHEST, min(FARTHEST, value - self.now))
        self.u64(NEVER if value == END else distance & U64)

    def variant(self, size, tag, write=lambda out: None):
        """A tag and its content, padded to a size that all variants share."""
        end = len(self.data) + size
        self.u8(tag)
        write(self)
        self.data += bytes(end - len(self.data))


class Rejected(Exception):
    """A rejected record and the reason."""


class Reader:
    def __init__(self, data, now, away):
        self.data, self.at, self.now, self.away = data, 0, now, away
        self.then = within(now - away)

    def number(self, size):
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def u8(self):
        return self.number(1)

    def u16(self):
        return self.number(2)

    def u32(self):
        return self.number(4)

    def u64(self):
        return self.number(8)

    def flag(self):
        value = self.u8()
        if value > 1:
            raise Rejected("OtherPolicy")
        return value == 1

    def signed(self, size):
        value = self.number(size)
        return value - (1 << 8 * size) if value >> 8 * size - 1 else value

    def i8(self):
        return self.signed(1)

    def i16(self):
        return self.signed(2)

    def i32(self):
        return self.signed(4)

    def instant(self):
        distance = self.signed(8)
        if distance == NEVER:
            return END
        return within(self.now + distance - self.away, LAST if distance >= self.away else END)

    def variant(self, size, kinds):
        """The content of one of the variants. `kinds` has a function for each tag."""
        end = self.at + size
        tag = self.u8()
        if tag not in kinds:
            raise Rejected("OtherPolicy")
        value = kinds[tag](self)
        self.at = end
        return value


def seal(limits, write, now):
    out = Writer(now)
    out.u8(VERSION)
    out.u8(limits)
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
    source.u8()
    if source.u8() != limits:
        raise Rejected("OtherPolicy")
    return source
