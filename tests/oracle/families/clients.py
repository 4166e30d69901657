"""Random clients of each law: a policy, and what a caller does, in any order and at any time."""

import policy as policies
from exact import DAY, END, MS, SECOND, U32
from families.tools import Dice
from laws import LAWS
from script import Script

OUTCOMES = ["ok"] * 6 + ["throttled"] * 3 + ["busy", "busy", "failed", "abandoned", "exhausted"]


def config(dice, law):
    few = lambda: 1 + dice.below(5)
    settings = {
        "fixed": {"quota": dice.burst},
        "adaptive": {"quota": dice.quota, "tolerance": dice.ratio},
        "aimd": {
            "start": lambda: [1 + dice.below(30), SECOND, few()],
            "floor": lambda: [1, SECOND],
            "ceiling": lambda: [30 + dice.below(30), SECOND],
            "step": dice.quota,
            "every": few,
            "keep": dice.ratio,
            "cooldown": lambda: dice.of([None, [dice.some(), min(END, SECOND + dice.span()), few()]]),
        },
        "tchannel": {
            "most": lambda: dice.of([1 + dice.below(30), 5000, 9_999_999]),
            dice.of(["rate", "value"]): lambda: 1 + dice.below(14),
            "over": lambda: "reject",
        },
        "aimd-concurrency": {"start": few, "most": lambda: 5 + dice.below(30), "keep": dice.ratio},
        "autosleeper": {
            "initial": dice.some,
            "most": dice.span,
            "up": dice.ratio,
            "down": dice.ratio,
            "threshold": lambda: dice.below(5),
            "spread": dice.ratio,
            "most_spread": dice.span,
        },
        "heroku": {
            "strategy": lambda: dice.of(["exponential", "proportional", ["gradual", dice.span()]]),
            "start": dice.span,
            "add": dice.span,
            "times": dice.ratio,
            "floor": dice.span,
            "divisor": lambda: 1 + dice.below(50),
            "jitter": dice.ratio,
            "spare_first": lambda: True,
            "once_per_event": lambda: True,
            "calm": dice.some,
        },
    }
    made = settings.get(law, {}).items()
    return {"law": law, **{name: make() for name, make in made if dice.below(2)}}


def policy(dice, law, limits):
    """Invalid policies are discarded."""
    if limits == 1 and dice.below(4) == 0:
        return {"named": dice.of(list(LAWS[law].NAMED))}
    while True:
        others = [dice.of(list(LAWS)) for _ in range(limits - 1)]
        made = {"laws": [config(dice, law) for law in [law, *others]]}
        rules = {
            "cooldown": lambda: [dice.some(), dice.ratio()],
            "concurrency": lambda: 1 + dice.below(6),
            "retry_budget": lambda: [dice.ratio(), 1 + dice.below(4)],
            "backoff": lambda: backoff(dice),
            "attempts": lambda: 1 + dice.below(5),
            "elapsed": dice.span,
        }
        made.update({name: make() for name, make in rules.items() if dice.below(3) == 0})
        if policies.wrong(policies.whole(made)) is None:
            return made


def backoff(dice):
    growth = dice.of(["constant", "linear", "decorrelated", ["exponential", *dice.ratio()]])
    jitter = dice.of(["none", "full", "equal", ["spread", *dice.ratio()]])
    return dice.of([None, [growth, jitter, dice.some(), dice.span()]])


