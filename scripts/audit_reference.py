"""Two pages: what the audit of the printed studies finds, and which kinds of claims there are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tiltyard.collected.audited import Audited, Outcome
from tiltyard_published.audit.audit import GENERAL
from tiltyard_published.audit.kinds import REGISTRY
from tiltyard_published.audit.scene import Where
from tiltyard_published.audit.words import ABOUT, FLAT_PERCENT, MUCH_PERCENT, SHORT_OF
from tiltyard_published.claims import Head
from tiltyard_published.read import read_publication
from tiltyard_published.study import audited
from tiltyard_published.verb import HEADS

_HEAD = """# What the printed studies' own numbers say of them

`tiltyard audit published/*` recomputes every derived number and every transcribed claim of the
printed studies in `published/` (means, deltas, columns of advantages, sentences, counts,
configurations) and sorts them: what *follows* to the last digit, what holds only within *rounding*,
what is *contradicted* by every set of numbers that rounds to the printed ones, and what stays
*open* because nothing printed can decide it. How that is done, and how to write claims for another
study, is in the [guide](guides/audit.md). A test holds these lists: nothing is added to them, or
lost, unnoticed.

To be contradicted says nothing of a study's conclusion: most of these are slips of one digit, and
some understate what the tables show.

"""
_KINDS = f"""# Claims

A file `claims.toml` beside the tables of a printed study has one `[[claim]]` for each thing that
the study states. Numbers stand in quotes as they are printed, because `33.40` says more than
`33.4`. Words are taken to mean this, and every sentence of an audit names the bound that it used:

* *nearly n*: from {SHORT_OF:g} n to n; *about n*: {1 - ABOUT:g} n to {1 + ABOUT:g} n
* *much*, *remarkably*, *dramatically*: by {MUCH_PERCENT:g} % or more
* *insensitive*, *similar*: within {FLAT_PERCENT:g} %

"""
_TELLING: Final = ("order", "similar", "flat", "trend", "times", "deviation")
"""Kinds whose sentences say more than that a claim follows: by how much, and where not."""


def page(published: Path) -> str:
    """The lists, study by study."""
    folders = sorted(path.parent for path in published.glob("*/published.toml"))
    studies = {folder.name: read_publication(folder) for folder in folders}
    audits = {folder.name: audited(folder, studies[folder.name]) for folder in folders}
    text = f"{_HEAD}| study | {' | '.join(HEADS)} |\n| --- |{' ---: |' * len(HEADS)}\n"
    for name, found in audits.items():
        counts = (str(sum(one.outcome == outcome for one in found)) for outcome in HEADS)
        text += f"| `published/{name}` | {' | '.join(counts)} |\n"
    for name, found in audits.items():
        text += f"\n## {studies[name].collection.origin.title}\n\n`published/{name}`\n"
        for outcome in HEADS:
            text += _listed(outcome, [one for one in found if one.outcome == outcome])
    return text


def kinds() -> str:
    """The reference of ``claims.toml``."""
    text = f"{_KINDS}## Every claim\n\n{_keys(Head)}\n## Which numbers\n\n"
    text += f"Kinds that are about numbers of the tables have these keys too.\n\n{_keys(Where)}"
    for kind in REGISTRY:
        own = [name for name in kind.states.model_fields if name not in Where.model_fields]
        places = " Which numbers: as above." if issubclass(kind.states, Where) else ""
        text += f"\n## {kind.name}\n\n{kind.about[0].upper()}{kind.about[1:]}.{places}\n\n"
        text += _keys(kind.states, own)
    return text


def _keys(model: type[Head] | type[Where], names: Sequence[str] | None = None) -> str:
    rows = "| key | meaning |\n| --- | --- |\n"
    for name, field in model.model_fields.items():
        if names is None or name in names:
            need = "" if field.is_required() else " (optional)"
            rows += f"| `{field.alias or name}`{need} | {field.description} |\n"
    return rows


def _listed(outcome: Outcome, found: Sequence[Audited]) -> str:
    if not found:
        return ""
    text = f"\n### {HEADS[outcome]} ({len(found)})\n\n"
    if outcome == "follows":
        told = "".join(_item(one) for one in found if one.kind in _TELLING)
        return f"{text}Of these, comparisons in words:\n\n{told}" if told else text.rstrip() + "\n"
    if outcome == "open":
        return text + "".join(_item(one) for one in found)
    text += "| where | states | found | claim, and what it rests on |\n| --- | --- | --- | --- |\n"
    for one in found:
        cells = (one.where, one.stated, one.found, f"“{one.claim}” {one.sentence} `{one.id}`")
        text += f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"
    return text


def _item(one: Audited) -> str:
    if one.id == GENERAL:
        return f"* **All comparisons.** {one.sentence}\n"
    return f"* {one.where}: “{one.claim}” {one.sentence} `{one.id}`\n"
