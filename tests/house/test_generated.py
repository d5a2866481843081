"""What is derived from the code is as the code would give it now."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_generated_files_are_fresh() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "scripts/generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert [str(path) for path in generate.stale()] == [], "run: make docs"
