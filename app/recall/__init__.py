"""Recall: from a question to one ranked, explained list."""
