"""Sections that only house styles have."""
