"""Settings from the environment and from `.env`; secrets come from nowhere else. Nothing is read at import."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Read from variables named ``KGCHECK_<FIELD>``."""

    model_config = SettingsConfigDict(env_prefix="KGCHECK_", extra="ignore")

    neo4j_user: str = "neo4j"
    neo4j_password: SecretStr | None = None
    neo4j_database: str | None = None
    home: Path = Field(default=Path(".kgcheck"), description="ledger, quarantine files and reports")
    query_timeout_s: float = Field(default=600.0, gt=0)
    connect_timeout_s: float = Field(default=10.0, gt=0)
    load_batch_rows: int = Field(default=10_000, gt=0)
    duckdb_memory_limit: str = "4GB"
    duckdb_threads: int | None = None
    llm_base_url: str | None = Field(default=None, description="any OpenAI-compatible endpoint, up to and with /v1")
    llm_api_key: SecretStr | None = None
    llm_model: str | None = None
    llm_timeout_s: float = Field(default=120.0, gt=0, description="seconds for one attempt of one request")
    llm_retries: int = Field(default=3, ge=0, description="on transient errors, with growing pauses")
    llm_price_input: float | None = Field(default=None, ge=0, description="money for a million tokens sent")
    llm_price_output: float | None = Field(default=None, ge=0, description="money for a million tokens received")

    @property
    def ledger(self) -> Path:
        """Where the ledger is unless one is named."""
        return self.home / "ledger.sqlite"
