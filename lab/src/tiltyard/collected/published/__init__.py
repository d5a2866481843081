"""Studies as they were printed: a folder of tables and a file that says what stands in them."""

from tiltyard.collected.published.read import NAME as PUBLISHED
from tiltyard.collected.published.read import Publication, is_published, read_publication

__all__ = ["PUBLISHED", "Publication", "is_published", "read_publication"]
