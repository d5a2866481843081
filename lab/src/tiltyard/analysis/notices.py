"""What a sceptic would ask about, each with what it means and what to do."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from tiltyard.analysis.cell_times import LEAST_S, cell_times, short_of
from tiltyard.analysis.conditions import numa_refused
from tiltyard.analysis.contrast import Contrast, Withheld
from tiltyard.analysis.disturbances import disturbances
from tiltyard.analysis.model import Notice, WorkloadFindings
from tiltyard.analysis.network import ends_notice, network_notices
from tiltyard.analysis.path_length import path_length_notices
from tiltyard.analysis.steadiness import unsteady
from tiltyard.analysis.words import HOLM, Family
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord
from tiltyard.stats.trend import trend
from tiltyard.units import format_number, format_value

NOISE_LEVEL: Final = 0.05
"""Level of the test whether the noise changed during the session."""
EMULATED: Final = "QEMU emulation"
"""A guest's fact "virtual machine" begins so where no processor executes it."""
NO_HYPERVISOR: Final = frozenset({"", "none", "no", "none seen", "not available"})


def notices(
    plan: Plan,
    run: RunRecord,
    judged: Sequence[JudgedWorkload],
    workloads: Sequence[WorkloadFindings],
    withheld: Withheld | None = None,
) -> Iterator[Notice]:
    """All notices: the trials first, then the evidence, then the limits of any claim."""
    contrasts = [contrast for found in judged for contrast in found.contrasts]
    yield from _withheld(withheld)
    if plan.scaled:
        yield Notice(severity="warning", text=plan.scaled.sentence)
    yield from disturbances(plan, run)
    yield from network_notices([found.measured for found in judged])
    yield from unsteady(workload.steadiness for workload in workloads)
    if not withheld or contrasts:
        yield from _looks(plan, judged, over=run.stopped is not None)
    yield from _undecided(contrasts)
    yield from _resumed(run)
    yield from _changed(run)
    yield from _not_granted(plan, run)
    yield from _tails(contrasts)
    if not plan.design.strict:
        for found in judged:
            yield from _noise(found)
    if plan.clock == "instructions":
        yield from path_length_notices([found.measured for found in judged])
    else:
        yield from _short(plan, run)
        yield from _emulated(run)
        yield from _limits(plan, run)


def _short(plan: Plan, run: RunRecord) -> Iterator[Notice]:
    """Cells that took too little time to be more than a sample of the moment."""
    for workload in plan.workloads:
        cells = cell_times(run, workload)
        if short := short_of(cells):
            yield Notice(
                severity="note",
                text=f"{len(short)} of {len(cells)} cells of {workload.spec.name} took less than "
                f"{LEAST_S:g} s in a trial, the shortest {format_value(short[0].elapsed_s, 's')}: "
                "what else the host did in those moments is much of their noise.",
                advice="Give them more work; tiltyard plan says which parameter takes which value, "
                "and what that costs.",
            )


def _emulated(run: RunRecord) -> Iterator[Notice]:
    """Time in a guest whose every instruction is translated is not that of a processor."""
    machines = {turn.system: turn.facts.get("virtual machine", "") for turn in run.prepared}
    emulated = [system for system, machine in machines.items() if machine.startswith(EMULATED)]
    if emulated:
        yield Notice(
            severity="warning",
            text=f"The processor of {_named(emulated)} was emulated. Times are those of an "
            "emulator: system calls take some 3 times as long as on hardware, and bulk "
            "copies 20 times; what caches, branches and disks cost is not in them. Differences "
            "need not be those of a real machine, in size or in sign.",
            advice='Confirm on hardware or with backend = "kvm"; to compare code alone, '
            'clock = "instructions".',
        )


def _named(systems: Sequence[str]) -> str:
    return systems[0] if len(systems) == 1 else f"{len(systems)} systems"


