"""Server parameters of the embedded PostgreSQL: values for this machine, and their configuration file."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

MIB = 1024**2
_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def usable_memory() -> int:
    """Return the memory this process may use in bytes: the machine's, or its container's limit when lower."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in _CGROUP_LIMITS:
        if limit.is_file() and (text := limit.read_text(encoding="utf-8").strip()).isdigit():
            memory = min(memory, int(text))
    return memory


def default_parameters(memory: int) -> dict[str, str]:
    """Choose the parameters for a server that shares its machine with Strata.

    Args:
        memory: bytes that this machine lets its programs use.

    Returns:
        Parameter names and values as PostgreSQL writes them. A machine below 2 GiB gets an eighth of its memory
        as shared buffers, one below 4 GiB a sixteenth as maintenance memory; half of the memory is taken to be
        file cache.
    """
    return {
        "effective_cache_size": f"{max(memory // 2 // MIB, 64)}MB",
        "jit": "off",
        "lc_messages": "C",
        "log_timezone": "UTC",
        "maintenance_work_mem": f"{_bounded(memory // 16, low=32, high=256)}MB",
        "max_connections": "200",
        "max_wal_size": "2GB",
        "random_page_cost": "1.1",
        "shared_buffers": f"{_bounded(memory // 8, low=16, high=256)}MB",
        "synchronous_commit": "on",
        "timezone": "UTC",
        "wal_compression": "on",
        "work_mem": "16MB",
    }


def render_parameters(parameters: Mapping[str, str]) -> str:
    """Write parameters as a PostgreSQL configuration file, sorted by name.

    Raises:
        ValueError: a name is no parameter name, or a value has a line break or a NUL.
    """
    lines = ["# Written by Strata at every start; ALTER SYSTEM overrides these values and survives."]
    for name, value in sorted(parameters.items()):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a PostgreSQL parameter")
        if re.search(r"[\r\n\0]", value):
            raise ValueError(f"the value of the PostgreSQL parameter {name} has a line break or a NUL")
        quoted = value.replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{quoted}'")
    return "\n".join(lines) + "\n"


def _bounded(size: int, *, low: int, high: int) -> int:
    """Return a size in bytes as MiB within [low, high] MiB."""
    return min(max(size // MIB, low), high)
