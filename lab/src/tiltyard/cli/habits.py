"""Options of hyperfine that are called otherwise here, or are not there: what to use instead."""

from typing import Final

_INSTEAD: Final = {
    ("--max-runs", "-M"): '--runs N, exactly so many, or --budget "5 min"',
    ("-S",): "--shell, which is sh; another one is a program: -c \"bash -c 'a | b'\"",
    ("--reference", "--reference-name"): "the first -c is what the others are compared with",
    ("--style",): "nothing: output is plain where it is no terminal (NO_COLOR=1: no colors)",
    ("--sort",): "nothing: commands stand in the order in which they are given",
    ("--time-unit", "-u"): "nothing: the unit follows from the times; exports have s",
    ("--min-benchmarking-time",): "--min-runs N",
}


def instead_of(option: str) -> str:
    """What to use instead of an option, as an error says it; empty if it is not known."""
    name = option.partition("=")[0]
    fix = next((fix for names, fix in _INSTEAD.items() if name in names), "")
    return f"{name} is hyperfine's. Fix: {fix}" if fix else ""