def _withheld(withheld: Withheld | None) -> Iterator[Notice]:
    """No verdict on anything."""
    if withheld:
        yield Notice(
            severity="problem",
            text=f"{withheld.reason}: there is no verdict.",
            advice="Stop what else runs on this host, raise a limit that does not fit it, or let "
            'such blocks count: [noise] disturbed = "keep".',
        )


def _looks(plan: Plan, judged: Sequence[JudgedWorkload], *, over: bool) -> Iterator[Notice]:
    """What waits for a look; ``over``: the run has ended for good."""
    again = "Run the study again"
    first = plan.design.looks[0].blocks
    contrasts = [contrast for found in judged for contrast in found.contrasts]
    early = [found for found in contrasts if not found.interval and found.verdict != "invalid"]
    fewest = min((len(contrast.differences) for contrast in early), default=0)
    if (early or not contrasts) and fewest < first:
        yield Notice(
            severity="warning",
            text=f"{fewest} {plan.design.unit}s of the {first} that the first look needs: "
            f"{len(early)} comparisons have no interval yet.",
            advice=None if over else f"{again}: it goes on where it stopped.",
        )
    elif early:
        headlines = sum(len(found.index.contrasts) for found in judged)
        needed = Family(headlines, HOLM).first_look(plan.design)
        yield Notice(
            severity="warning",
            text=f"{headlines} comparisons of workloads as a whole have no simultaneous intervals "
            f"before {needed} {plan.design.unit}s."
            if needed
            else f"{headlines} comparisons of workloads as a whole are too many for simultaneous "
            f"intervals within the {plan.design.looks[-1].blocks} {plan.design.unit}s of the plan.",
            advice=None if over or not needed else f"{again}: it goes on where it stopped.",
        )
    beyond = max(
        (
            len(found.differences) - found.interval.blocks
            for found in contrasts
            if found.interval and found.is_open
        ),
        default=0,
    )
    if beyond:
        blocks = "1 block" if beyond == 1 else f"{beyond} blocks"
        yield Notice(
            severity="note",
            text=f"{blocks} beyond the latest look: shown as points, but no verdict rests on them "
            "before the next look.",
            advice=None if over else f"{again} to reach the next look.",
        )


def _undecided(contrasts: Sequence[Contrast]) -> Iterator[Notice]:
    """Comparisons that were looked at and are open."""
    found = [own for own in contrasts if own.interval and own.verdict == "undecided"]
    if found:
        yield Notice(
            severity="note",
            text=f"{len(found)} of {len(contrasts)} comparisons are undecided: neither a "
            "difference nor sameness has been shown.",
            advice="The sentence on each says what is possible, and how many blocks it would take.",
        )


def _resumed(run: RunRecord) -> Iterator[Notice]:
    if run.resumed_blocks:
        numbers = ", ".join(map(str, run.resumed_blocks))
        yield Notice(
            severity="note",
            deviation=True,
            text=f"The run was started {run.starts} times; the trials of block {numbers} were not "
            "all made in one go. They are kept.",
        )


def _changed(run: RunRecord) -> Iterator[Notice]:
    """Blocks before and after a change were made on two hosts, so to speak."""
    if run.host_changes:
        yield Notice(
            severity="warning",
            deviation=True,
            text="The host has changed between two starts of this run. "
            f"{'. '.join(run.host_changes)}.",
            advice="Comparisons within blocks hold; whether the change moved anything, the order "
            "of trials shows.",
        )


def _not_granted(plan: Plan, run: RunRecord) -> Iterator[Notice]:
    """Conditions that the study asks for and did not get."""
    isolation = run.isolation
    if isolation is not None and not isolation.granted and not isolation.unasked:
        yield Notice(
            severity="warning",
            deviation=True,
            text="The study asks to keep others off the CPUs that measure; that was not granted: "
            f"{isolation.text}.",
        )
    if numa_refused(plan, run):
        yield Notice(
            severity="warning",
            deviation=True,
            text=f"The study asks for the memory of NUMA node {plan.conditions.numa}; not all "
            "trials got it.",
            advice="A container may forbid memory policies (set_mempolicy).",
        )


