"""The other gates: hold, window, budget."""

from exact import LAST, part, within

SLOTS = 32


class Hold:
    """A pause that the server asked for."""

    def __init__(self):
        self.until = 0

    def raise_to(self, now, asked, policy, chance):
        ceiling, spread = policy
        reach = part(spread, min(asked, ceiling))
        if asked < ceiling:  # A floor, so chance adds ...
            pause = chance.between(asked, min(within(asked + reach), ceiling))
        else:  # ... and where it is not met anyway, chance takes off.
            pause = chance.between(ceiling - reach, ceiling)
        self.until = max(self.until, min(within(now + pause), LAST))


class Window:
    """The calls in flight, each in a place that has a number."""

    def __init__(self, number=0):
        self.calls = {}  # place: (number, since, call)
        self.freed = []  # The one that was freed last is taken first.
        self.number = number

    @staticmethod
    def limit(policy):
        return min(policy[0], SLOTS)

    def ended(self, now, policy):
        """The places of those whose lease is over, from the first one on."""
        over = [
            place for place, (_, left, _) in self.calls.items() if within(left + policy[1]) <= now
        ]
        return sorted(over)

    def is_full(self, now, policy):
        alive = len(self.calls) - len(self.ended(now, policy))
        return len(self.calls) >= self.limit(policy) and alive >= self.limit(policy)

    def take(self, now, policy, call):
        if len(self.calls) >= self.limit(policy):
            for place in self.ended(now, policy):
                del self.calls[place]
                self.freed.append(place)
        # Places that were never taken come in their order, and after those that were freed.
        place = self.freed.pop() if self.freed else len(self.calls)
        number, self.number = self.number, (self.number + 1) % 2**32
        self.calls[place] = (number, now, call)
        return place << 32 | number

    def release(self, permit):
        place, number = permit >> 32, permit % 2**32
        if place not in self.calls or self.calls[place][0] != number:
            return None
        self.freed.append(place)
        return self.calls.pop(place)[1:]

    def ready_at(self, policy):
        """When enough leases have ended for one more call."""
        over = len(self.calls) - self.limit(policy)
        if over < 0:
            return None
        starts = sorted(left for _, left, _ in self.calls.values())
        return within(starts[over] + policy[1])


class Budget:
    """Retries, of which each success pays for a part."""

    def __init__(self, policy):
        (self.earns, self.costs), reserve = policy
        self.most = self.costs * reserve
        self.saved = self.most

    def allows(self):
        return self.saved >= self.costs

    def earn(self):
        self.saved = min(self.saved + self.earns, self.most)

    def spend(self):
        self.saved = max(0, self.saved - self.costs)
