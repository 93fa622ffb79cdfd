"""What ends a run before its time."""


class EvaluationError(Exception):
    """A run cannot go on, or cannot be read; one sentence for people.

    Attributes:
        remedy: What to do about it.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy
