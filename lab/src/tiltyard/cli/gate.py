"""``tiltyard gate``: does a change make anything worse than a margin allows?"""

from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tiltyard.cli.commands import NONE, Commands
from tiltyard.cli.completers import Study
from tiltyard.cli.printing import WORDS, Printing
from tiltyard.cli.typed import Typed
from tiltyard.units import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from tiltyard.analysis.gate import Gate
    from tiltyard.app.compare import TypedStudy
    from tiltyard.folder import StudyFolder


def gate(
    study: Study | None = None,
    /,
    *,
    within: str,
    by: Literal["time", "cpu-time"] = "time",
    blocks: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    disturbed: Literal["replace", "keep"] | None = None,
    folder: Path | None = None,
    trust: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    commands: Commands = NONE,
    printing: Printing = WORDS,
) -> int:
    """Fail where a change is worse than the baseline by more than a margin: for CI.

    ```
    tiltyard gate -c base='./base/rg foo tree' -c head='./head/rg foo tree' --within 3%
    tiltyard gate benchmarks/suite.toml --within 3% --junit gate.xml --markdown gate.md
    ```

    Exit code 0: each headline is within the margin or better. 7: one is worse than the margin
    allows. 6: neither within the blocks and the budget. 5: a comparison is invalid, because trials
    failed in more than one block of five. A headline passes by its own 95 % interval, because all
    of them have to; regressions and improvements have simultaneous ones. The first command, or the
    baseline of a study, is what the others are compared with.

    Args:
        study: A study folder or a study file; none with commands. A study that has been run is
            judged; one that has not, or not far enough, is run first. Results that were not made
            here by you are refused (code 4), unless --folder names their folder.
        within: The margin: "3%" allows a time of 1.03 times the baseline's, a rate of 1/1.03.
        by: What decides of programs that are timed. "time" (the default) is wall-clock time; a
            regression in CPU time is then told and does not fail. "cpu-time" takes far fewer blocks
            on a busy host, and does not show waiting, for a disk or for one of several threads.
        blocks: Exactly so many blocks of commands; by default 8 to 100, until all is decided.
        budget: Go on with commands that are undecided until this time is used up: "10 min". By
            default blocks after the 20th are begun in the first 2 min only.
        seed: Seed of the random order of commands; by default drawn.
        disturbed: What becomes of a block of commands in which other programs used the host:
            "keep" (the default) lets it count, "replace" runs a replacement block for it.
        folder: The study folder, which is taken as it is; by default that of the study, or one
            named after the commands, in which nothing may lie that you have not made here.
        trust: Let what the study brings be executed, as `tiltyard check` names it.
        junit: Write JUnit XML here: a test case for each headline.
        markdown: Append Markdown for a pull request to this file, "$GITHUB_STEP_SUMMARY" for
            example: one line where nothing moved, else eight.
        commands: Options of commands.
        printing: Options of what is printed.
    """
    from tiltyard.app.gate import require_as_measured, require_time
    from tiltyard.cli.commands import require_writable
    from tiltyard.cli.console import remark, show, tell
    from tiltyard.cli.run import carried_out

    printing.begin()
    margin = _margin(within)
    outputs = {"junit": junit, "markdown": markdown}
    require_writable({name: path for name, path in outputs.items() if path is not None})
    opened = _opened(study, commands, within, blocks, budget, seed, disturbed, folder)
    with opened as (target, begun):
        remark(f"Folder   {target.root}/")
        findings = carried_out(
            target,
            begun.engine if begun else None,
            begun.study if begun else None,
            trust=trust,
            within=margin,
            by=by,
            show_output=commands.show_output,
        )
        require_as_measured(target)
    # A kernel may not count what was asked for.
    require_time(by, known=any(workload.cpu_time for workload in findings.workloads))
    from tiltyard.analysis.gate import gate as judged

    found = judged(findings, margin, by)
    if not printing.emit(found):
        show(table(found))
        if found.result == "undecided":
            tell(f"{'Next':9}{_next_step(found, typed=study is None)}")
        remark(f"Report   {target.report / 'index.html'}")
    _write(found, junit, markdown)
    return _exit_code(found)


def _write(gate: "Gate", junit: Path | None, markdown: Path | None) -> None:
    """The files that are asked for."""
    from tiltyard.exporters.junit import junit as as_junit
    from tiltyard.exporters.pull_request import pull_request
    from tiltyard.folder import write_whole

    if junit is not None:
        write_whole(junit, as_junit(gate))
    if markdown is not None:
        with markdown.open("ab") as file:
            file.write(pull_request(gate))


