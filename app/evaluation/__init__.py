"""Evaluation: judged sets, a runner over the public API, a pure scorer, gates, comparisons and reports.

Pure: ``formats.rows``, ``formats.judged``, ``measures``, ``scorer``, ``summary``, ``gates``, ``comparison``. The rest reads
files or speaks HTTP; nothing here reads a table.
"""
