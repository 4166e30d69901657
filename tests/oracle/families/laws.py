"""Every law, in every configuration that has an arithmetic of its own, with every client."""

from exact import END, SECOND
from families.clients import CLIENTS
from families.tools import DAY, DRAW_MAX, DRAW_MIN, HOUR, MS
from script import Script

CONFIGS = {
    "fixed": [
        ("none", {"laws": [{"law": "fixed"}]}),
        ("ten a second", {"named": "fixed"}),
        ("7 a minute, burst 3", {"laws": [{"law": "fixed", "quota": [7, 60 * SECOND, 3]}]}),
        ("10 a day", {"laws": [{"law": "fixed", "quota": [10, DAY]}]}),
        ("100000 a second", {"laws": [{"law": "fixed", "quota": [100_000, SECOND, 100]}]}),
        (
            "requests and tokens",
            {
                "laws": [
                    {"law": "fixed", "quota": [3, SECOND, 3]},
                    {"law": "fixed", "quota": [90, 60 * SECOND, 90]},
                ]
            },
        ),
        (
            "with a budget and all limits of a call",
            {
                "laws": [{"law": "fixed", "quota": [20, SECOND]}],
                "budget": [[1, 3], 2],
                "attempts": 4,
                "elapsed": 3 * SECOND,
                "window": [3, 10 * SECOND],
                "hold": [60 * SECOND, [1, 2]],
                "backoff": [["exponential", 3, 2], ["spread", 1, 5], 100 * MS, SECOND],
            },
        ),
    ],
    "aimd": [
        ("by default", {"named": "aimd"}),
        ("without a pause", {"laws": [{"law": "aimd", "pause": None, "every": 1}]}),
        # The longest pause is reached exactly.
        ("with a pause of whole doublings", {"laws": [{"law": "aimd", "pause": [MS, 4 * MS, 2]}]}),
        (
            "between close bounds",
            {
                "laws": [
                    {
                        "law": "aimd",
                        "start": [5, SECOND, 4],
                        "floor": [4, SECOND],
                        "ceiling": [6, SECOND],
                        "every": 1,
                        "keep": [9, 10],
                    }
                ]
            },
        ),
        (
            "an hour for a call",
            {
                "laws": [
                    {
                        "law": "aimd",
                        "start": [1, HOUR],
                        "floor": [1, DAY],
                        "step": [1, HOUR],
                        "every": 2,
                        "pause": [1, END, 1],
                    }
                ]
            },
        ),
        ("of two limits", {"laws": [{"law": "aimd"}, {"law": "aimd", "keep": [0, 1], "every": 3}]}),
    ],
    "busy": [
        ("by default", {"named": "busy"}),
        ("faithful", {"laws": [{"law": "busy", "most": 40, "rate": 3, "variant": "faithful"}]}),
        (
            "faithful, by value, refusing",
            {
                "laws": [
                    {"law": "busy", "most": 9, "value": 1, "variant": "faithful", "over": "refuse"}
                ]
            },
        ),
        (
            "two a second, refusing",
            {"laws": [{"law": "busy", "most": 2, "rate": 2, "over": "refuse"}]},
        ),
        ("one a second", {"laws": [{"law": "busy", "most": 1, "rate": 14}]}),
        ("by a small value", {"laws": [{"law": "busy", "most": 1000, "value": 1}]}),
    ],
    "crowd": [
        ("by default", {"named": "crowd"}),
        ("one at a time", {"laws": [{"law": "crowd", "start": 1, "most": 1}]}),
        ("by halves", {"laws": [{"law": "crowd", "start": 2, "most": 3, "keep": [1, 2]}]}),
        (
            "wider than the slots",
            {"laws": [{"law": "crowd", "start": 60, "most": 65_535, "keep": [0, 7]}]},
        ),
    ],
    "responsive": [
        ("by default", {"named": "responsive"}),
        ("faithful", {"laws": [{"law": "responsive", "variant": "faithful"}], "backoff": None}),
        (
            "as its source's test",
            {
                "laws": [
                    {
                        "law": "responsive",
                        "variant": "faithful",
                        "initial": 1000,
                        "up": [2, 1],
                        "down": [1, 2],
                        "threshold": 5,
                        "spread": [0, 1],
                    }
                ]
            },
        ),
        (
            "faithful, out of order",
            {
                "laws": [
                    {
                        "law": "responsive",
                        "variant": "faithful",
                        "initial": 20 * SECOND,
                        "most": SECOND,
                        "threshold": 0,
                        "spread": [1, 1],
                    }
                ]
            },
        ),
        (
            "by nanoseconds",
            {
                "laws": [
                    {
                        "law": "responsive",
                        "initial": 1,
                        "most": END,
                        "up": [11, 10],
                        "down": [999, 1000],
                        "threshold": 1,
                        "spread": [0, 1],
                    }
                ]
            },
        ),
    ],
    "vegas": [("by default", {"named": "vegas"})],
    "cubic": [
        ("by default", {"named": "cubic"}),
        ("beside a window", {"laws": [{"law": "cubic"}, {"law": "crowd"}]}),
    ],
    "proportional": [
        ("gradual", {"named": "gradual"}),
        ("proportional", {"named": "proportional"}),
        ("remaining", {"named": "remaining"}),
        (
            "exponential",
            {"laws": [{"law": "proportional", "strategy": "exponential"}], "backoff": None},
        ),
        (
            "the demonstration",
            {
                "laws": [
                    {
                        "law": "proportional",
                        "start": 1600 * MS,
                        "add": 0,
                        "times": [2, 1],
                        "floor": 80 * MS,
                        "spare_first": True,
                        "once_per_event": True,
                        "calm": HOUR,
                    }
                ]
            },
        ),
        (
            "the longest sleeps",
            {
                "laws": [
                    {
                        "law": "proportional",
                        "strategy": ["gradual", 1],
                        "start": END // 3,
                        "times": [2, 1],
                        "jitter": [1, 1],
                        "calm": 1,
                    }
                ]
            },
        ),
    ],
}


