"""Settings from environment variables ``KGCHECK_*``, secrets included; nothing read at import."""

import re
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from kgcheck.errors import ConfigurationError
from kgcheck.redact import carries_credentials, is_secret_path

_OF_A_MODEL = ("base_url", "api_key", "model", "price_input", "price_output", "price_cached")

SAMPLING = ("temperature", "reasoning_effort", "max_output_tokens")
"""Settings of a language model, after ``llm_``, that change what it answers."""


class Settings(BaseSettings):
    """Read from variables named ``KGCHECK_<FIELD>``."""

    model_config = SettingsConfigDict(env_prefix="KGCHECK_", extra="ignore")

    neo4j_user: str = Field(default="neo4j", description="user of the Neo4j server")
    neo4j_password: SecretStr | None = Field(default=None, description="password of that user; never logged")
    neo4j_database: str | None = Field(default=None, description="database of the server, unless its default one")
    home: Path = Field(default=Path(".kgcheck"), description="ledger, quarantine files and reports")
    ledger: str | None = Field(
        default=None,
        description="file with the runs, or postgresql://HOST/DATABASE; ledger.sqlite in the home unless set",
    )
    ledger_user: str | None = Field(default=None, description="user of a ledger on PostgreSQL, unless PGUSER names it")
    ledger_password: SecretStr | None = Field(
        default=None, description="password of that user, unless PGPASSWORD or PGPASSFILE has it; never logged"
    )
    cleartext_hosts: str = Field(
        default="", description="hosts, by commas, that get passwords and keys without TLS, as this machine does"
    )
    keep_verified: bool = Field(default=True, description="an audit keeps what was judged as Parquet beside the ledger")
    keep_extract: bool = Field(
        default=True,
        description="an audit keeps what it read of a server as Parquet beside the ledger, for --changed-since",
    )
    query_timeout_s: float = Field(default=600.0, gt=0, description="longest time for one statement to a store")
    connect_timeout_s: float = Field(default=10.0, gt=0, description="longest wait for a connection")
    load_batch_rows: int = Field(default=10_000, gt=0, description="rows in one statement to Neo4j")
    neo4j_in_flight: int = Field(default=3, gt=0, description="statements to Neo4j that are under way at a time")
    duckdb_memory_limit: str = Field(default="4GB", description="memory of DuckDB, which spills to disk beyond it")
    duckdb_threads: int | None = Field(
        default=None, description="threads of DuckDB; one a core unless set, and one to audit a small graph"
    )
    llm_base_url: str | None = Field(default=None, description="any OpenAI-compatible endpoint, up to and with /v1")
    llm_api_key: SecretStr | None = Field(default=None, description="key of that endpoint; never logged")
    llm_model: str | None = Field(default=None, description="name of the model")
    llm_small: bool = Field(
        default=False, description="the model is weak: short prompts with an example, all steps bound to a form"
    )
    llm_temperature: float | None = Field(
        default=None,
        ge=0,
        le=2,
        description="of sampling, where a task has none of its own; 0 for answers as alike as may be",
    )
    llm_reasoning_effort: str | None = Field(default=None, description="low, medium or high, of models that reason")
    llm_max_output_tokens: int | None = Field(default=None, gt=0, description="most tokens of one answer")
    llm_timeout_s: float = Field(default=120.0, gt=0, description="seconds for one attempt of one request")
    llm_max_mb: float = Field(default=32.0, gt=0, description="largest answer of the endpoint")
    llm_retries: int = Field(default=3, ge=0, description="on transient errors, with growing pauses")
    llm_keep_days: float = Field(
        default=30.0, ge=0, description="how long replies are kept, so that no question is paid for twice; 0 keeps none"
    )
    llm_price_input: float | None = Field(default=None, ge=0, description="money for a million tokens sent")
    llm_price_output: float | None = Field(default=None, ge=0, description="money for a million tokens received")
    llm_price_cached: float | None = Field(
        default=None, ge=0, description="money for a million tokens sent that the endpoint has kept; as sent unless set"
    )

    inference: Path | None = Field(
        default=None, description="folder of a model of inference that reads claims beside the trained verifier"
    )

    llm_worker_base_url: str | None = Field(
        default=None, description="endpoint of the model that writes, unless it is that of the judge"
    )
    llm_worker_api_key: SecretStr | None = Field(
        default=None, description="key of the worker's endpoint; the judge's goes to no other one; never logged"
    )
    llm_worker_model: str | None = Field(default=None, description="name of the worker's model, unless the judge's")
    llm_worker_price_input: float | None = Field(default=None, ge=0, description="as the price above, of the worker")
    llm_worker_price_output: float | None = Field(default=None, ge=0, description="as the price above, of the worker")
    llm_worker_price_cached: float | None = Field(default=None, ge=0, description="as the price above, of the worker")

    uniprot_url: str = Field(default="https://rest.uniprot.org", description="or a mirror")
    uniprot_calls_per_s: float = Field(default=5.0, gt=0, description="most calls to UniProt")
    string_url: str = Field(
        default="https://version-12-5.string-db.org", description="a pinned version, so that an answer can be repeated"
    )
    string_calls_per_s: float = Field(default=1.0, gt=0, description="STRING asks for at most one")
    string_species: int = Field(default=9606, gt=0, description="NCBI taxonomy id of the proteins that STRING is asked")
    europepmc_url: str = Field(
        default="https://www.ebi.ac.uk/europepmc/webservices/rest", description="Europe PMC, where papers are gathered"
    )
    europepmc_calls_per_s: float = Field(default=5.0, gt=0, description="most calls to Europe PMC")
    pubmed_url: str = Field(
        default="https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="the E-utilities of NCBI, for PubMed"
    )
    pubmed_calls_per_s: float = Field(default=3.0, gt=0, description="NCBI asks for at most three without a key")
    pubmed_key: SecretStr | None = Field(
        default=None, description="key of the E-utilities, with which NCBI takes ten calls a second; never logged"
    )
    geo_url: str = Field(default="https://www.ncbi.nlm.nih.gov/geo", description="GEO, for data sets that are private")
    semantic_scholar_url: str = Field(
        default="https://api.semanticscholar.org/graph/v1", description="the graph of Semantic Scholar"
    )
    semantic_scholar_calls_per_s: float = Field(default=1.0, gt=0, description="most calls to Semantic Scholar")
    semantic_scholar_key: SecretStr | None = Field(
        default=None, description="key of Semantic Scholar, sent as a header; never logged"
    )
    openalex_url: str = Field(default="https://api.openalex.org", description="OpenAlex")
    openalex_calls_per_s: float = Field(default=5.0, gt=0, description="most calls to OpenAlex")
    crossref_url: str = Field(default="https://api.crossref.org", description="Crossref, which registers DOIs")
    crossref_calls_per_s: float = Field(default=5.0, gt=0, description="most calls to Crossref")
    caller_identity: str = Field(default="kgcheck", min_length=1, description="what STRING is told of the caller")
    contact: str = Field(default="", description="mail address for providers, in the user agent")
    offline: bool = Field(default=False, description="open no connection: only kept answers")
    cache_dir: Path = Field(
        default_factory=lambda: user_cache_path("kgcheck"), description="kept answers, and the pace of calls by host"
    )
    cache_days: float = Field(default=30.0, gt=0, description="how long an answer of a release is kept")
    release_hours: float = Field(default=24.0, gt=0, description="how long a release passes as the newest unasked")
    http_timeout_s: float = Field(default=60.0, gt=0, description="longest silence of a service")
    http_total_s: float = Field(default=300.0, gt=0, description="longest time for one answer, headers and body")
    fetch_total_s: float = Field(default=21_600.0, gt=0, description="longest time for one file of a provider")
    fetch_max_gb: float = Field(default=100.0, gt=0, description="largest file of a provider")
    fetch_least_kb_s: float = Field(
        default=1.0, ge=0, description="slowest download, over http_timeout_s: a slower one is as good as silence"
    )
    http_max_mb: float = Field(default=256.0, gt=0, description="largest answer")
    http_attempts: int = Field(default=5, gt=0, description="of one call, the first one included")
    http_wait_s: float = Field(default=1.0, ge=0, description="first wait between attempts; the next ones are longer")
    http_longest_wait_s: float = Field(default=120.0, ge=0, description="a service that asks for more is given up")
    http_pause_s: float = Field(default=60.0, ge=0, description="how long a service that is down is not asked again")

    start_token: SecretStr | None = Field(
        default=None,
        description="lets in whoever has it while a service has no users; made at each start unless set; never logged",
    )
    telemetry: bool = Field(
        default=False, description="the service sends traces by OpenTelemetry, to where its own variables say"
    )

    @field_validator("start_token")
    @classmethod
    def _not_guessed(cls, token: SecretStr | None) -> SecretStr | None:
        value = token.get_secret_value() if token else ""
        if value and not re.fullmatch(r"[A-Za-z0-9._~-]{32,256}", value):
            raise ValueError("it has 32 letters, digits and ._~- or more, say of: openssl rand -hex 32")
        return token if value else None

    @field_validator("ledger")
    @classmethod
    def _without_credentials(cls, place: str | None) -> str | None:
        """Refuse credentials in the place of the ledger: it goes into messages."""
        if place and (("://" in place and carries_credentials(place)) or is_secret_path(place)):
            raise ValueError("it must not carry a user or a password: KGCHECK_LEDGER_USER and ..._PASSWORD do")
        return place or None

    @field_validator(
        *("llm_base_url", "llm_worker_base_url", "uniprot_url", "string_url"),
        *("europepmc_url", "pubmed_url", "semantic_scholar_url", "openalex_url", "crossref_url"),
        "geo_url",
    )
    @classmethod
    def _bare(cls, address: str | None) -> str | None:
        """An address goes into messages, evidence and reports: a secret in it would, too."""
        if address and carries_credentials(address):
            raise ValueError("an address must not carry a user or a password")
        if address and ("?" in address or "#" in address):
            raise ValueError("an address ends with its path: no query, no key in it")
        return address

    def for_worker(self) -> "Settings":
        """The same settings with the worker's model, endpoint, key and prices where it has its own."""
        own = {name: getattr(self, f"llm_worker_{name}") for name in _OF_A_MODEL}
        chosen = {f"llm_{name}": value for name, value in own.items() if value is not None}
        if own["base_url"] is not None:
            # The key of one endpoint is not sent to another.
            chosen["llm_api_key"] = own["api_key"]
        if own["price_input"] is not None:
            # Nor are tokens of one model paid at the price of another.
            chosen["llm_price_cached"] = own["price_cached"]
        return self.model_copy(update=chosen)

    @property
    def ledger_file(self) -> Path:
        return self.home / "ledger.sqlite"


def read_settings(**given: Any) -> Settings:
    """Settings from the environment, but for the fields that are given."""
    try:
        return Settings(**given)
    except ValidationError as error:
        wrong = [f"KGCHECK_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors()]
        raise ConfigurationError(f"the environment is wrong: {'; '.join(wrong)}", "correct it, or unset it") from None
