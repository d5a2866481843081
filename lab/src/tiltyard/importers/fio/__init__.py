"""fio's JSON and JSON+: each job is one point, and its threads are one.

Threads of a job that fio did not put together itself are put together as its ``group_reporting``
does it: bytes are added and divided by the longest runtime, latencies are weighed by their
operations. Percentiles can be joined where the histograms were kept (JSON+).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.importers.fio.claims import disproved
from tiltyard.importers.fio.report import jobs_of, report_of
from tiltyard.importers.fio.ways import METRICS, measured
from tiltyard.importers.importer import ForPeople, Imported, Importer, Measured, single

_PACING: Final = frozenset(("rate", "rate_iops", "rate_min", "thinktime"))
_SLICES: Final = (
    "fio states one value of each job, of its whole runtime; the deviations that it prints are "
    "those of slices of time within one run, say nothing of how well a run repeats, and are not "
    "used."
)


def read(data: bytes, name: str) -> Imported:
    """One file as ``fio --output-format=json`` or ``json+`` wrote it."""
    top = report_of(data, name)
    limits = [_SLICES]
    found: list[Measured] = []
    options: dict[str, Mapping[str, str]] = {}
    for job in jobs_of(top):
        if job.error:
            limits.append(
                f"Job {job.name} ended with error {job.error} ({os.strerror(job.error)}); what it "
                "did is left out."
            )
            continue
        own = [replace(one, at={"job": job.name}) for one in measured(job.threads, limits)]
        limits += job.remarks([one.metric for one in own])
        options[job.name] = job.options
        found += own
    return single(
        use="fio",
        lineage=top["fio version"].text(),
        metrics=_headlines(options.values()),
        measured=tuple(found),
        parameters=_parameters(options),
        grid=("job",),
        limits=tuple(dict.fromkeys(limits)),
    )


def _parameters(options: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """An option that all jobs share once; else with the jobs that have it."""
    found = {}
    for key in dict.fromkeys(key for option in options.values() for key in option):
        held = {job: own[key] or "1" for job, own in options.items() if key in own}
        alike = len(held) == len(options) and len(set(held.values())) == 1
        found[key] = (
            next(iter(held.values()))
            if alike
            else "; ".join(f"{job}: {value}" for job, value in held.items())
        )
    return found


def _headlines(jobs: Iterable[Iterable[str]]) -> tuple[CollectedMetric, ...]:
    """Where a rate is given, what is measured is the latency; ``jobs``: the options of each."""
    if not any(_PACING.intersection(options) for options in jobs):
        return METRICS
    return tuple(
        one.model_copy(update={"headline": one.name.endswith("completion_latency")})
        for one in METRICS
    )


def _asked(words: Sequence[str], files: Sequence[str]) -> tuple[CollectedMetric, ...]:
    """What a command line of fio asks for, with its job files."""
    typed = (word.lstrip("-").partition("=")[0] for word in words if word.startswith("-"))
    return _headlines((typed, *map(_options_in, files)))


def _options_in(job_file: str) -> Iterator[str]:
    """Names of all options in a job file, whichever job has them."""
    for line in map(str.strip, job_file.splitlines()):
        if line and line[0] not in "#;[":
            yield line.partition("=")[0].strip()


IMPORTER: Final = Importer(
    name="fio",
    about="fio --output-format=json or json+, of fio 2 and 3, also among notes; of clients, too",
    left_out="submission latencies, shortest and longest latencies, deviations, CPU, queue "
    "depths, priorities, utilisation of disks",
    cut_off="refused, as it is no JSON then",
    repeats="a job that stands there again as it is",
    recognises=lambda head: '"fio version"' in head,
    read=read,
    for_people=ForPeople(
        r"^\S.*: \(g=\d+\): rw=|^\d;fio-\d", "let fio write --output-format=json or json+"
    ),
    metrics=METRICS,
    grid=("job",),
    timed=tuple(one.name for one in METRICS if one.unit == "s"),
    bin_width=1 / 64,
    # Of fio 2 and 3; later ones differ by less than a bin.
    last_bin_s=16.7,
    disproved=disproved,
    asked=_asked,
)
