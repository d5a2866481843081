"""What is in the files of a study folder."""

import gzip
from pathlib import Path


def said_in(path: Path) -> bytes:
    """The bytes of a file; of a trial's file what its engine has said."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