def _tails(contrasts: Sequence[Contrast]) -> Iterator[Notice]:
    """Where the geometric mean is outside the interval of the typical block."""
    differing = [
        contrast
        for contrast in contrasts
        if contrast.interval
        and not contrast.interval.low <= contrast.mean <= contrast.interval.high
    ]
    if differing:
        first = differing[0]
        unit = first.quantity.unit_of_replication
        yield Notice(
            severity="warning",
            text=(
                f"Tails differ in {len(differing)} of {len(contrasts)} comparisons: the geometric "
                f"mean over {unit}s is outside the interval of the typical {unit}, for one in "
                f"{first.quantity.topic}, {first.system} against {first.against}."
            ),
            advice="Rare slow trials matter there: look at the points, not only at the interval.",
        )


def _noise(judged: JudgedWorkload) -> Iterator[Notice]:
    """Did the size of the random differences change over the session?"""
    if not judged.index.contrasts or judged.index.quantity.sessions is not None:
        return
    deviations = np.full((len(judged.index.contrasts), len(judged.measured.blocks)), np.nan)
    for row, contrast in enumerate(judged.index.contrasts):
        if contrast.interval:
            centred = contrast.differences - contrast.interval.estimate
            deviations[row, contrast.usable] = np.abs(centred)
    common = np.isfinite(deviations).all(axis=0)
    found = trend(np.flatnonzero(common).astype(np.float64), deviations[:, common].mean(axis=0))
    if found and found.p < NOISE_LEVEL:
        change = "grew" if found.spearman > 0 else "shrank"
        yield Notice(
            severity="warning",
            text=(
                f"The noise of {judged.measured.workload.spec.name} {change} during the session "
                f"(rank correlation {found.spearman:+.2f}, p = {found.p:.2g}), which moves the "
                "error rate of the looks a little."
            ),
            advice="For a published claim use precision.strict = true, which holds regardless.",
        )


def _limits(plan: Plan, run: RunRecord) -> Iterator[Notice]:
    """How far any claim of this study reaches."""
    network = all(workload.target == "far" for workload in plan.workloads)
    if network:
        yield ends_notice(plan)
    else:
        yield Notice(
            severity="note",
            text="One machine, one device: the verdicts are about this host, not about all hosts.",
            advice="Repeat the study on another machine before generalising.",
        )
    fresh = [system for system in plan.systems if system.settings.get("state", "fresh") == "fresh"]
    if any(system.settings.get("reset") in ("mkfs", "reboot") for system in fresh):
        yield Notice(
            severity="note",
            text="Every trial met a freshly made file system; aged ones can rank differently.",
        )
    hypervisor = next((value for name, value in run.host.items() if "virtual" in name.lower()), "")
    if hypervisor.lower() not in NO_HYPERVISOR:
        name = hypervisor.removeprefix("virtual machine").strip(" ()")
        caches = "" if network else ", and its disks may be cached outside of it"
        yield Notice(
            severity="note",
            text=f"The host is a virtual machine{f' ({name})' if name else ''}: what its "
            f"neighbours do is in the noise{caches}.",
        )
    yield _resolution(run)


def _resolution(run: RunRecord) -> Notice:
    """The smallest difference that this host can show, if that is known."""
    note = run.calibration
    if note is None:
        return Notice(
            severity="note",
            text="The host was not calibrated: how small a difference it can show, and how often "
            "it names a false winner, is not known.",
            advice="Run tiltyard calibrate.",
        )
    return Notice(
        severity="note",
        text=f"Differences below about {format_number(note.resolution_percent, 2)} % do not show "
        f"on this host (calibration {note.id}, {note.date[:10]}).",
    )
