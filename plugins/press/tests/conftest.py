"""The findings that are printed are those of the core's tests of reports."""

from report.conftest import findings, page

__all__ = ["findings", "page"]
