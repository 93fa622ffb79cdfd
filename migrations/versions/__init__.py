"""Revisions, one step each."""
