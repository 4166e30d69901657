"""What `adaptive` makes of numbers that a server tells: shares of periods, levels, and waits."""

from lemma import (
    SECOND,
    U16,
    U32,
    U64,
    all_of,
    clamp,
    div,
    implies,
    ite,
    least,
    lemma,
    most,
    no,
    within,
)
from lemmas.intervals import MAX, MIN, OCTAVE, doubled, longer, of_span

DAY = 86_400 * SECOND
LONGEST_TOLD = of_span(DAY)


def portion(own, used):
    """`portion`: what one client has of all that was used, in 1/2^16."""
    return least(div(own * 2**16, most(most(used, own), 1)), U16)


@lemma("law/adaptive/period.rs portion", part=lambda own, used: least(own * 2**16 / used, 2**16))
def a_share_of_a_period_is_from_nothing_to_below_one(given, part=portion):
    """Exact to its 16 bits, rounded down, where others had something; and the mean of two shares is
    one too. What is told to be used may be less than this client had itself."""
    own, used = given.number("own", 0, U32), given.number("used", 1, U32)
    before = given.number("before", 0, U16)
    share = part(own, used)
    exact = all_of(share * used <= own * 2**16, (share + 1) * used > own * 2**16)
    mean = div(before + share, 2)
    bounds = all_of(share >= 0, share <= U16, mean >= 0, mean <= U16, own * 2**16 <= U64)
    return all_of(bounds, implies(own < used, exact))


def fair_of(everybody, octaves):
    """One client's interval, which is longer than everybody's by its share."""
    return least(longer(everybody, octaves), LONGEST_TOLD)


def even_of(even, fair, longest=LONGEST_TOLD):
    """What is left, spread over the rest of the period: at most twice as fast as fair."""
    return least(most(even, longer(fair, -OCTAVE)), longest)


@lemma("law/adaptive/period.rs Share::hear", longest=MAX)
def a_told_period_spreads_calls_by_its_share_and_by_a_day_at_most(given, longest=LONGEST_TOLD):
    """Whatever the limit, the period and the rest of it: a client's interval is no longer than a day;
    but for that no shorter than everybody's, and than half of its fair one. (A share has from none
    to sixteen octaves, as it is from a 2^-16th to below one.)"""
    everybody, even = given.numbers("everybody even", MIN, MAX)
    fair = fair_of(everybody, given.number("octaves", 0, 16 * OCTAVE))
    made = even_of(even, fair, longest)
    told = all_of(fair >= least(everybody, LONGEST_TOLD), made >= least(even, LONGEST_TOLD))
    return all_of(told, fair <= LONGEST_TOLD, made <= LONGEST_TOLD, made >= fair - OCTAVE)


