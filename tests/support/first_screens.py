"""Takes the pictures of docs/guides/first-screens.md again: ``python -m support.first_screens``.

Names as arguments: those only. ``demo=FOLDER`` is the study that ``make demo`` has run.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from support.browser import pictured
from support.network_studies import network_study
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.app.report import findings_of, style_of
from tiltyard.executors.engine import Engine
from tiltyard.plan.model import Plan
from tiltyard.report.formats.html import render_page
from tiltyard.report.title_case import with_capitals
from tiltyard.run.record import RunRecord

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures/first-screens"
MOST_BYTES = 100_000
WIDTH_PX, HEIGHT_PX = 1280, 900


def _printed(name: str) -> Findings:
    return findings_of(ROOT / "published" / name)


def _titled(plan: Plan, run: RunRecord, question: str, decide: str = "") -> Findings:
    """Workloads have the titles that they have in a study that was run."""
    titles = {card.name: card.title for card in Engine.find().describe().workloads}
    workloads = tuple(
        one.model_copy(update={"title": titles[one.spec.name]}) for one in plan.workloads
    )
    found = analyse(plan.model_copy(update={"workloads": workloads}), run)
    return found.model_copy(update={"question": question, "decide": decide})


def _network() -> Findings:
    question = "Does tuning buy throughput or latency between two hosts?"
    plan, run = network_study(effects={"optimized": 1.2})
    return _titled(plan, run, question, "Choose the settings of the network")


def _aa() -> Findings:
    study = synthetic_study(("ext4-a", "ext4-b"), ("postmark",), blocks=20)
    return _titled(*study, "Does this host report false differences?")


def _unfinished() -> Findings:
    study = synthetic_study(workloads=("postmark",), blocks=3)
    return _titled(*study, "Which is faster: ext4 or xfs or btrfs?", "Choose the file system")


def _imported() -> Findings:
    golden = ROOT / "tests/importers/golden/hyperfine/two-commands.json"
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study"
        command = [str(ROOT / ".venv/bin/tiltyard"), "import", str(study), str(golden)]
        subprocess.run(command, check=True, capture_output=True)
        return findings_of(study)


SCREENS: dict[str, tuple[Callable[[], Findings], str]] = {
    "demo": (lambda: findings_of(ROOT / ".demo/file-systems"), "study"),
    "aa": (_aa, "study"),
    "unfinished": (_unfinished, "study"),
    "network": (_network, "study"),
    "imported": (_imported, "study"),
    "netperf-rhel6": (lambda: _printed("netperf-rhel6"), "whitepaper"),
    "iozone-rhel6": (lambda: _printed("iozone-rhel6"), "whitepaper"),
    "linux-3.13": (lambda: _printed("linux-3.13"), "results"),
    "iozone-magazine": (lambda: _printed("iozone-magazine"), "article"),
    "postmark-systems": (lambda: _printed("postmark-systems"), "study"),
}


def take(name: str, findings: Findings, style: str) -> Path:
    """The top of a page as a picture."""
    path = PICTURES / f"{name}.webp"
    with tempfile.TemporaryDirectory() as folder:
        document = with_capitals(style_of(style).compose(findings), findings)
        page = render_page(document, findings)
        shot = pictured(page, Path(folder), WIDTH_PX, HEIGHT_PX)
        with Image.open(shot) as picture:
            picture.convert("RGB").save(path, quality=82, method=6)
    assert path.stat().st_size < MOST_BYTES, path
    return path


def main(arguments: list[str]) -> None:
    wanted = dict(one.partition("=")[::2] for one in arguments) or dict.fromkeys(SCREENS, "")
    for name, folder in wanted.items():
        make, style = SCREENS[name]
        take(name, findings_of(Path(folder)) if folder else make(), style)


if __name__ == "__main__":
    main(sys.argv[1:])
