"""Limitations and warnings on the evidence and its scope, each with its remedy."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from tiltyard.analysis.calibration_command import calibration_command
from tiltyard.analysis.cell_times import LEAST_S, cell_times, short_of
from tiltyard.analysis.line import signed
from tiltyard.analysis.model import Notice
from tiltyard.analysis.network import ends_notice, network_notices
from tiltyard.analysis.path_length import path_length_notices
from tiltyard.analysis.statements.conditions import numa_refused
from tiltyard.analysis.statements.evidence import Evidence
from tiltyard.analysis.statements.family import HOLM, Family
from tiltyard.analysis.statements.numbers import is_extended, widened_note
from tiltyard.analysis.statements.statement import statement
from tiltyard.analysis.steadiness import unsteady
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import Plan
from tiltyard.plan.prospect import blocks_for
from tiltyard.stats.autoregressive import sizes_p
from tiltyard.stats.planning import LIKELY_SHARE
from tiltyard.stats.trend import thinned, trend
from tiltyard.stats.types import FloatArray
from tiltyard.units import agreeing, count_of, format_number, format_value, part_of

NOISE_LEVEL: Final = 0.05
"""Level of the test whether the noise changed during the session."""
EMULATED: Final = "QEMU emulation"
"""A guest's fact "virtual machine" begins so where no processor executes it."""
NO_HYPERVISOR: Final = frozenset({"", "none", "no", "none seen", "not available"})

problem = partial(Notice, severity="problem")
warning = partial(Notice, severity="warning")
note = partial(Notice, severity="note")


@statement("notice", "REASON: there is no verdict.")
def _withheld(evidence: Evidence) -> Iterator[Notice]:
    """No verdict on any comparison is given."""
    if evidence.withheld:
        yield problem(
            text=f"{evidence.withheld.reason}: there is no verdict.",
            advice=f"Stop other work on {evidence.plan.where}, raise a limit that does not fit "
            "it, or let such blocks count: tiltyard run with --disturbed keep.",
        )


@statement("notice", "This study is scaled to …")
def _scaled(evidence: Evidence) -> Iterator[Notice]:
    """The study was carried out at another scale."""
    if evidence.plan.scaled:
        yield warning(text=evidence.plan.scaled.sentence, above=True)


@statement("notice", "NAME prints something else on SYSTEM than on SYSTEM.")
def _printed(evidence: Evidence) -> Iterator[Notice]:
    """Systems whose executions of a program all print the same do not agree with each other."""
    for workload in evidence.plan.workloads:
        prints: dict[str, set[str]] = {}
        for trial in evidence.run.by_workload.get(workload.spec.name, ()):
            if trial.outcome == "done":
                prints.setdefault(trial.key.system, set()).update(trial.printed)
        (first, known), *others = prints.items() or [("", set[str]())]
        other = next((name for name, own in others if own != known), None)
        if other and all(len(own) == 1 for own in prints.values()):
            yield warning(
                text=f"{workload.spec.name} prints something else on {other} than on {first}.",
                advice="Is each of them right? Only equal output counts with --same-output, in a "
                'study expect = { stdout = "same" }.',
            )


@statement("notice", "NAME: datagrams were lost, or an option was not granted")
def _network(evidence: Evidence) -> Iterator[Notice]:
    """A workload was measured over a network."""
    yield from network_notices(evidence.measured)


@statement("notice", "NAME reached no steady state in N of M trials.")
def _unsteady(evidence: Evidence) -> Iterator[Notice]:
    """More trials than a few reached no steady state."""
    yield from unsteady(workload.steadiness for workload in evidence.workloads)


