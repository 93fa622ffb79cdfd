"""Background work on PostgreSQL: the queue, and the tasks that keep the index in shape."""
