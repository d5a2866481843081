"""Statements as blocks: claims, further findings, effects, the audit of a source."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.analysis.model import Effect, Findings, WorkloadFindings
from tiltyard.analysis.statements.deltas import rows_of
from tiltyard.analysis.statements.registry import claims
from tiltyard.charts.effects import effect_label
from tiltyard.collected.audited import Audited, Outcome
from tiltyard.report.document import Block, Column, Entry, Facts, Fold, Paragraph, Sentences, Table
from tiltyard.report.pictures import effects_picture, figures
from tiltyard.report.sections.entries import (
    count_entry,
    interval_entry,
    interval_head,
    levels_note,
    p_entry,
    place,
    ratio_entry,
    slug,
    slugs,
    without_empty_columns,
)
from tiltyard.report.sections.ranking_table import (
    EffectTable,
    effect_tables,
    effect_word,
    ranked_table,
)

OUTCOMES: dict[Outcome, tuple[str, str]] = {
    "contradicted": (
        "Contradicted",
        "No numbers that round to the printed ones give what it says.",
    ),
    "open": ("Left open", "The printed data cannot decide these."),
    "rounding": (
        "Within rounding",
        "Not to the last digit, but rounded numbers leave it possible.",
    ),
    "follows": ("Follows", "To the last printed digit."),
}
"""Outcome → title of its table, and what it means; the gravest first."""


def audit(findings: Findings) -> tuple[Block, ...]:
    """How many claims got which outcome, and a table for each; nothing without claims."""
    if not findings.audit:
        return ()
    groups = {
        outcome: [one for one in findings.audit if one.outcome == outcome] for outcome in OUTCOMES
    }
    counts = tuple(
        (OUTCOMES[outcome][0].lower(), str(len(found))) for outcome, found in groups.items()
    )
    return (
        Facts(counts, large=True),
        *(_table(outcome, found) for outcome, found in groups.items() if found),
    )


def _table(outcome: Outcome, found: Sequence[Audited]) -> Table:
    title, meaning = OUTCOMES[outcome]
    table = Table(
        id=f"audit-{outcome}",
        title=f"{title} ({len(found)})",
        columns=(
            Column("Where", figures=False),
            Column("Claim", figures=False),
            Column("stated", figures=False),
            Column("found", figures=False),
            Column("Result", figures=False),
        ),
        rows=tuple(
            (
                Entry(one.where, quiet=True),
                Entry(one.claim),
                Entry(one.stated, strong=True),
                Entry(one.found or "–", strong=bool(one.found), quiet=not one.found),
                Entry(one.sentence),
            )
            for one in found
        ),
        caption=meaning,
    )
    return without_empty_columns(table)


_FEW: Final = 12
"""More sentences than this are folded away behind the first ones."""


def key_findings(findings: Findings) -> tuple[Block, ...]:
    """Each pair over all tests; the pairs themselves where there is one test."""
    texts = [one.sentence for one in claims(findings, "ahead") if not one.workload]
    return _folded(texts or [one.sentence for one in claims(findings, "lead")])


def overall_leads(findings: Findings) -> tuple[Block, ...]:
    """Who leads in each workload as a whole, not in each of its metrics."""
    heads = {[*rows_of(workload)][-1].head for workload in findings.workloads if workload.cells}
    return _folded([one.sentence for one in claims(findings, "lead") if one.row in heads])


def sentences(
    findings: Findings, *kinds: str, workload: WorkloadFindings | None = None
) -> tuple[Block, ...]:
    """The claims of some kinds; those about one workload, if it is given."""
    found = claims(findings, *kinds)
    return _folded(
        [one.sentence for one in found if workload is None or one.workload == workload.name]
    )


def about_workloads(findings: Findings) -> tuple[Block, ...]:
    """What each workload is, and where it comes from."""
    texts = (
        (workload.display, "; ".join(filter(None, (workload.about, workload.lineage))))
        for workload in findings.workloads
    )
    rows = tuple((name, text) for name, text in texts if text)
    return (Facts(rows),) if rows else ()


def audit_in_short(findings: Findings) -> tuple[Block, ...]:
    """Consistency check of the source: only what does not simply follow."""
    blocks = audit(findings)
    if not blocks:
        return ()
    texts = (
        "Claims that follow to the last printed digit are only counted here; the style "
        "study lists them."
    )
    return (*(block for block in blocks if not _follows(block)), Paragraph(texts, "note"))


def _follows(block: Block) -> bool:
    return isinstance(block, Table) and block.id == "audit-follows"


def _folded(texts: list[str]) -> tuple[Block, ...]:
    if not texts:
        return ()
    if len(texts) <= _FEW:
        return (Sentences(tuple(texts)),)
    rest = texts[_FEW:]
    return (
        Sentences(tuple(texts[:_FEW])),
        Fold(f"Further comparisons ({len(rest)})", (Sentences(tuple(rest)),)),
    )


_OF_A_KIND: Final = 3
"""More findings of one kind than this differ in names and numbers only, and are folded away."""


def observations(workload: WorkloadFindings) -> tuple[Block, ...]:
    """The sentences, the largest first; folded beneath, further ones and the test behind each."""
    found = workload.observations
    if not found:
        return ()
    shown: list[str] = []
    folded: list[str] = []
    kinds = Counter[str]()
    for one in found:
        kinds[one.kind] += 1
        (shown if kinds[one.kind] <= _OF_A_KIND else folded).append(one.sentence)
    more = (Fold(f"{len(folded)} more of these kinds", (Sentences(tuple(folded)),)),)
    return (
        Sentences(tuple(shown)),
        *(more if folded else ()),
        Fold("Tests behind the findings", (Sentences(tuple(one.evidence for one in found)),)),
    )


def effects(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Picture, table and sentences on the workload; those on each metric are folded."""
    found = list(effect_tables(workload))
    if not found:
        return ()
    first, *others = found
    blocks: list[Block] = [
        *effects_picture(findings, workload),
        *_effect_blocks(findings, first, f"{place(findings, workload)}-effects"),
    ]
    if others:
        more = tuple(
            block
            for number, table in enumerate(others, 1)
            for block in _effect_blocks(
                findings, table, f"{place(findings, workload)}-effects-{number}-{slug(table.topic)}"
            )
        )
        blocks.append(Fold(f"Effects of each factor on each metric ({len(others)})", more))
    return tuple(blocks)