@statement("notice", "N blocks of the M that the first look needs: no interval yet.")
def _looks(evidence: Evidence) -> Iterator[Notice]:
    """Comparisons wait for a look, or blocks were made after the latest one."""
    plan, contrasts = evidence.plan, evidence.contrasts
    over = evidence.run.stopped is not None
    if not contrasts and (evidence.withheld or over):
        return
    more = None if over else "Run the study again: it continues where it stopped."
    first = plan.design.looks[0].blocks
    is_early = ~contrasts.has_interval & (contrasts.columns["verdict"] != "invalid")
    early = int(is_early.sum())
    fewest = int(contrasts.made[is_early].min()) if early else 0
    if (early or not contrasts) and fewest < first:
        yield warning(
            text=f"{count_of(fewest, plan.design.unit)} of the {first} that the first look needs: "
            f"{count_of(early, 'comparison has', 'comparisons have') if early else 'there is'} "
            "no interval yet.",
            advice=more,
        )
    elif early:
        headlines = sum(len(found.index.contrasts) for found in evidence.judged)
        needed = Family(headlines, HOLM).first_look(plan.design)
        yield warning(
            text=f"{count_of(headlines, 'comparison')} of workloads as a whole "
            f"{agreeing(headlines, 'has', 'have')} no simultaneous intervals "
            f"before {count_of(needed, plan.design.unit)}."
            if needed
            else f"{count_of(headlines, 'comparison')} of workloads as a whole are too many for "
            "simultaneous "
            f"intervals within the {count_of(plan.design.looks[-1].blocks, plan.design.unit)} of "
            "the plan.",
            advice=more
            if needed
            else f"Plan {count_of(blocks_for(headlines, plan.design), plan.design.unit)} or more.",
        )
    is_open = contrasts.has_interval & contrasts.is_open
    beyond = int(contrasts.waiting[is_open].max(initial=0))
    if beyond:
        blocks = count_of(beyond, "block")
        yield note(
            text=f"{blocks} after the latest look: shown as points; no verdict rests on them "
            "before the next look.",
            advice=None if over else "Run the study again to reach the next look.",
        )


@statement("notice", "N of M comparisons are undecided.")
def _undecided(evidence: Evidence) -> Iterator[Notice]:
    """Comparisons have an interval and are open."""
    contrasts = evidence.contrasts
    found = int((contrasts.has_interval & (contrasts.columns["verdict"] == "undecided")).sum())
    if found:
        yield note(
            text=f"{part_of(found, len(evidence.contrasts), 'comparison')} undecided: neither a "
            "difference nor equivalence was shown.",
            advice="The sentence on each gives its interval and the number of blocks needed.",
        )


@statement("notice", "The run was started N times; block M was interrupted.")
def _resumed(evidence: Evidence) -> Iterator[Notice]:
    """A block was interrupted and resumed."""
    run = evidence.run
    if run.resumed_blocks:
        numbers = ", ".join(map(str, run.resumed_blocks))
        yield note(
            deviation=True,
            text=f"The run was started {run.starts} times; the trials of block {numbers} were not "
            "all made in one go. They are kept.",
        )


@statement("notice", "A host has changed during this run.")
def _changed(evidence: Evidence) -> Iterator[Notice]:
    """Facts of a host that has systems differ between two starts, or two boots."""
    if evidence.run.host_changes:
        yield warning(
            deviation=True,
            text=f"A host has changed during this run. {'. '.join(evidence.run.host_changes)}.",
            advice="Comparisons within blocks hold; the order of trials shows whether values "
            "changed with the host.",
        )


@statement("notice", "The study asks for CONDITION; it was not granted.")
def _not_granted(evidence: Evidence) -> Iterator[Notice]:
    """Isolation or the memory of a NUMA node was asked for and not granted."""
    isolation = evidence.run.isolation
    if isolation is not None and not isolation.granted:
        yield warning(
            deviation=True,
            text="The study asks to keep others off the CPUs that measure; that was not granted: "
            f"{isolation.text}.",
        )
    if numa_refused(evidence.plan, evidence.run):
        yield warning(
            deviation=True,
            text=f"The study asks for the memory of NUMA node {evidence.plan.conditions.numa}; not "
            "all trials got it.",
            advice="A container may forbid memory policies (set_mempolicy).",
        )


_ROUNDING: Final = 1e-9
"""Means that are so near to an end of an interval are summed exactly."""


@statement("notice", "Tails differ in N of M comparisons.")
def _tails(evidence: Evidence) -> Iterator[Notice]:
    """The geometric mean is outside the interval of the typical block."""
    contrasts = evidence.contrasts
    low, high, means = contrasts.columns["low"], contrasts.columns["high"], contrasts.means
    near = (means < low + _ROUNDING) | (means > high - _ROUNDING)
    differing = [
        contrast
        for contrast in (contrasts[row] for row in np.flatnonzero(near).tolist())
        if contrast.interval
        and not contrast.interval.low <= contrast.mean <= contrast.interval.high
    ]
    if differing:
        first = differing[0]
        unit = first.quantity.unit_of_replication
        yield warning(
            text=f"Tails differ in {len(differing)} of "
            f"{count_of(len(evidence.contrasts), 'comparison')}: the "
            f"geometric mean over {unit}s is outside the interval of the typical {unit}, for "
            f"example in {first.quantity.topic}, {first.system} against {first.against}.",
            advice="Rare slow trials matter there: look at the points, not only at the interval.",
        )


