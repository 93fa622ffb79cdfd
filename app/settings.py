"""Every setting of Strata, read once from the environment (prefix ``STRATA_``)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.db.urls import sqlalchemy_url

EmbedderName = Literal["sentence-transformers", "hash", "openai"]


class Settings(BaseSettings):
    """One typed object; the README's configuration table is tested against these fields."""

    model_config = SettingsConfigDict(env_prefix="STRATA_", frozen=True, extra="ignore")

    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL URL of the API role; unset: an embedded server in the data directory",
    )
    owner_database_url: SecretStr | None = Field(
        default=None, description="PostgreSQL URL of the owner role, for `strata db` only"
    )
    data_dir: Path = Field(default=Path(".strata"), description="Directory of the embedded PostgreSQL server")
    embedder: EmbedderName = Field(default="sentence-transformers", description="Embedding backend")
    embedding_model: str | None = Field(
        default=None,
        description="Model directory or hub name; for `openai` the model's name; unset: the bundled model",
    )
    embedding_dimension: Annotated[int, Field(ge=1, le=4000)] | None = Field(
        default=None, description="Vector length of an `openai` model"
    )
    embedding_base_url: str | None = Field(
        default=None, description="Base URL of an OpenAI-compatible server"
    )
    embedding_api_key: SecretStr | None = Field(default=None, description="API key of that server")
    embedding_timeout: float = Field(
        default=30.0, gt=0, description="Seconds a request waits for its embeddings"
    )
    embedding_threads: int = Field(default=0, ge=0, description="CPU threads of the model; 0: all cores")
    verifier: Literal["rules", "openai"] = Field(
        default="rules", description="What decides whether evidence entails a claim"
    )
    chat_base_url: str | None = Field(
        default=None, description="Base URL of an OpenAI-compatible chat server, for the `openai` verifier"
    )
    chat_model: str | None = Field(default=None, description="Name of the chat model")
    chat_api_key: SecretStr | None = Field(default=None, description="API key of the chat server")
    chat_timeout: float = Field(default=30.0, gt=0, description="Seconds that one chat request may take")
    chat_concurrency: int = Field(default=4, ge=1, le=64, description="Chat requests under way at once")
    operator_token: SecretStr | None = Field(
        default=None, description="Bearer token of `/v1/admin`; unset: those routes answer 401"
    )
    pool_size: int = Field(
        default=10,
        ge=1,
        le=500,
        description="Database connections of one process: half of them for reading, one of each kind at the least",
    )
    pool_timeout: float = Field(default=5.0, gt=0, description="Seconds to wait for a connection before 503")
    rate_limit_per_minute: int = Field(
        default=0, ge=0, description="Requests a minute for one API key and process; 0: no limit"
    )
    max_body_bytes: int = Field(default=8_388_608, ge=65_536, description="Largest request body")
    ann_threshold: int = Field(
        default=10_000,
        ge=1,
        description="Vectors of a profile above which it is searched through HNSW, for 384 dimensions; fewer"
        " dimensions raise it, to 2.5 times at 64",
    )
    worker: bool = Field(default=True, description="Run background jobs inside `strata serve`")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level logged"
    )
    log_format: Literal["console", "json"] = Field(
        default="json", description="Log lines for people or machines"
    )

    @field_validator("database_url", "owner_database_url")
    @classmethod
    def _check_url(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            sqlalchemy_url(url.get_secret_value())
        return url


def load_settings() -> Settings:
    """Read the environment.

    Raises:
        pydantic.ValidationError: a variable holds a value that its field does not take.
    """
    return Settings()
