"""The tiers in a record."""

from laws.adaptive.epoch import BlindTier
from laws.adaptive.parts import Open
from laws.adaptive.period import BEFORE, NOTHING, SHARE, Share
from laws.adaptive.remaining import Pool

BYTES = 30
TAGS = {Open: 0, BlindTier: 1, Pool: 2, Share: 3}


def write(tier, out):
    if isinstance(tier, Open):
        out.i16(tier.measured)
    elif isinstance(tier, BlindTier):
        out.u32(tier.mean)
        out.u8(tier.epochs)
    elif isinstance(tier, Pool):
        out.u32(tier.most)
        known = tier.previous is not None
        out.variant(5, known, lambda out: out.u32(tier.previous) if known else None)
    else:
        out.instant(tier.end)
        out.u32(tier.own)
        out.u32(tier.used)
        kind, number = tier.known
        size = {NOTHING: 0, BEFORE: 4, SHARE: 2}[kind]
        out.variant(5, kind, lambda out: out.number(number, size))
        out.u32(tier.longest)
        out.u32(tier.limit)


def read_open(source):
    tier = Open(source.then)
    tier.measured = source.signed(2)
    return tier


def read_pool(source):
    most = source.u32()
    return Pool(most, source.variant(5, {0: lambda source: None, 1: lambda source: source.u32()}))


def read_share(source):
    tier = Share()
    tier.end, tier.own, tier.used = source.instant(), source.u32(), source.u32()
    kinds = {
        NOTHING: lambda source: 0,
        BEFORE: lambda source: source.u32(),
        SHARE: lambda source: source.u16(),
    }
    kinds = {
        tag: lambda source, tag=tag, read=read: (tag, read(source)) for tag, read in kinds.items()
    }
    tier.known = source.variant(5, kinds)
    tier.longest, tier.limit = source.u32(), source.u32()
    return tier


READERS = {
    0: read_open,
    1: lambda source: BlindTier(source.u32(), source.u8()),
    2: read_pool,
    3: read_share,
}
