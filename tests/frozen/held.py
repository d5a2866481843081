"""What the gate answers, and means over workloads with weights."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from frozen.judgement import Stated, stated_of_decision, stated_of_gains, stated_of_gate
from frozen.planted import PLANTED, TWO, study
from frozen.several import SESSIONS
from support.laid import laid, laid_sessions
from tiltyard.analysis.gate import By, gate, gate_decision
from tiltyard.analysis.weighted import spendings, weighted_means
from tiltyard.app.report import findings_of

MARGINS: Final = (0.01, 0.03, 0.1)
GATED: Final = (
    "no difference", "small", "large", "less is better", "exactly equal", "exactly apart", "drift",
    "trials follow each other", "at the first look", "before the first look", "nothing yet",
    "failures on one side", "few failures on either side", "one system never works",
    "zero now and then", "other numbers of blocks", "grid that turns", "percentiles in bins",
    "several workloads", "adjusted decides", "adjusted beside", "disturbed, kept",
    "disturbed, replaced", "disturbed too often", "path lengths",
)  # fmt: skip
"""Of what is planted, what is held against margins."""
TIMED: Final = ("CPU time", "CPU time apart", "CPU time of nothing")


def gates(root: Path) -> Iterator[tuple[str, Stated]]:
    """``tiltyard gate STUDY --within …``."""
    for place, name in enumerate((*GATED, *TIMED)):
        folder = laid(root / f"{place}", *PLANTED[name]())
        yield name, _against_margins(folder, "time")
        if name in TIMED[:2]:
            yield f"{name}, by it", _against_margins(folder, "cpu-time")
    for name in ("three", "eight", "eight that differ"):
        folder = laid_sessions(root / name, SESSIONS[name]())
        yield f"{name} sessions", _against_margins(folder, "time")


def _against_margins(folder: Path, by: By) -> Stated:
    stated: Stated = {"gate": {}, "headlines": {}, "decision": {}}
    findings = findings_of(folder)
    for margin in MARGINS:
        for section, rows in stated_of_gate(gate(findings, margin, by)).items():
            where = "" if section == "gate" else f"{100 * margin:g} %: "
            stated[section] |= {f"{where}{name}": row for name, row in rows.items()}
        further = gate_decision(findings, margin, by, withheld=False)
        stated["decision"] |= stated_of_decision(f"within {100 * margin:g} %", further)["decision"]
    return stated


def weights(root: Path) -> Iterator[tuple[str, Stated]]:
    """Weights and costs, as an editor gives them in ``report.toml``."""
    effects = {"xfs": 1.06, "btrfs": 0.97}
    made = study(
        systems=(*TWO, "btrfs"), workloads=("postmark", "chore", "grid"), blocks=14,
        effects=effects, noise=0.03,
    )  # fmt: skip
    findings = findings_of(laid(root / "several", *made))
    for name, own in (
        ("alike", {}),
        ("three times chore", {"chore": 3.0}),
        ("no grid", {"grid": 0}),
    ):
        yield name, stated_of_gains(weighted_means(findings, own))
    constants = {"ext4": 1.0, "xfs": 1.02, "btrfs": 1.5}
    for sort in ("price", "price_per_hour", "watts"):
        spent = {
            f"{one.index.label} | {own.system}": own
            for one in spendings(findings, sort, constants)
            for own in one.systems
        }
        stated = stated_of_gains({name: one.ratio for name, one in spent.items() if one.ratio})
        yield sort, {**stated, "counts": {name: [one.value] for name, one in spent.items()}}
