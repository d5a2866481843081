"""A printed study as a kind of study, and its audit."""

from pathlib import Path
from typing import Final

from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.app.report import style_of
from tiltyard.app.studies import StudyKind
from tiltyard.collected.audited import Audited
from tiltyard.collected.store import is_collected
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder
from tiltyard_published.claims import NAME, read_claims
from tiltyard_published.read import NAME as PUBLISHED
from tiltyard_published.read import Publication, is_published, read_publication


def require_printed(folder: Path) -> None:
    """Make sure that a folder holds a printed study.

    Raises:
        UsageError: if it does not; the message says what it holds instead.
    """
    if is_published(folder):
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: {'this is not a' if folder.exists() else 'no such'} folder")
    if is_collected(folder) or StudyFolder(folder).study.exists():
        raise UsageError(
            f"{folder}: this study states nothing that could be audited: that does a printed one, "
            f"a folder with {PUBLISHED}"
        )
    inside = sorted(path.parent.name for path in folder.glob(f"*/{PUBLISHED}"))
    elsewhere = f", but in {', '.join(inside)}" if inside else ""
    raise UsageError(f"{folder}: there is no {PUBLISHED} in it{elsewhere}")


def audited(folder: Path, publication: Publication) -> tuple[Audited, ...]:
    """What a printed study states, held against its numbers.

    Raises:
        UsageError: if its claims cannot be read, or name what it does not have; the message names
            line, claim and key.
    """
    # Where other studies are reported, this file is loaded only to say that it is not about them.
    from tiltyard_published.audit.audit import UnfitClaimsError, audit
    from tiltyard_published.audit.kinds import REGISTRY

    path = folder / NAME
    collection, derived = publication.collection, publication.derived
    if not path.exists():
        return audit(collection, derived)
    file = read_claims(path, {kind.name: kind.states for kind in REGISTRY})
    try:
        return audit(collection, derived, file.claims)
    except UnfitClaimsError as error:
        raise file.error(error.flaws) from error


def _findings(folder: Path) -> Findings:
    publication = read_publication(folder)
    return analyse_collection(publication.collection, audited(folder, publication))


def _style(folder: Path) -> str:
    try:
        return style_of(read_publication(folder).style).name
    except UsageError as error:
        raise UsageError(f"{folder / PUBLISHED}: style: {error}") from error


KIND: Final = StudyKind(is_in=is_published, findings=_findings, style=_style, folder=None)
