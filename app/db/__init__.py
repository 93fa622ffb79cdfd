"""PostgreSQL: engine, tenant-bound units of work, roles, start-up checks, the embedded server."""
