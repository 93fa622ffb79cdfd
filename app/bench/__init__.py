"""The benchmark behind ``strata bench``: quality, ANN recall, latency, load, ingest and sizes, as tables and JSON.

It measures what a caller gets: texts go in through the public routes, questions through recall over HTTP. What only the
inside can tell (the branches' statements alone, exact neighbours) is measured beside it, in the same run.
"""
