"""``tiltyard run``: carry a study out, or go on with it."""

import shlex
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from tiltyard.cli.completers import Study
from tiltyard.cli.measuring import BLOCKS_MAX, require_blocks
from tiltyard.cli.printing import WORDS, Printing
from tiltyard.units import count_of

if TYPE_CHECKING:
    from fractions import Fraction

    from tiltyard.analysis.gate import By
    from tiltyard.analysis.model import Findings
    from tiltyard.executors.engine import Engine
    from tiltyard.folder import StudyFolder
    from tiltyard.run.record import Amendment
    from tiltyard.run.sessions import Session
    from tiltyard.study import model


class RunOptions(TypedDict, total=False):
    """How a study is carried out; options of the verb `run`, but for `within` and `by`."""

    scale: "Fraction | None"
    stop_on_failure: bool
    allow_reboot: bool
    wait_s: float | None
    new_session: bool
    trust: bool
    amendment: "Amendment"
    show_output: bool
    """Whether what programs print is shown."""
    by: "By"
    """Which time of programs the gate goes by."""
    within: float
    """The margin of the gate, whose answer is then what the run goes on for."""


def run(
    study: Study,
    /,
    *,
    folder: Path | None = None,
    stop_on_failure: bool = False,
    require_decision: bool = False,
    allow_reboot: bool = False,
    wait: str | None = None,
    scale: str | None = None,
    budget: str | None = None,
    blocks: int | None = None,
    disturbed: Literal["keep"] | None = None,
    new_session: bool = False,
    trust: bool = False,
    printing: Printing = WORDS,
) -> int:
    """Run a study; the same command resumes it where it stopped.

    ```
    tiltyard run spool                       # a folder with a study.toml
    tiltyard run studies/demo.toml --folder /var/tmp/demo
    tiltyard run studies/iozone-rhel6.toml --scale 1/64     # a 64th of the work; says so
    ```

    Each trial is on disk before the next one starts. Ctrl-C takes down what was brought up and
    keeps every finished trial. Of a study of several sessions it carries out one, and ends; the
    next one begins after a boot or 8 h later.

    Args:
        study: A study folder or a study file, with or without its suffix.
        folder: Where to carry it out; by default in the study's own folder. That of a study file
            is refused (code 4) if results lie in it that you have not made here: name it.
        stop_on_failure: Stop at the first failed trial; without it the failure is recorded and
            the study goes on.
        require_decision: Exit with code 6 if a comparison is undecided at the end. One that is
            invalid, because too many of its blocks failed or were disturbed, is code 5 either way.
        allow_reboot: Boot the host before each turn of systems with reset = "reboot". If it is
            this one, the run ends with code 9 each time and goes on by itself after the boot.
        wait: How long to wait, each time, for what another run or another program has at the
            moment: a setting, a device. By default 10 min. After that the run ends with code 4, and
            the same command goes on; "0 s" does not wait.
        scale: Make sizes, counts and durations smaller by this fraction before the plan is frozen:
            more than 0, at most 1, as "1/64" or "0.01". Plan and report say what became of them.
        budget: Go on for so much longer, also after the study's own budget was used up: "10 min".
            No look is added; the report says that the plan was changed.
        blocks: Run the study with exactly so many blocks and one look, without its budget: as a
            study of its own, by default in a folder beside it, `STUDY-BLOCKS`.
        disturbed: "keep": blocks in which other programs used the host count from now on, those
            that were replaced too. The report says that this was asked for after the run began.
        new_session: Begin the next session in the same boot and at once; where all have ended, add
            one to the study, which keeps its plan and its verdicts.
        trust: Let what the study brings be executed: programs, and options that start one, as
            `tiltyard check` names them. Kept, so that it is said once for a study.
        printing: Options of what is printed; the JSON document is that of the findings.
    """
    from tiltyard.app.freeze import opened_study
    from tiltyard.errors import UsageError
    from tiltyard.study.scaling import parse_scale
    from tiltyard.units import parse_duration

    printing.begin()
    try:
        wait_s = None if wait is None else parse_duration(wait)
    except ValueError as error:
        raise UsageError(f"--wait: {error}") from None
    require_blocks(blocks)
    fraction = None if scale is None else parse_scale(scale)
    with opened_study(study, folder, fraction, blocks) as target:
        findings = carried_out(
            target,
            amendment=_amendment(target, budget, keep=disturbed == "keep"),
            scale=fraction,
            stop_on_failure=stop_on_failure,
            allow_reboot=allow_reboot,
            wait_s=wait_s,
            new_session=new_session,
            trust=trust,
        )
    return shown(target, findings, printing, require_decision=require_decision)


