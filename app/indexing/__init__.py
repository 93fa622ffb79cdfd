"""The derived, rebuildable state that recall searches: search documents, their statistics, vectors."""
