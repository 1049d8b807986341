"""Keys that are accepted but change nothing, so that users learn it from us. Pure.

A feature that arrives deletes its rows here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reame.config.ini import label

Key = tuple[str, str]

_LATER = "is not part of this version"

NO_EFFECT: Mapping[Key, str] = {
    ("model", "adapters"): f"adapter support {_LATER}",
    ("engine", "idle_slots"): f"the limit on idle slots {_LATER}",
    ("cache", "*"): f"the disk cache {_LATER}",
    ("mirror", "*"): f"the mirror {_LATER}",
    ("routing", "*"): f"routing by prefix {_LATER}",
    ("speculative", "*"): f"speculative decoding {_LATER}",
    ("security", "*"): f"tenant separation {_LATER}",
    # Keys of the C++ Reame that reame has no use for.
    ("server", "threads"): "connections need no threads of their own",
    ("server", "compression_level"): "answers are not compressed",
    ("server", "enable_metrics"): "/metrics is always served",
    ("server", "enable_request_logging"): "requests are logged by [logging] level",
    ("cache", "compress"): "cached blocks stay uncompressed on the local disk",
    ("speculative", "min_acceptance"): f"speculative decoding {_LATER}",
    ("arca", "remote"): f"the answer cache {_LATER}",
}
"""Why a key has no effect; ``*`` stands for every key of the section without a row of its own."""


def notices(written: Iterable[Key]) -> tuple[str, ...]:
    """One line for each key of ``written`` that changes nothing."""
    lines = []
    for section, key in written:
        reason = NO_EFFECT.get((section, key)) or NO_EFFECT.get((section, "*"))
        if reason is not None:
            lines.append(f"{label(section, key)}: {reason}; the key has no effect")
    return tuple(lines)
