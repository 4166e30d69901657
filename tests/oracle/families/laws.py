"""Every law, in every configuration with separate arithmetic, with every client."""

from exact import DAY, END, HOUR, MS, SECOND
from families.clients import CLIENTS
from families.tools import DRAW_MAX, DRAW_MIN
from laws import LAWS
from script import Script

def scripts(law, configs):
    turn = 0
    for config, policy in configs:
        for client, flags, play in CLIENTS:
            turn += 1
            slow = ["SlowRate"] if "day" in config or "hour" in config else []
            # The extreme draws alternate, because each is as good as any seed.
            seed, extra = [(turn, []), (DRAW_MIN, ["DrawMin"]), (DRAW_MAX, ["DrawMax"])][turn % 3]
            script = Script(f"{law} {config}: {client}", flags + slow + extra, policy, seed)
            play(script)
            yield script.vector()


def long_runs(law, configs):
    """Effects that appear only after many calls: recovery, the maximum, the longest delay."""
    for config, policy in configs:
        for spacing in (0, 30 * MS, SECOND // 2, 40 * SECOND):
            script = Script(
                f"{law} {config}: hundreds of calls of {spacing} ns", ["LongRun"], policy, 3
            )
            for served, rejected in [(30, 1), (5, 4), (400, 2), (1, 30), (90, 3)]:
                script.calls(served, {"outcome": "ok", "left": 9 * served}, spacing)
                script.calls(rejected, "throttled" if served % 2 else "busy", spacing)
                script.intervals()
            script.after(5 * SECOND)
            script.calls(60, "ok", spacing)
            script.save()
            script.restore(now=min(script.now + DAY, END), away=DAY)
            script.calls(20, "ok", spacing)
            script.calls(2, "failed", spacing)
            yield script.vector()


def recoveries():
    """The recovery of `tchannel` after any number of seconds, busy or quiet."""
    for recovery in ({"rate": 2}, {"rate": 14}, {"value": 1}, {"value": 4_294_967_295}):
        for most in (1, 5, 5000, 9_999_999):
            law = {"law": "tchannel", "most": most, **recovery}
            name = f"tchannel, {recovery}, {most} at most: seconds, days and years"
            script = Script(name, ["Silence", "LongRun"], {"laws": [law], "backoff": None})
            script.calls(min(most, 9), "ok")
            for cooldown in (
                0,
                SECOND,
                2 * SECOND,
                7 * SECOND,
                40 * SECOND,
                HOUR,
                500 * DAY,
                200_000 * DAY,
            ):
                script.calls(3, "throttled")
                script.after(cooldown)
                script.calls(4, "ok", 1)
            yield script.vector()


def of(law):
    def vectors():
        yield from scripts(law, LAWS[law].SITUATIONS)
        yield from long_runs(law, LAWS[law].SITUATIONS)
        if law == "tchannel":
            yield from recoveries()

    return vectors
