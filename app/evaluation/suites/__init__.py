"""Suites that come with Strata: ``broad`` as files, ``hardcases`` made afresh for each draw."""
