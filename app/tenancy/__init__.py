"""Teams, profiles, API keys and the audit log."""
