"""Memories: fragments (source evidence) with provenance, labels, validity and lifecycle."""
