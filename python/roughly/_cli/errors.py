"""Errors of the command line."""

from __future__ import annotations


class Failure(Exception):
    """A command fails with this text."""