@statement("notice", "The noise of NAME grew during the session.")
def _noise(evidence: Evidence) -> Iterator[Notice]:
    """Spearman of the distances from the estimates with their order, at 5 %; not lasting noise."""
    for judged in evidence.judged if not evidence.plan.design.strict else ():
        found = _noise_trend(judged)
        if found and found[1] < NOISE_LEVEL:
            spearman, p = found
            yield warning(
                text=f"The noise of {judged.measured.workload.display} "
                f"{'grew' if spearman > 0 else 'shrank'} during the session (rank correlation "
                f"{signed(spearman, 2)}, p = {p:.2g}), which moves the error rate of the looks a "
                "little.",
                advice="For a published claim use precision.strict = true, which holds regardless.",
            )


def _noise_trend(judged: JudgedWorkload) -> tuple[float, float] | None:
    """Rank correlation of the size of the random differences with their order, and its p-value."""
    if not judged.index.contrasts or judged.index.quantity.sessions is not None:
        return None
    sizes = np.full((len(judged.index.contrasts), len(judged.measured.blocks)), np.nan)
    for row, contrast in enumerate(judged.index.contrasts):
        if contrast.interval:
            centred = contrast.differences - contrast.interval.estimate
            sizes[row, contrast.usable] = np.abs(centred)
    common = np.isfinite(sizes).all(axis=0)
    return growth(np.flatnonzero(common).astype(np.float64), sizes[:, common].mean(axis=0))


def growth(slots: FloatArray, sizes: FloatArray) -> tuple[float, float] | None:
    """Rank correlation of sizes with their order, and its p-value; ``None`` where they are equal.

    Neither permutation nor noise that lasts from block to block is to explain it: the larger of
    both p-values, see :mod:`tiltyard.stats.autoregressive`.

    Args:
        slots: places in the order, shape (n,).
        sizes: distances from what is typical, shape (n,).
    """
    found = trend(slots, sizes)
    if found is None:
        return None
    return found.spearman, max(found.p, sizes_p(thinned(slots, sizes)[1]))


@statement("notice", "The instructions of NAME repeat within N %.")
def _path_lengths(evidence: Evidence) -> Iterator[Notice]:
    """Instructions were counted instead of time."""
    if evidence.plan.clock == "instructions":
        yield from path_length_notices(evidence.measured)


@statement("notice", "N of M cells of NAME took less than 0.1 s in a trial.")
def _short(evidence: Evidence) -> Iterator[Notice]:
    """Cells took too little time to be more than a sample of the moment."""
    for workload in evidence.plan.workloads if evidence.plan.clock == "time" else ():
        cells = cell_times(evidence.run, workload)
        if short := short_of(cells):
            yield note(
                text=f"{len(short)} of {count_of(len(cells), 'cell')} of {workload.spec.name} took "
                "less than "
                f"{LEAST_S:g} s in a trial, the shortest {format_value(short[0].elapsed_s, 's')}: "
                "other activity of the host in those moments is much of their noise.",
                advice="Give them more work; tiltyard plan says which parameter takes which value, "
                "and what that costs.",
            )


@statement("notice", "N intervals were widened to end at no difference.")
def _widened(evidence: Evidence) -> Iterator[Notice]:
    """Intervals that exclude 1 alone and not after the correction; each is marked."""
    columns = evidence.contrasts.columns[evidence.contrasts.has_interval]
    at_one = (columns["low"] == 0) | (columns["high"] == 0)
    ends = columns[at_one & (columns["verdict"] == "undecided")][["low", "high", "p", "level"]]
    rows = ends.tolist()
    if count := sum(is_extended(*np.exp(row[:2]).tolist(), *row[2:]) for row in rows):
        yield note(text=widened_note(count))


@statement("notice", "METRIC is read from bins that are up to N % wide.")
def _bins(evidence: Evidence) -> Iterator[Notice]:
    """Percentiles are compared that a program read from a histogram."""
    quantities = (cell.quantity for own in evidence.judged for cell in own.cells)
    wide = {one.named or one.topic: one.rounding for one in quantities if one.rounding}
    for metric, rounding in wide.items():
        yield note(
            text=f"{metric} is read from the bins of a histogram, which are up to "
            f"{format_number(-100 * math.expm1(-rounding), 2)} % wide: the interval of a ratio is "
            "so much wider on either side, however many the blocks are.",
        )


