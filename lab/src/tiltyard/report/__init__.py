"""Findings to documents. A report computes nothing."""
