"""What ends a run before its time."""


class EvaluationError(Exception):
    """A run cannot go on, or cannot be read; one sentence for people.

    Attributes:
        remedy: What to do about it.
        status: HTTP status of the service's refusal, where it was one.
    """

    def __init__(self, message: str, remedy: str = "", *, status: int | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.status = status