class Client:
    def __init__(self, dice, name, law):
        self.dice, self.limits = dice, dice.of([1, 1, 2])
        start = dice.of([0, SECOND, DAY, dice.number(), END - 10 * SECOND])
        self.law = law
        self.script = Script(name, policy(dice, law, self.limits), dice.number(), start)
        self.calls = [0]
        # The servers of a client say the same things, so that the law can rely on them.
        numbers = {
            "after": dice.span,
            "left": lambda: dice.of([dice.number(), dice.below(40), dice.below(20)]),
            "reset": dice.span,
            "limit": lambda: dice.of([dice.number(), dice.below(100), 20]),
            "period": dice.span,
            "should_retry": lambda: dice.below(4) > 0,
            "concurrency": lambda: dice.below(4) == 0,
        }
        self.hints = {name: make for name, make in numbers.items() if dice.below(2)}

    def hint(self):
        return {name: make() for name, make in self.hints.items() if self.dice.below(2)}

    def reply(self, outcome=None):
        dice, told = self.dice, {"outcome": outcome or self.dice.of(OUTCOMES)}
        if dice.below(2):
            told.update({"hints": [self.hint() for _ in range(self.limits)]} if dice.below(3) == 0 else self.hint())
        if dice.below(8) == 0:
            told["used"] = self.costs()
        return told

    def costs(self):
        return [self.dice.of([self.dice.number(U32), self.dice.below(6), self.dice.below(2)]) for _ in range(self.limits)]

    def call(self):
        return self.dice.of(self.calls)

    # Actions.

    def poll(self):
        self.script.poll(call=self.call())

    def settle(self):
        if self.script.outs:
            self.script.settle(self.reply(), permit=self.dice.of(self.script.outs))

    def stream(self):
        if self.script.outs:
            self.script.stream(self.reply(), min(self.script.now + self.dice.span(), END), self.costs())

    def describe(self):
        deadline = self.dice.of([END, min(END, self.script.now + self.dice.span())])
        self.script.describe(1, self.costs(), deadline, self.dice.below(2) == 1)
        self.calls.append(1)

    def look(self):
        self.script.next_at()
        self.script.why(self.call())
        self.script.intervals()

    def retry(self):
        if self.script.retry(self.call(), self.reply(), into=2) is not None:
            self.calls.append(2)

    def restore(self):
        dice, script = self.dice, self.script
        script.save()
        other = policy(dice, self.law, self.limits) if dice.below(6) == 0 else None
        byte = lambda: ["put", dice.below(len(script.saved) - 4), dice.of([dice.below(256), 255, 1])]
        change = lambda: [dice.of(["cut", "grow", "flip"]), dice.below(len(script.saved))]
        damage = dice.of([None, None, None, [byte()], [byte()], [change()]])
        now, away = dice.of([(script.now, 0), (dice.of([script.now, dice.number()]), dice.span())])
        script.restore(now, away, dice.number(), damage, other)

    def change(self):
        self.script.set_policy(policy(self.dice, self.law, self.limits))

    def concurrency(self):
        self.script.set_concurrency(1 + self.dice.below(5))

    def forget(self):
        self.script.forget(1 + self.dice.below(3))

    def served(self):
        count = self.dice.of([1, 5, 20, 60]) + self.dice.below(20)
        self.script.calls(count, self.reply("ok"), self.dice.span(), self.dice.of([0, self.dice.span()]), self.call())

    def rejected(self):
        self.script.calls(1 + self.dice.below(6), self.reply(), self.dice.span(), 0, self.call())

    def burst(self):
        """Calls that are in flight together, and what becomes of them."""
        dice, script = self.dice, self.script
        many, outcome = 1 + dice.below(8), dice.of(["throttled", "busy", "failed"])
        while len(script.outs) < many and script.poll()[0] == "admit":
            pass
        script.after(dice.span())
        for _ in script.outs[:many]:
            script.settle(self.reply(dice.of(["ok", "ok", outcome])))

    def stubborn(self):
        """A call that is not served, attempt after attempt, among others that are."""
        dice, script, outcome, name = self.dice, self.script, self.dice.of(["throttled", "busy", "failed"]), 0
        others, took = dice.below(4), dice.span()
        for _ in range(2 + dice.below(9)):
            if script.admit(name, most=3)[0] != "admit":
                break
            script.after(took)
            script.settle(outcome, permit=script.outs[-1])
            if script.retry(name, outcome, into=3) is None:
                break
            name = 3
            script.calls(others, "ok", took)
        self.calls.append(name)
        script.calls(1 + dice.below(4), "ok", took, call=name)

    def retries(self):
        self.script.retries(self.dice.of([2, 12, 70]), self.call(), self.reply(), into=2)

    def queue(self):
        dice = self.dice
        self.script.queue(40 * dice.below(8), 1 + dice.below(30), dice.span(), self.reply(dice.of(["ok", "ok", "busy"])))

    def polls(self):
        if self.script.gate.policy["concurrency"] < 100:
            self.script.polls(self.call())

    def silence(self):
        self.script.after(self.dice.below(400) * self.dice.span())

    def play(self):
        often = [self.poll] * 4 + [self.settle] * 3 + [self.served] * 4 + [self.rejected] * 3 + [self.burst] * 2 + [self.retry] * 2
        rarely = [self.stream, self.describe, self.look, self.stubborn, self.retries, self.queue, self.polls, self.silence,
                  self.restore, self.change, self.concurrency, self.forget]  # fmt: skip
        most = 12 + self.dice.below(28)
        while len(self.script.events) < most:
            if self.dice.below(2):
                self.script.after(self.dice.span())
            if self.dice.below(25) == 0:
                self.script.now = max(0, self.script.now - self.dice.span())
            self.dice.of(often + rarely)()
        self.look()
        return self.script.vector()


def client(dice, law, number):
    dice.step = dice.of([None, None, MS, 2**18, 2**28, SECOND])
    return Client(dice, f"{law} {number}", law).play()


def of(law):
    def vectors():
        for number in range(400 if law == "adaptive" else 120):
            yield client(Dice(number), law, number)

    return vectors
