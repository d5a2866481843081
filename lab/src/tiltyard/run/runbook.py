"""What a runbook needs of a turn: how the system came up, goes down, and the jobs of its trials."""

import json
import re
import shlex
from collections.abc import Iterable
from typing import Final

from tiltyard.executors.engine import FarEnd
from tiltyard.plan.model import TrialKey
from tiltyard.recipe import ENGINE, Recipe
from tiltyard.run.context import Context
from tiltyard.run.trial import job_of
from tiltyard.study.program import SECRET
from tiltyard.systems.kind import Up
from tiltyard.systems.tools import tools

_EXPANDED: Final = re.compile(r"[\\$`]")
"""What a shell would read in a here-document."""


def recipe_of(context: Context, keys: Iterable[TrialKey], up: Up) -> Recipe:
    """The turn of a system that is up, for any host.

    Args:
        context: what every step needs.
        keys: the trials of the turn; of several of a workload the first is kept.
        up: the system.
    """
    whole = not (up.engine or up.recipe.words)
    engine = " ".join(filter(None, (shlex.join(up.prefix), ENGINE))) if whole else ""
    jobs = {key.workload: _job(context, key, up) for key in keys if key.repeat == 1}
    words = set(re.findall(r"[\w.-]+", "\n".join((*up.recipe.once, *up.recipe.up, engine))))
    needs = {tool.command: tool.package for tool in tools() if tool.command in words}
    found = up.recipe.model_copy(update={"engine": engine, "jobs": jobs, "needs": needs})
    return found.anywhere(
        {
            str(context.folder.work.resolve()): "$work",
            str(context.folder.root.resolve()): "$study",
            str(context.engine.path): ENGINE,
        }
    )


def _job(context: Context, key: TrialKey, up: Up) -> str:
    """As JSON, with variables for what only its turn knows: port and secret of a server."""
    job = job_of(context, key, up).model_copy(update={"expected": None})
    text = json.dumps(json.loads(job.message()), indent=1, ensure_ascii=False)
    text = _EXPANDED.sub(r"\\\g<0>", text)
    if isinstance(up.target, FarEnd):
        text = text.replace(f'"port": {up.target.port}', '"port": $port')
        if up.target.secret:
            text = text.replace(up.target.secret, "$secret")
    if secret := up.variables.get(SECRET):
        text = text.replace(secret, "$secret")
    return text