@statement("notice", "The processor of SYSTEM was emulated.")
def _emulated(evidence: Evidence) -> Iterator[Notice]:
    """A guest ran without hardware virtualisation."""
    machines = {
        turn.system: turn.facts.get("virtual machine", "") for turn in evidence.run.prepared
    }
    emulated = [system for system, machine in machines.items() if machine.startswith(EMULATED)]
    if emulated and evidence.plan.clock == "time":
        yield warning(
            text=f"The processor of {_named(emulated)} was emulated. Times are those of an "
            "emulator: system calls take some 3 times as long as on hardware, and bulk "
            "copies 20 times; costs of caches, branches and disks are not in them. Differences "
            "need not be those of a real machine, in size or in sign.",
            advice='Confirm on hardware or with backend = "kvm"; to compare code alone, '
            'clock = "instructions".',
        )


def _named(systems: Sequence[str]) -> str:
    return systems[0] if len(systems) == 1 else count_of(len(systems), "system")


@statement("notice", "One machine, one device: the verdicts are about this host.")
def _scope(evidence: Evidence) -> Iterator[Notice]:
    """Times were measured: how far the verdicts reach."""
    plan = evidence.plan
    if plan.clock == "instructions":
        return
    if _is_of_network(plan):
        yield ends_notice(plan)
    elif plan.placement is None:
        one, these = "One machine, one device", plan.where
        if not plan.is_of_one_host:
            one, these = "One device of each host", "these hosts"
        yield note(
            text=f"{one}: the verdicts are about {these}, not about all hosts.",
            advice="Repeat the study on another machine before generalising.",
        )
    fresh = [system for system in plan.systems if system.settings.get("state", "fresh") == "fresh"]
    if not _is_of_network(plan) and any(
        system.settings.get("reset") in ("mkfs", "reboot") for system in fresh
    ):
        yield note(
            text="Every trial ran on a freshly made file system; aged ones can rank differently."
        )


def _is_of_network(plan: Plan) -> bool:
    return all(workload.target == "far" for workload in plan.workloads)


@statement("notice", "The host is a virtual machine: activity of its neighbours is in the noise.")
def _virtual(evidence: Evidence) -> Iterator[Notice]:
    """Times were measured, in a virtual machine: of this host, and of each other one."""
    plan, run = evidence.plan, evidence.run
    if plan.clock == "instructions":
        return
    here = next((value for name, value in run.host.items() if "virtual" in name.lower()), "")
    told = {} if plan.is_remote else {"The host": here}
    for host, record in run.other_hosts.items():
        told[host] = record.get("virtualisation", {}).get("hypervisor", "")
    caches = "" if _is_of_network(plan) else ", and its disks may be cached outside of it"
    for host, hypervisor in told.items():
        if hypervisor.lower() in NO_HYPERVISOR:
            continue
        name = hypervisor.removeprefix("virtual machine").strip(" ()")
        yield note(
            text=f"{host} is a virtual machine{f' ({name})' if name else ''}: activity of its "
            f"neighbours is in the noise{caches}."
        )


@statement(
    "notice", f"A difference of about N % is found in {LIKELY_SHARE} of comparisons on this host."
)
def _resolution(evidence: Evidence) -> Iterator[Notice]:
    """Times were measured: the smallest difference that this host can show, if calibrated."""
    if evidence.plan.clock == "instructions":
        return
    found, where = evidence.run.calibration, evidence.plan.where
    command = calibration_command(where)
    if found is None and not command:
        yield note(
            text=f"The smallest difference that {where} can show is not known: a calibration is of "
            "one host.",
            advice=f"Compare a system on {where} with itself.",
        )
    elif found is None:
        yield note(
            text="The host was not calibrated: its smallest detectable difference and its rate of "
            "false positives are not known.",
            advice=f"Run {command}.",
        )
    else:
        yield note(
            text=f"A difference of about {format_number(found.resolution_percent, 2)} % is found "
            f"in {LIKELY_SHARE} of comparisons on {where} (calibration {found.id}, "
            f"{found.date[:10]})."
        )


OF_THE_STUDY: Final = (_withheld, _scaled)
OF_THE_EVIDENCE: Final = (
    _printed,
    _network,
    _unsteady,
    _looks,
    _undecided,
    _resumed,
    _changed,
    _not_granted,
    _tails,
    _noise,
    _path_lengths,
    _short,
    _widened,
    _bins,
    _emulated,
    _scope,
    _virtual,
    _resolution,
)
