"""Several studies as pages that fetch nothing: a folder to put on any web server."""

from collections.abc import Sequence
from pathlib import Path

from tiltyard.app.report import concluded, free_folder
from tiltyard.folder import write_together
from tiltyard.report.formats.html import Card, render, render_gallery
from tiltyard.report.sections.entries import slug

_LONGEST = 48
_DIGITS = 8
"""Of the hash of the plan: what is asked again by another plan has another address."""


def write_gallery(
    studies: Sequence[Path], output: Path, style: str | None, *, redact: bool
) -> Path:
    """A page for each study and one over all; the page to open.

    The address of a study is its question and the hash of its plan, so a link stays good when the
    gallery is made again, with more studies or after more blocks.

    Args:
        studies: of any kind, in the order in which they are shown.
        output: folder of the gallery; pages of other studies in it stay.
        style: of all pages; ``None``: each study's own.
        redact: whether names, addresses, paths and secrets are taken out.

    Raises:
        UsageError: if one is no study, or nothing can be written there.
    """
    root = free_folder(output)
    files: dict[str, bytes] = {}
    cards = []
    for study in studies:
        found = concluded(study, style, root, redact=redact)
        document, findings = found.document(), found.findings
        folder = f"{slug(findings.question)[:_LONGEST].strip('-')}-{findings.plan_hash[:_DIGITS]}"
        cards.append(Card(f"{folder}/index.html", document))
        for path, data in render(document, findings).items():
            files[f"{folder}/{path}"] = data
        files[f"{folder}/findings.json"] = findings.model_dump_json(indent=1).encode()
    files["index.html"] = render_gallery(cards)
    write_together(root, files)
    return root / "index.html"
