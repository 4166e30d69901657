"""The lemmas and models, one file for each part of core, in the order of the table."""

from lemmas import numbers, chance, clocks, pacing, gates, schedules  # isort: skip # noqa: F401
from lemmas import logs, probes, intervals  # isort: skip # noqa: F401
