"""The committed OpenAPI document; `python -m tests.integration.http.openapi_snapshot` writes it anew."""

from pathlib import Path
from typing import Any

import msgspec
from litestar.serialization import default_serializer

from app.asgi import create_app
from app.settings import Settings

FILE = Path(__file__).with_name("openapi.json")


def document() -> dict[str, Any]:
    """The document as the service serves it at /docs/openapi.json."""
    schema = create_app(Settings(embedder="hash", worker=False)).openapi_schema.to_schema()
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema, enc_hook=default_serializer))
    return decoded


def rendered() -> str:
    """The same as text, keys in order."""
    return msgspec.json.format(msgspec.json.encode(document(), order="sorted"), indent=2).decode() + "\n"


if __name__ == "__main__":
    FILE.write_text(rendered())
