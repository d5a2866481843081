"""From a study folder to what is known of its noise: its pilot, or an earlier run."""

from collections.abc import Mapping
from fractions import Fraction

from tiltyard.analysis.cell_times import cell_times
from tiltyard.analysis.forecast import Basis, basis_of, basis_of_pilot
from tiltyard.analysis.pilot import pilot_of
from tiltyard.analysis.replication import components_of, values_of_trials
from tiltyard.app.freeze import at_scale, frozen
from tiltyard.app.run import run_whole
from tiltyard.errors import InterruptedRunError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, sha256, write_whole
from tiltyard.plan.model import Plan
from tiltyard.plan.pilot import Pilot, executions_said, plan_of_pilot, read_pilot
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.estimate import Pace
from tiltyard.run.history import History
from tiltyard.run.observer import Observer
from tiltyard.run.progress import progress_of, without_replaced_blocks
from tiltyard.run.read import read_run
from tiltyard.run.stream import read_stream
from tiltyard.run.trust import UntrustedInputs, remember_made
from tiltyard.units import count_of
from tiltyard.workloads.catalogue import catalogue_of


def run_pilot(
    folder: StudyFolder,
    engine: Engine,
    observer: Observer,
    scale: Fraction | None = None,
    *,
    trust: bool = False,
) -> list[str]:
    """Carry the pilot out, or go on with it, and write down what it found.

    Returns:
        Remarks for people.

    Raises:
        RefusedError: if what the study brings is not trusted.
        InterruptedRunError: after Ctrl-C; the same command goes on.
        UsageError: if there is the pilot of another study.
    """
    plan = _planned_pilot(folder, engine, scale, trust=trust)
    try:
        run_whole(folder.pilot, plan, engine, observer, "the pilot is complete")
    except InterruptedRunError:
        raise InterruptedRunError(
            "interrupted; everything finished is kept. "
            f"Go on with: tiltyard plan {folder.root} --pilot"
        ) from None
    run = read_run(folder.pilot, plan)
    history = History.read(folder.pilot.journal)
    pace = Pace.of(history)
    executed_s = _executed_s(folder.pilot, history)
    pilot = pilot_of(plan, run, pace.overhead_s, pace.workloads, history.last_at, executed_s)
    remember_made(folder, {folder.pilot_findings: sha256(pilot.document())})
    write_whole(folder.pilot_findings, pilot.document())
    remarks = [f"{folder.pilot_findings} ({pilot.hash[:12]})", *executions_said(pilot)]
    if failed := sum(trial.outcome != "done" for trial in run.trials):
        of = len(run.trials)
        remarks.append(
            f"{failed} of {count_of(of, 'trial')} failed: tiltyard status {folder.pilot.root}"
        )
    if folder.plan.exists():
        remarks.append("the plan of this study is frozen already: it stays as it is")
    return remarks


def _executed_s(folder: StudyFolder, history: History) -> dict[str, list[list[float]]]:
    """Workload → trial → times of the executions of a program, of the trials that are done."""
    found: dict[str, list[list[float]]] = {}
    for event in history.finished.values():
        if event.outcome == "done":
            executions = read_stream((folder.root / event.file).read_bytes()).executions
            times_s = [execution.elapsed_s for execution in executions]
            found.setdefault(event.key.workload, []).append(times_s)
    return found


def _planned_pilot(
    folder: StudyFolder, engine: Engine, scale: Fraction | None, *, trust: bool
) -> Plan:
    """The plan of the pilot; frozen now if it has none."""
    pilot, text = folder.pilot, folder.study.read_bytes()
    catalogue = catalogue_of(engine, folder)
    if pilot.plan.exists():
        if pilot.study.read_bytes() != text:
            raise UsageError(
                f"{pilot.root}: this pilot was made before {folder.study} was changed. "
                "Delete that folder to make another one"
            )
        plan = at_scale(pilot, scale)
        UntrustedInputs.of(plan, catalogue, pilot).require_trusted(folder.root, trust=trust)
        remember_made(folder)
        return plan
    plan = frozen(folder.study, engine, scale, folder)
    UntrustedInputs.of(plan, catalogue, pilot).require_trusted(folder.root, trust=trust)
    plan = plan_of_pilot(plan)
    remember_made(folder, {pilot.plan: plan.hash})
    write_whole(pilot.study, text)
    write_plan(pilot, plan)
    return read_plan(pilot)


def plan_to_forecast(folder: StudyFolder, engine: Engine, scale: Fraction | None = None) -> Plan:
    """The plan of the study, or the one that would be frozen now; nothing is written."""
    if folder.plan.exists():
        return at_scale(folder, scale)
    return frozen(folder.study, engine, scale, folder)


def known_of(folder: StudyFolder, plan: Plan) -> tuple[Mapping[str, Basis], str]:
    """What is known of each workload, and from where.

    Raises:
        UsageError: if nothing is known yet, or the pilot was about something else.
    """
    pilot = read_pilot(folder.pilot_findings, plan.workloads, plan.systems)
    if pilot is not None:
        known = {found.name: basis_of_pilot(found) for found in pilot.workloads}
        return known, _source(pilot, plan)
    if not folder.journal.exists():
        raise UsageError(
            f"{folder.root}: nothing is known of the noise yet; "
            f"tiltyard plan {folder.root} --pilot measures it"
        )
    run = read_run(folder, plan)
    run = without_replaced_blocks(run, progress_of(plan, run))
    pace = Pace.of(History.read(folder.journal))
    systems = [system.name for system in plan.systems]
    known = {}
    for workload in plan.workloads:
        name = workload.spec.name
        if name in pace.workloads:
            values = values_of_trials(plan, run, workload)
            share_s = pace.overhead_s / len(plan.workloads)
            components = components_of(values)
            cells = cell_times(run, workload) if plan.clock == "time" else ()
            known[name] = basis_of(
                values, systems, components, share_s, pace.workloads[name], cells
            )
    return known, "the trials of this study so far"


def _source(pilot: Pilot, plan: Plan) -> str:
    """The pilot in words; a host that was busy has noise that an idle one would not have."""
    words = (
        f"a pilot of {count_of(pilot.blocks, 'block')}, {count_of(pilot.trials, 'trial')} in each "
        "turn"
    )
    foreign = pilot.telemetry.get("foreign_cpu", 0.0)
    if plan.noise_limits is None or foreign <= plan.noise_limits.foreign_cpu:
        return words
    return f"{words}, while others used {100 * foreign:.0f} % of a core"