def _effect_blocks(findings: Findings, table: EffectTable, id: str) -> Iterator[Block]:
    yield Table(
        id=id,
        title=table.topic,
        columns=(
            Column("Factor", figures=False),
            Column("ratio"),
            Column(interval_head(table.levels)),
            Column("blocks", spare=True),
            Column("p, adjusted", spare=True),
            Column("Verdict", figures=False),
        ),
        rows=tuple(_line(findings, effect) for group in table.groups for effect in group),
        caption="Main effects stand out; below each, what it is on each level of another factor.",
    )
    yield from levels_note(table.levels, findings.design.false_discovery_rate)
    yield Sentences(tuple(effect.sentence for effect in table.in_words))


def _line(findings: Findings, effect: Effect) -> tuple[Entry, ...]:
    main = effect.kind == "main"
    ratio = ratio_entry(effect)
    return (
        Entry(effect_label(effect), strong=main, quiet=not main),
        ratio if main else Entry(ratio.text, ratio.value),
        interval_entry(effect),
        count_entry(effect.blocks),
        p_entry(effect.p_adjusted),
        Entry(effect_word(effect, findings.clock), kind="verdict", verdict=effect.verdict),
    )


def overview(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Pictures over all tests; then, folded, every test as a table with its pairs in words."""
    ids = slugs(index.name for index in workload.by_metric)
    own = place(findings, workload)
    tables = tuple(
        block
        for index in workload.by_metric
        for block in (
            *ranked_table(
                findings,
                index,
                f"{own}-{ids[index.name]}-ranking",
                index.label,
                findings.design.false_discovery_rate,
            ),
            Sentences(tuple(pair.sentence for pair in index.comparisons)),
        )
    )
    folded = (Fold("All tests as tables, with every pair in words", tables),) if tables else ()
    return (*figures(findings, workload, "overview"), *folded)
