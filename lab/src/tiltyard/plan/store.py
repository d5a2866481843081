"""The plan as a file: written once, read by every later stage."""

import json

from pydantic import ValidationError

from tiltyard import __version__
from tiltyard.errors import RefusedError, UsageError
from tiltyard.folder import StudyFolder, sha256, write_whole
from tiltyard.plan.model import FORMAT, Plan
from tiltyard.study.problems import shown


def write_plan(folder: StudyFolder, plan: Plan) -> None:
    """Write the plan of a folder that has none.

    Raises:
        RefusedError: if there is a plan, on which trials may rest; or if another user has a hand in
            the folder.
    """
    folder.require_own()
    if folder.plan.exists():
        raise RefusedError(
            f"{folder.plan}: this study has a plan already, and a plan is frozen once. "
            "Start a new folder for another one"
        )
    write_whole(folder.plan, plan.document())


def read_plan(folder: StudyFolder) -> Plan:
    """The plan of a folder, provided that it is still the plan of the study that is there.

    Raises:
        UsageError: if there is no plan, it is not one of this format, or the study was changed.
    """
    try:
        text = folder.plan.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"{folder.plan}: this study has no plan yet; tiltyard run {folder.root} makes it"
        ) from None
    plan = _parsed(folder, text)
    if not folder.study.is_file():
        raise UsageError(f"{folder.study}: the study that the plan was made from is gone")
    if sha256(folder.study.read_bytes()) != plan.study_sha256:
        raise UsageError(
            f"{folder.study}: was changed after the plan was frozen. "
            "Put it back, or start a new folder with it"
        )
    return plan


def _parsed(folder: StudyFolder, text: bytes) -> Plan:
    """The plan in a text; its format is looked at first, so that a newer one is called that."""
    damaged = "Put it back from a copy, or start a new folder"
    try:
        document = json.loads(text)
        written = document["format"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{folder.plan}: not a plan. {damaged}") from error
    if written != FORMAT:
        by = document.get("tiltyard", "of another version")
        raise UsageError(
            f"{folder.plan}: a plan of format {shown(written)}, written by Tiltyard {by}; this "
            f"one, {__version__}, reads format {FORMAT}. Fix: use that version for this folder, or "
            "begin the study in another one: tiltyard run STUDY --folder ANOTHER"
        )
    try:
        return Plan.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"{folder.plan}: {key}: {first['msg']}. {damaged}") from error
