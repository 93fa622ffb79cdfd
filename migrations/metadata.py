"""What the migrations are compared with: the metadata of every model."""

import app.indexing.models
import app.knowledge.models
import app.memory.models
import app.tenancy.models
from app.db.base import Base

target_metadata = Base.metadata
_MODULES = (app.indexing.models, app.knowledge.models, app.memory.models, app.tenancy.models)

# Partitions of `vectors` come and go with embedding spaces; procrastinate owns its tables.
_OTHERS = ("vectors_s", "procrastinate_")


def compared_name(name: str | None, kind: str, _parents: object) -> bool:
    """Whether autogenerate compares this object."""
    return not (kind == "table" and name is not None and name.startswith(_OTHERS))
