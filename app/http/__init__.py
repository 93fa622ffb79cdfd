"""What all routes share: authentication, scopes, problem details, cursors, idempotency, rate limits, health."""
