"""``broad``: 304 questions over fifteen kinds of trap. Data.

``half:plain`` and ``half:paraphrase`` (120 each, the second in wording of its own) were there before the rules of
`app.recall.siblings` and were looked at while these were made. ``half:heldout`` (64) has other domains and other
sentences: written before the first of these rules by the person who then wrote them, and scored while they were made, by
totals and slices, but without looking at its cases to mend a rule. So it is no blind test; a fresh draw of ``hardcases``
and the retrieval sets stand beside it.
"""
