"""Names and words that the generated suite draws from. Data."""

from typing import Final

PLACES: Final = (
    "ledger", "intake", "orchard", "harbour", "quarry", "lantern", "meadow", "turbine", "granary", "atlas",
    "beacon", "cobalt", "drift", "ember", "fjord", "gantry", "hollow", "isthmus", "juniper", "kestrel",
    "lagoon", "marble", "nectar", "osprey", "pinnacle", "quill", "rampart", "saffron", "thicket", "umber",
)  # fmt: skip
PARTS: Final = (
    "importer", "scheduler", "gateway", "exporter", "relay", "indexer", "collector", "resolver", "mirror", "planner",
    "monitor", "router", "archiver", "validator", "dispatcher", "watcher",
)  # fmt: skip
PEOPLE: Final = (
    "Anneke", "Bram", "Chidi", "Dolores", "Emre", "Farida", "Goran", "Hanneke", "Ilse", "Jomo", "Kaveh", "Liv",
    "Mateus", "Noor", "Ondine", "Pavel", "Quirin", "Rosa", "Sanjay", "Tove", "Ursula", "Viggo", "Wanjiru", "Yusuf",
)  # fmt: skip
FINDINGS: Final = (
    "the retry loop never backed off", "two writers raced for the same row", "the clock of one node ran ahead",
    "an empty page ended the listing too early", "the cache kept a deleted entry", "a time zone was dropped on the way",
    "the last batch was acknowledged before it was stored", "a header was read in the wrong case",
    "the lock outlived the worker that took it", "one replica answered from an old snapshot",
    "the parser took a comma for a decimal point", "the connection pool was never drained",
    "a default of zero switched the limit off", "the checksum left out the trailing block",
)  # fmt: skip
REMEDIES: Final = (
    "waits twice as long after each failure", "takes the row's version along", "asks the time server before it starts",
    "reads on until the cursor is null", "drops the entry on every delete", "keeps the offset beside the time",
    "acknowledges after the flush", "folds header names to lower case", "lets the lock expire with its owner",
    "pins reads to the primary", "reads numbers by the file's own locale", "closes idle connections at midnight",
    "refuses zero at the start", "hashes the whole stream",
)  # fmt: skip
VERBS: Final = (
    "records",
    "lists",
    "revokes",
    "renames",
    "merges",
    "restores",
    "schedules",
    "archives",
    "splits",
    "tags",
)
OBJECTS: Final = (
    "feedback",
    "memory",
    "session",
    "profile",
    "export",
    "billing",
    "consent",
    "audit",
    "dataset",
    "snapshot",
)
ACTIONS: Final = ("read", "write", "approve", "purge", "share", "replay", "freeze", "review")
FOLDERS: Final = ("config", "deploy", "conf", "settings", "ops", "env")
FILES: Final = (
    "limits",
    "quota",
    "routing",
    "retention",
    "alerts",
    "rollout",
    "tokens",
    "backup",
    "features",
    "mail",
)
ENDINGS: Final = ("yaml", "toml", "json", "conf")
BRANCHES: Final = ("fix", "feature", "chore", "release", "exp")
TOPICS: Final = (
    "thinner-batches", "cold-start", "safer-deletes", "quiet-logs", "faster-merge", "null-cursor", "tidy-errors",
    "shard-move", "warm-cache", "split-index", "strict-dates", "slow-consumer",
)  # fmt: skip
KEYS: Final = ("job", "queue", "service", "task", "ticket", "project", "account", "issue")
CODES: Final = ("ORB", "KIT", "LUX", "NIM", "PAX", "RIV", "SOL", "TAM", "VEX", "WYN", "ZED", "HAL")
