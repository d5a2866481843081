"""``report.toml``: what an editor adds to a report, checked as generated text is.

A file beside a study. :mod:`file` has its keys, :mod:`apply` changes a document by it, :mod:`check`
holds its text against the document's numbers and the findings' verdicts.
"""