def _amendment(folder: "StudyFolder", longer: str | None, *, keep: bool) -> "Amendment":
    """What a person changes of a plan that is frozen, or is about to be."""
    from tiltyard.errors import UsageError
    from tiltyard.run.history import History
    from tiltyard.run.record import Amendment
    from tiltyard.units import parse_duration

    if longer is None:
        return Amendment(keep=keep)
    try:
        further_s = parse_duration(longer)
    except ValueError as error:
        raise UsageError(f"--budget: {error}") from None
    return Amendment(keep=keep, budget_s=History.read(folder.journal).spent_s + further_s)


def shown(
    folder: "StudyFolder",
    findings: "Findings",
    printing: Printing,
    *,
    require_decision: bool,
    again: "Callable[[int], str] | None" = None,
) -> int:
    """Print the verdicts, and the command that takes an open question further; the exit code.

    Args:
        folder: of the study.
        findings: of it.
        printing: what is printed, and how.
        require_decision: whether no decision is an error.
        again: the command that measures it with so many blocks.
    """
    from tiltyard.cli.console import show, tell
    from tiltyard.report.terminal import verdicts

    if not printing.emit(findings):
        show(verdicts(findings, folder.report / "index.html"))
        if line := _next_step(folder, findings, again):
            tell(f"{'Next':12}{line}")
    return _exit_code(findings, require_decision)


def _next_step(
    folder: "StudyFolder", findings: "Findings", again: "Callable[[int], str] | None"
) -> str:
    """What spends the blocks that are needed, or makes disturbed ones count."""
    from tiltyard.analysis.decision import headlines
    from tiltyard.plan.store import read_plan
    from tiltyard.run.history import History
    from tiltyard.units import format_duration

    compared = headlines(findings)
    run = f"tiltyard run {shlex.quote(str(folder.root))}"
    if _is_withheld(findings):
        return f"let disturbed blocks count: {run} --disturbed keep"
    open_ = [found for found in compared if found.verdict == "undecided"]
    more = max((found.more_needed or 0 for found in open_), default=0)
    total = max((found.new_study_needs or 0 for found in open_), default=0)
    if not max(more, total) or findings.sessions or not findings.blocks_done:
        return ""
    block_s = History.read(folder.journal).spent_s / findings.blocks_done
    if not total and findings.blocks_done < findings.blocks_planned and findings.stopped:
        longer = format_duration(max(60.0, 60 * ceil(more * block_s / 60)))
        taken = f"about {format_duration(more * block_s)}"
        return f'≈ {count_of(more, "more block")} needed, {taken}: {run} --budget "{longer}"'
    total = total or (findings.look or findings.blocks_done) + more
    head = (
        f"a new study of ≈ {count_of(total, 'block')}, in which none of these counts, about "
        f"{format_duration(total * block_s)}"
    )
    if total > BLOCKS_MAX:
        return f"{head}: more than a study can have ({BLOCKS_MAX}); longer trials need fewer"
    if again:
        return f"{head}: {again(total)}"
    scaled = read_plan(folder).scaled
    return f"{head}: {run} --blocks {total}" + (f" --scale {scaled.by}" if scaled else "")


