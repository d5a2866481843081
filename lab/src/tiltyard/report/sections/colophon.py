"""By what a report can be checked: plan, seal, seed, versions."""

from tiltyard.analysis.model import Findings


def colophon(findings: Findings) -> tuple[tuple[str, str], ...]:
    """Names and values; of results from elsewhere there is no seed and no engine."""
    if findings.origin:
        return (("data", findings.plan_hash), ("tiltyard", findings.tiltyard))
    return (
        ("plan", findings.plan_hash),
        *((("seal", findings.seal),) if findings.seal else ()),
        ("seed", str(findings.seed)),
        ("engine", findings.engine),
        ("tiltyard", findings.tiltyard),
    )


def sources(findings: Findings) -> str:
    """Where every number of a report lies, in one sentence."""
    if findings.origin:
        return (
            "Every number of this report is in findings.json, made from the values of the source "
            "by the rules told above."
        )
    return (
        "Every number of this report is in findings.json, made from the trials in trials/ by the "
        "rules in plan.json, which was frozen before the first trial. All of them lie in the "
        "folder of the study."
    )
