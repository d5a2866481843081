"""Verdicts as parts of a sentence."""

from tiltyard.analysis.contrast import Contrast
from tiltyard.analysis.observations.claim import Scene
from tiltyard.analysis.words import Family, sentence


def told(scene: Scene, contrast: Contrast) -> str:
    """The sentence of a verdict, without its full stop; told from the winner's side."""
    if contrast.verdict == "slower":
        contrast = contrast.reversed()
    size = len(scene.judged.contrasts) if scene.judged else 0
    family = Family(size, "Benjamini–Hochberg")
    return sentence(contrast, scene.plan.design, family).removesuffix(".")


def lowest_p(contrast: Contrast) -> float:
    """The sequential p-value, 1 before the first look."""
    return contrast.interval.p if contrast.interval else 1.0


def adjusted_p(contrast: Contrast) -> float:
    """The p-value after the correction of its family, 1 before the first look."""
    return 1.0 if contrast.p_adjusted is None else contrast.p_adjusted
