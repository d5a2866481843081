"""Where the printed studies are, whose numbers many tests report."""

from pathlib import Path
from typing import Final

PUBLISHED: Final = Path(__file__).resolve().parents[2] / "published"
STUDIES: Final = tuple(sorted(path.parent.name for path in PUBLISHED.glob("*/published.toml")))
