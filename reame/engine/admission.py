"""When to refuse a request, and how long to ask its client to wait. Pure."""

from __future__ import annotations

_SMOOTHING = 0.2
_DEFAULT_SERVICE_S = 5.0
_MAX_RETRY_AFTER_S = 60.0


class Admission:
    """Counts the requests inside and learns how long one takes."""

    def __init__(self, *, max_requests: int, num_slots: int) -> None:
        self.max_requests = max_requests
        self.num_inside = 0
        self._num_slots = num_slots
        self._service_s = _DEFAULT_SERVICE_S

    @property
    def is_full(self) -> bool:
        """Whether the next request must be refused."""
        return self.num_inside >= self.max_requests

    def enter(self) -> None:
        """One more request is inside."""
        self.num_inside += 1

    def leave(self, service_s: float | None = None) -> None:
        """One request left; ``service_s`` is what it took from slot to end, when it came that far."""
        self.num_inside -= 1
        if service_s is not None:
            self._service_s += _SMOOTHING * (service_s - self._service_s)

    def retry_after_s(self) -> float:
        """When a place should be free: the queue's length in rounds of the slots, 1 to 60 seconds."""
        rounds = max(1, self.num_inside - self._num_slots + 1) / self._num_slots
        return min(_MAX_RETRY_AFTER_S, max(1.0, rounds * self._service_s))
