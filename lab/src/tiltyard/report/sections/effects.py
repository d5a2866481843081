"""What each factor does: on average, on each level of another one, and how far those differ."""

from collections.abc import Iterator

from tiltyard.analysis.model import Effect, Findings, WorkloadFindings
from tiltyard.charts.effects import effect_label
from tiltyard.report.document import Block, Column, Entry, Fold, Sentences, Table
from tiltyard.report.judgement import EffectTable, effect_tables, effect_word, interval_head
from tiltyard.report.pictures import figures
from tiltyard.report.sections.comparing import interval_entry, levels_note, ratio_entry
from tiltyard.report.sections.ids import place, slug
from tiltyard.report.sections.printing import count_entry, p_entry


def effects(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Picture, table and sentences on the workload; those on each metric are folded."""
    found = list(effect_tables(workload))
    if not found:
        return ()
    first, *others = found
    blocks: list[Block] = [
        *figures(findings, workload, "effects"),
        *_told(findings, first, f"{place(findings, workload)}-effects"),
    ]
    if others:
        more = tuple(
            block
            for number, table in enumerate(others, 1)
            for block in _told(
                findings, table, f"{place(findings, workload)}-effects-{number}-{slug(table.topic)}"
            )
        )
        blocks.append(Fold(f"What each factor does to each metric ({len(others)})", more))
    return tuple(blocks)


def _told(findings: Findings, table: EffectTable, id: str) -> Iterator[Block]:
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
    yield from levels_note(table.levels)
    yield Sentences(tuple(effect.sentence for effect in table.told))


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
