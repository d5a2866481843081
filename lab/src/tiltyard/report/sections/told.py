"""Claims as blocks: the sentences of some kinds, about the study or about one workload."""

from typing import Final

from tiltyard.analysis.claims import claims
from tiltyard.analysis.claims.lines import lines_of
from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.report.document import Block, Facts, Fold, Paragraph, Sentences, Table
from tiltyard.report.sections.audit import audit

_FEW: Final = 12
"""More sentences than this are folded away behind the first ones."""
_LEADING: Final = 2
"""As many levels are one paragraph; of other claims the first."""
_WORKLOADS: Final = 3
"""Answers of more workloads than this are no lead but a list."""


def lead(findings: Findings, *kinds: str) -> Paragraph:
    """What is read first: the answer.

    Of printed numbers, and of many workloads, that is a list: then it is the claims of the first
    of some kinds that has any.
    """
    if findings.origin or len(findings.workloads) > _WORKLOADS:
        for kind in kinds:
            if found := [one.sentence for one in claims(findings, kind) if not one.workload]:
                return Paragraph(" ".join(found[: _LEADING if kind == "level" else 1]), "lead")
    return Paragraph(findings.answer, "lead")


def key_findings(findings: Findings) -> tuple[Block, ...]:
    """Each pair over all tests; the pairs themselves where there is one test."""
    told = [one.sentence for one in claims(findings, "ahead") if not one.workload]
    return _folded(told or [one.sentence for one in claims(findings, "lead")])


def overall_leads(findings: Findings) -> tuple[Block, ...]:
    """Who leads in each workload as a whole, not in each of its metrics."""
    heads = {[*lines_of(workload)][-1].head for workload in findings.workloads if workload.cells}
    return _folded([one.sentence for one in claims(findings, "lead") if one.row in heads])


def sentences(
    findings: Findings, *kinds: str, workload: WorkloadFindings | None = None
) -> tuple[Block, ...]:
    """The claims of some kinds; those about one workload, if it is given."""
    found = claims(findings, *kinds)
    return _folded(
        [one.sentence for one in found if workload is None or one.workload == workload.name]
    )


def workloads_told(findings: Findings) -> tuple[Block, ...]:
    """What each workload is, and where it comes from."""
    told = (
        (workload.name, "; ".join(filter(None, (workload.about, workload.lineage))))
        for workload in findings.workloads
    )
    rows = tuple((name, text) for name, text in told if text)
    return (Facts(rows),) if rows else ()


def audit_in_short(findings: Findings) -> tuple[Block, ...]:
    """What the printed text says of its tables: only what does not simply follow."""
    blocks = audit(findings)
    if not blocks:
        return ()
    told = "What follows to the last printed digit is only counted here; the style study lists it."
    return (*(block for block in blocks if not _follows(block)), Paragraph(told, "note"))


def _follows(block: Block) -> bool:
    return isinstance(block, Table) and block.id == "audit-follows"


def _folded(told: list[str]) -> tuple[Block, ...]:
    if not told:
        return ()
    if len(told) <= _FEW:
        return (Sentences(tuple(told)),)
    rest = told[_FEW:]
    return (
        Sentences(tuple(told[:_FEW])),
        Fold(f"Further comparisons ({len(rest)})", (Sentences(tuple(rest)),)),
    )
