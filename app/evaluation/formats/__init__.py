"""Formats of judged sets: seed directories, BEIR-style folders, graded fixtures."""
