"""How handlers name what is injected."""

from typing import Annotated, TypeVar

from litestar.di import Dependency
from litestar.params import SkipValidationMarker

T = TypeVar("T")

# Our own objects need no validation on their way into a handler.
Injected = Annotated[T, Dependency(kind="named"), SkipValidationMarker()]