def carried_out(
    folder: "StudyFolder",
    engine: "Engine | None" = None,
    made: "model.Study | None" = None,
    **options: Unpack[RunOptions],
) -> "Findings":
    """Run a placed study to its end, write findings and report.

    Args:
        folder: of the study.
        engine: by default that of this installation.
        made: what is in the folder, where it need not be read.
        options: how.

    Raises:
        RefusedError: if what the study brings is not trusted.
        UsageError: if the gate is to go by CPU time, and no workload has any.
        HostLacksError: if the study folder cannot be written any more.
    """
    from tiltyard.app.freeze import planned
    from tiltyard.app.gate import require_time
    from tiltyard.cli.console import remark
    from tiltyard.errors import HostLacksError
    from tiltyard.executors.engine import Engine
    from tiltyard.run.binaries import twins
    from tiltyard.run.sessions import next_session
    from tiltyard.run.trust import remember_made

    try:
        engine = engine or Engine.find()
        plan = planned(
            folder,
            engine,
            options.get("scale"),
            trust=options.get("trust", False),
            study=made,
        )
        known = any(workload.has_cpu_time for workload in plan.workloads)
        require_time(options.get("by", "time"), known=known)
        for twin in twins(plan, (folder.study_root / plan.paths_from).resolve()):
            remark(f"Equal    {twin}")
        try:
            if plan.placement:
                _run_placed(folder, engine, options)
            else:
                session = next_session(folder, new=options.get("new_session", False))
                _run_session(session, engine, options)
        finally:
            remember_made(folder)
        # What judges and reports is loaded when there is something to judge.
        from tiltyard.app.report import conclude

        # A gate's page is for CI: most are never opened.
        findings = conclude(folder, pictures=options.get("within") is None)
        if coming := _next(findings):
            remark(f"Session  {coming}: tiltyard run {folder.root}")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise HostLacksError(
            f"{error.filename or folder.root}: {error.strerror}. Everything finished is kept. "
            f"Go on with: tiltyard run {folder.root}"
        ) from error
    return findings


def _run_session(session: "Session", engine: "Engine", options: RunOptions) -> None:
    """One session, with the display of a person."""
    from tiltyard.app.gate import until_gated
    from tiltyard.app.run import run_until_decided
    from tiltyard.cli.console import remark
    from tiltyard.cli.display import LiveDisplay
    from tiltyard.run.record import AS_PLANNED

    plan = session.plan
    within = options.get("within")
    if plan.scaled:
        remark(f"Scale    {plan.scaled.sentence}")
    if max(plan.session, plan.design.sessions) > 1:
        remark(f"Session  {plan.session} of {max(plan.session, plan.design.sessions)}")
    shown_of = session.folder if options.get("show_output") else None
    with LiveDisplay(outputs_in=shown_of) as display:
        reason = run_until_decided(
            session,
            engine,
            display,
            decide=None if within is None else until_gated(plan, within, options.get("by", "time")),
            stop_on_failure=options.get("stop_on_failure", False),
            allow_reboot=options.get("allow_reboot", False),
            wait_s=options.get("wait_s"),
            amendment=options.get("amendment", AS_PLANNED),
        )
    if reason != display.decision:
        remark(f"Ended    {reason}")


def _run_placed(folder: "StudyFolder", engine: "Engine", options: RunOptions) -> None:
    """All sessions, each on a host of its own; a line for what goes on."""
    from tiltyard.app.fleet import run_placed
    from tiltyard.cli.console import remark
    from tiltyard.run.record import AS_PLANNED

    run_placed(
        folder,
        engine,
        remark,
        options.get("wait_s"),
        stop_on_failure=options.get("stop_on_failure", False),
        amendment=options.get("amendment", AS_PLANNED),
    )


def _next(findings: "Findings") -> str:
    """What is to be done for the sessions that are left, if any are."""
    from tiltyard.run.sessions import APART_H

    found = findings.sessions
    left = [line.number for line in found.lines if not line.began] if found else []
    if not left:
        return ""
    return f"{left[0]} of the study comes after a boot, or {APART_H:g} h from now"


def _is_withheld(findings: "Findings") -> bool:
    """Whether disturbed blocks were replaced until none was left, and nothing is claimed."""
    return bool(findings.disturbed and findings.stopped) and not (
        findings.look or findings.under_load
    )


def _exit_code(findings: "Findings", require_decision: bool) -> int:
    """What the end of a run means to a script."""
    from tiltyard.analysis.decision import headlines
    from tiltyard.errors import ExitCode

    nothing = _is_withheld(findings) and not headlines(findings)
    if findings.trials_failed or not findings.trials_kept or nothing:
        return ExitCode.TRIALS_FAILED
    return decided(findings, require_decision)


def decided(findings: "Findings", require_decision: bool) -> int:
    """What the verdicts mean to a script."""
    from tiltyard.analysis.decision import headlines
    from tiltyard.errors import ExitCode

    verdicts = {found.verdict for found in headlines(findings)}
    if "invalid" in verdicts:
        return ExitCode.TRIALS_FAILED
    is_open = not verdicts or "undecided" in verdicts
    return ExitCode.UNDECIDED if is_open and require_decision else ExitCode.DONE
