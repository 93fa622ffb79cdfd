"""Requests a minute for one API key, counted in this process."""

import time
from uuid import UUID

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.errors import StrataError


class RateLimiter:
    """Sliding-window counter; ``per_minute`` 0 never refuses."""

    def __init__(self, per_minute: int) -> None:
        self._item = RateLimitItemPerMinute(per_minute) if per_minute else None
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def check(self, key_id: UUID) -> None:
        """Count one request.

        Raises:
            StrataError: ``rate_limited``, with the seconds to wait.
        """
        if self._item is None or self._limiter.hit(self._item, str(key_id)):
            return
        reset_at = self._limiter.get_window_stats(self._item, str(key_id)).reset_time
        raise StrataError(
            "rate_limited",
            f"more than {self._item.amount} requests a minute",
            retry_after=reset_at - time.time(),
        )
