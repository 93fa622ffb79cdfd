"""``broad``: 240 questions over fifteen kinds of trap; a half of them, ``half:paraphrase``, in wording of its own. Data."""