def cycled(most_told, reset):
    """`Share::longest`, and the period that it stands for."""
    kept = most(most_told, within(div(reset, 2**20), U32))
    return kept, most(kept * 2**20, SECOND // 20)


@lemma("law/adaptive/period.rs Share::longest", cycle=lambda kept, reset: (kept, reset))
def a_period_that_is_not_told_is_as_long_as_its_longest_reset(given, cycle=cycled):
    """To within a thousandth of a second, and no shorter than a twentieth of one: an empty period is
    no pause of no length. It fits 64 bits, as what is kept of it does 32."""
    kept, reset = given.number("kept", 0, U32), given.number("reset", 0, U64)
    after, period = cycle(kept, reset)
    long = all_of(after >= kept, after <= U32, period >= SECOND // 20, period <= U64)
    near = implies(reset < 2**52, period + 2**20 > reset)
    return all_of(long, near, implies(kept == 0, period <= most(reset, SECOND // 20)))


def bucket_of(limit, largest, told):
    """`Bucket::of_quota` and `of_most`: the threshold, and what is full."""
    known = most(div(limit, 16), 4), limit
    return ite(told, known, (clamp(div(largest, 32), 4, 256), most(largest, 64)))


def pulled(change, weight, price):
    """How far the interval moves, in 1/2^16, by the change of the level and by its price."""
    damping = clamp(div(change * 177, 512), -64, 64) * 256
    return damping + clamp(weight - price, -1024, 1024) * 16


def bounded(step):
    return clamp(step, -26_214, 14_418)


def factor_of(step):
    """e^-step in 1/2^16, near enough."""
    return 65_536 - step + div(step * step, 2**17)


def price_of(threshold, left):
    return least(div(threshold * 512, 2 * left + 1), 2048)


@lemma("law/adaptive/remaining.rs Pool::steer", bound=lambda step: step)
def an_answer_moves_a_told_rate_by_no_more_than_half(given, bound=bounded):
    """Whatever the levels that a server tells, the factor of one answer is from four fifths to three
    halves; it is one where nothing moves it, and else on the side of one that the sign says. No
    number on the way leaves 32 bits."""
    change = given.number("change", -(33 * 256), 33 * 256)
    weight, threshold = given.number("weight", 16, 2048), given.number("threshold", 4, U32 // 16)
    price = price_of(threshold, given.number("left", 0, U32))
    step = bound(pulled(change, weight, price))
    factor = factor_of(step)
    side = all_of((step > 0) == (factor < 65_536), (step < 0) == (factor > 65_536))
    fits = all_of(step * step < 2**31, change * 177 < 2**31, price <= 2048)
    return all_of(5 * factor >= 4 * 65_536, 2 * factor <= 3 * 65_536, side, fits)


def entered(sending, quota_interval, told):
    """The interval of a limit that tells of its last calls, from that at which calls left."""
    known = least(doubled(most(sending, quota_interval), 2), LONGEST_TOLD)
    return ite(told, known, doubled(sending, 1))


@lemma("law/adaptive/remaining.rs AdaptiveState::remaining", entry=lambda *of: doubled(of[0], 2))
def a_told_limit_starts_slow_but_no_slower_than_once_a_day(given, entry=entered):
    """When the last calls of a limit are told of, the first interval is four times that at which calls
    left, and that of the limit, if it tells it, but no longer than a day; else it is twice the
    former."""
    sending, quota = given.numbers("sending quota", MIN, LONGEST_TOLD)
    told = given.flag("told")
    made = entry(sending, quota, told)
    slow = least(most(sending, quota) + 2 * OCTAVE, LONGEST_TOLD)
    return ite(told, made == slow, made == sending + OCTAVE)


def mixture(weight, quotient):
    """What `mix_rates` divides by: own over the mixed interval, in 1/2^24."""
    return (256 - weight) * 2**16 + weight * quotient


def weight_of(parts):
    return clamp(parts, 64, 192)


@lemma("law/adaptive/retry_after.rs mix_rates", weigh=lambda parts: within(parts, 256))
def a_measured_rate_never_silences_the_own_one(given, weigh=weight_of):
    """The two products fit the 32 bits that the core lets wrap; the mixed interval is at most four
    times the own one, so that the own rate weighs a quarter at least; and where both rates are the
    same, nothing moves."""
    weight = weigh(given.number("parts", 0, U32))
    quotient = given.number("quotient", 0, 2**24)
    divisor = mixture(weight, quotient)
    fits = all_of(weight * quotient <= U32, divisor <= U32)
    return all_of(fits, divisor >= 2**22, (quotient == 2**16) == (divisor == 2**24))


def told_end(end, now):
    """Of a wish that holds: no later than an hour from now."""
    return least(end, within(now + 3600 * SECOND))


def believed(sent, end, now):
    """Whether a period that an answer said nothing of is over, or is not to be believed."""
    return all_of(sent <= end, end <= within(now + DAY))


@lemma("law/adaptive/period.rs AdaptiveState::untold", still=lambda sent, end, now: sent <= end)
def a_server_that_stops_telling_binds_for_a_day_at_most(given, still=believed):
    """A period that an answer said nothing of, and that is kept, is not kept for a call that leaves
    more than a day after that answer."""
    sent, end, now, later, then = given.numbers("sent end now later then", 0, U64)
    given.that(still(sent, end, now), later > now + DAY)
    return no(still(later, end, then))