def _margin(within: str) -> float:
    from tiltyard.errors import UsageError
    from tiltyard.units import parse_percent

    try:
        margin = parse_percent(within)
    except ValueError as error:
        raise UsageError(f"--within: {error}") from None
    if not 0 < margin < 1:
        raise UsageError(f"--within {within}: is more than 0% and less than 100%, as in 3%")
    return margin


@contextmanager
def _opened(
    study: Path | None,
    commands: Commands,
    within: str,
    blocks: int | None,
    budget: str | None,
    seed: int | None,
    disturbed: str | None,
    folder: Path | None,
) -> "Iterator[tuple[StudyFolder, TypedStudy | None]]":
    """The folder of the study, or of the study that commands make; what is refused leaves none."""
    from tiltyard.app.compare import typed_study
    from tiltyard.app.freeze import opened_study, rollback_unless_started
    from tiltyard.cli.contestants import understood
    from tiltyard.errors import UsageError
    from tiltyard.study.compare import Asked

    typed = understood(commands, ())
    if (study is None) == (typed is None):
        raise UsageError(
            "name a study, or two commands: tiltyard gate -c base='./a' -c head='./b' --within 3%"
        )
    options = {"blocks": blocks, "budget": budget, "seed": seed, "disturbed": disturbed}
    if typed is not None:
        # A CI runner is never idle: what others do widens the interval.
        asked = Asked(within, blocks, budget, seed, disturbed or "keep")
        existed = folder is not None and folder.exists()
        with Typed(commands=commands).blamed():
            begun = typed_study((), (), folder, commands=typed, asked=asked, verb="gate")
            with rollback_unless_started(begun.folder, existed=existed):
                yield begun.folder, begun
        return
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name} is for commands; a study says it in its file")
    assert study is not None
    with opened_study(study, folder, is_named=False) as target:
        yield target, None


def table(gate: "Gate") -> "RenderableType":
    """Each headline a row; the answer last."""
    from rich.console import Group
    from rich.text import Text

    from tiltyard.analysis.line import interval_text, ratio_text
    from tiltyard.report.sections.entries import interval_head
    from tiltyard.report.stacking import StackingTable

    several = len({line.system for line in gate.headlines}) > 1
    rows = StackingTable(padding=(0, 3, 0, 0), header_style="dim")
    rows.add_column("metric", overflow="fold")
    rows.add_column("ratio", justify="right", no_wrap=True)
    levels = [line.level for line in (*gate.headlines, *gate.beside)]
    rows.add_column(interval_head(levels), justify="right", no_wrap=True)
    rows.add_column("verdict", no_wrap=True)
    for line in (*gate.headlines, *gate.beside):
        name = f"{line.name}, {line.system}" if several else line.name
        style = "dim" if line in gate.beside else ""
        rows.add_row(Text(name), ratio_text(line), interval_text(line), line.outcome, style=style)
    reasons = [Text(line.why) for line in gate.headlines if line.why][:3]
    how = "95 % confidence intervals; those of regressions and improvements are simultaneous"
    together = [Text(how, style="dim")] if max(levels, default=0) > min(levels, default=0) else []
    answer = f"{gate.sentence} ({count_of(gate.blocks, 'block')})"
    return Group(
        rows,
        *together,
        Text(),
        *reasons,
        Text(f"Gate     {answer[:1].upper()}{answer[1:]}", style="bold"),
    )


def _next_step(gate: "Gate", *, typed: bool) -> str:
    """What exit code 6 means, and what would end it."""
    from tiltyard.cli.compare import again
    from tiltyard.cli.measuring import BLOCKS_MAX
    from tiltyard.stats.planning import LIKELY_SHARE

    means = (
        f"Exit code 6: neither a regression beyond {100 * gate.within:g} % nor its absence is shown"
    )
    if any(line.high is None for line in gate.having("undecided")):
        return f"{means}: too few blocks for an interval. Give it more time: a longer --budget"
    reached = ceil(1000 * gate.margin_reached) / 10
    # No wider margin than that is one.
    wider = f", or --within {reached:g}%, inside which it would lie" if reached < 100 else ""
    blocks = gate.blocks_needed
    if blocks is None or blocks > BLOCKS_MAX:
        return f"{means}: the difference is too near the margin. Longer trials may decide{wider}"
    how = again(blocks) if typed else f"{gate.unit}s = {blocks} under [precision], in a new folder"
    return (
        f"{means}. A new study of ≈ {count_of(blocks, gate.unit)} decides in {LIKELY_SHARE} of "
        f"cases: {how}{wider}"
    )


def _exit_code(gate: "Gate") -> int:
    """What the result means to a script."""
    from tiltyard.errors import ExitCode

    return {
        "passed": ExitCode.DONE,
        "regression": ExitCode.REGRESSION,
        "undecided": ExitCode.UNDECIDED,
        "invalid": ExitCode.TRIALS_FAILED,
    }[gate.result]
