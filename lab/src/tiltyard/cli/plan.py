"""``tiltyard plan``: how many blocks, how long, and what that will show, before the study runs."""

from pathlib import Path

from tiltyard.cli.completers import Study
from tiltyard.cli.printing import WORDS, Printing


def plan(
    study: Study = Path(),
    /,
    *,
    pilot: bool = False,
    budget: str | None = None,
    within: str | None = None,
    power: float = 0.9,
    scale: str | None = None,
    trust: bool = False,
    printing: Printing = WORDS,
) -> None:
    """Say how many blocks and how long a precision takes, and what precision a time buys.

    It rests on a pilot, a small study of the same systems and workloads, or on an earlier run in
    the same folder. A pilot also finds how many trials in a turn are worth their time and how long
    the warm-up is; a plan that is frozen after it takes both up. Its data enter no verdict.

    ```
    tiltyard plan spool --pilot                 # measure first: 5 blocks of 3 trials
    tiltyard plan spool --budget "45 min"       # what does that buy?
    tiltyard plan spool --within "1%" --json
    ```

    Args:
        study: A study folder or a study file.
        pilot: Run the pilot, or go on with it.
        budget: A time: "45 min". By default the study's own budget.
        within: How narrow the interval of a ratio shall be; by default what counts as equivalent.
        power: Chance with which a difference is to be found, more than 0.5 and less than 1.
        scale: Foresee the study as a run with this `--scale` will carry it out: "1/64".
        trust: With `--pilot`: let what the study brings be executed, programs and options that
            start one, as `tiltyard check` names them. Kept, so that it is said once for a study.
        printing: Options of what is printed.
    """
    from tiltyard.analysis.forecast import Asked, forecast
    from tiltyard.app.freeze import opened_study
    from tiltyard.app.pilot import known_of, plan_to_forecast, run_pilot
    from tiltyard.cli.console import remark, show, tell
    from tiltyard.cli.display import LiveDisplay
    from tiltyard.cli.forecast_table import sentences, table
    from tiltyard.errors import UsageError
    from tiltyard.executors.engine import Engine
    from tiltyard.folder import StudyFolder
    from tiltyard.study.scaling import parse_scale
    from tiltyard.workloads.catalogue import catalogue_of

    printing.begin()
    if not 0.5 < power < 1:
        raise UsageError(f"--power {power:g}: a chance of more than 0.5 and less than 1: 0.9")
    engine, fraction = Engine.find(), None if scale is None else parse_scale(scale)
    within_share, budget_s = _fraction(within), _seconds(budget)
    if pilot:
        with opened_study(study, None, fraction) as folder, LiveDisplay(decides=False) as display:
            remarks = run_pilot(folder, engine, display, fraction, trust=trust)
        for line in remarks:
            remark(f"Pilot    {line}")
    else:
        folder = StudyFolder.of(study)
    planned = plan_to_forecast(folder, engine, fraction)
    known, source = known_of(folder, planned)
    try:
        found = forecast(
            planned,
            known,
            source,
            Asked(
                within=within_share or planned.design.equivalent_within,
                power=power,
                budget_s=budget_s or planned.budget_s,
            ),
            {card.name: card.parameters for card in catalogue_of(engine, folder).whole().workloads},
        )
    except ValueError as error:
        raise UsageError(f"{folder.root}: {error}: {source}") from error
    if printing.emit(found):
        return
    show(table(found))
    scale_line = (f"Scale     {planned.scaled.sentence}",) if planned.scaled else ()
    for line in (*scale_line, *sentences(found)):
        tell(line)
    if (sessions := planned.design.sessions) > 1:
        tell(f"Sessions  all of this is of one session by itself; {sessions} are planned")


def _fraction(text: str | None) -> float | None:
    """A share above nought that was typed.

    Raises:
        UsageError: if it is none.
    """
    from tiltyard.errors import UsageError
    from tiltyard.units import parse_percent

    try:
        share = None if text is None else parse_percent(text)
    except ValueError as error:
        raise UsageError(f"--within: {error}") from error
    if share == 0:
        raise UsageError('--within: no interval is that narrow. Write it like "2%"')
    return share


def _seconds(text: str | None) -> float | None:
    """A duration that was typed.

    Raises:
        UsageError: if it is none.
    """
    from tiltyard.errors import UsageError
    from tiltyard.units import parse_duration

    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--budget: {error}") from error
