"""Commented studies to start from: one file each in ``templates/``, and the ready studies."""

from importlib.resources import files

from tiltyard.study.ready import ready_study

_TEMPLATES = files("tiltyard.study").joinpath("templates")
_SUFFIX = ".toml"


def template_names() -> list[str]:
    """The templates that there are, by name."""
    names = (entry.name for entry in _TEMPLATES.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def new_study(template: str) -> str:
    """The text of a template, or of a ready study.

    Raises:
        UsageError: if there is none of that name.
    """
    names = template_names()
    if template not in names:
        return ready_study(template, names).text
    return _TEMPLATES.joinpath(template + _SUFFIX).read_text(encoding="utf-8")