def scripts(law, configs):
    turn = 0
    for config, policy in configs:
        for client, flags, play in CLIENTS:
            turn += 1
            slow = ["SlowRate"] if "day" in config or "hour" in config else []
            # The extreme draws take turns, for each is as good as any seed.
            seed, extra = [(turn, []), (DRAW_MIN, ["DrawMin"]), (DRAW_MAX, ["DrawMax"])][turn % 3]
            script = Script(f"{law} {config}: {client}", flags + slow + extra, policy, seed)
            play(script)
            yield script.vector()


def long_runs(law, configs):
    """What shows only after many calls: the way back, the top, the longest delay."""
    for config, policy in configs:
        for spacing in (0, 30 * MS, SECOND // 2, 40 * SECOND):
            script = Script(
                f"{law} {config}: hundreds of calls of {spacing} ns", ["LongRun"], policy, 3
            )
            for served, refused in [(30, 1), (5, 4), (400, 2), (1, 30), (90, 3)]:
                script.calls(served, {"outcome": "ok", "left": 9 * served}, spacing)
                script.calls(refused, "throttled" if served % 2 else "busy", spacing)
                script.intervals()
            script.after(5 * SECOND)
            script.calls(60, "ok", spacing)
            script.save()
            script.restore(now=min(script.now + DAY, END), away=DAY)
            script.calls(20, "ok", spacing)
            script.calls(2, "failed", spacing)
            yield script.vector()


def recoveries():
    """How `busy` grows back after any number of seconds, busy ones and quiet ones."""
    for variant in ("faithful", "promised"):
        for recovery in ({"rate": 2}, {"rate": 14}, {"value": 1}, {"value": 4_294_967_295}):
            for most in (1, 5, 5000, 9_999_999):
                law = {"law": "busy", "variant": variant, "most": most, **recovery}
                name = f"busy {variant}, {recovery}, {most} at most: seconds, days and years"
                script = Script(name, ["Silence", "LongRun"], {"laws": [law], "backoff": None})
                script.calls(min(most, 9), "ok")
                for pause in (
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
                    script.after(pause)
                    script.calls(4, "ok", 1)
                yield script.vector()


def silences():
    """How far `responsive` comes down in silence: each stretch of it is shorter than the one before."""
    for config, policy in CONFIGS["responsive"]:
        threshold = policy.get("laws", [{}])[0].get("threshold", 10)
        for refused in (1, 4, 12):
            script = Script(f"responsive {config}: silences after {refused}", ["Silence"], policy)
            for stretches in (1, 2, 3, 5, 9, 19):
                script.calls(refused, "throttled", MS)
                delay = script.gate.intervals(script.now)[0] or 0
                script.at(max(script.now, script.gate.next_at(script.now) or 0))
                # One nanosecond too short, and half a stretch more.
                for silence in (delay * threshold - 1, delay * threshold * stretches // 2):
                    script.after(max(0, min(silence, 500 * DAY)))
                    script.calls(1, "ok", MS)
                    script.intervals()
            yield script.vector()


def of(law):
    def vectors():
        yield from scripts(law, CONFIGS[law])
        yield from long_runs(law, CONFIGS[law])
        if law == "busy":
            yield from recoveries()
        if law == "responsive":
            yield from silences()

    return vectors
