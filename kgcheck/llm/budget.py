"""Limits, prices and meters of language models: turns, tokens, seconds and money spent."""

import time
from collections.abc import Iterable

from pydantic import Field

from kgcheck.errors import BudgetExceeded, BudgetSpent, ConfigurationError
from kgcheck.model import Value
from kgcheck.options import Spending
from kgcheck.settings import Settings


class Usage(Value):
    """Tokens of one call; ``estimated`` where the server did not count them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = Field(default=0, description="those of the input that the endpoint had from an earlier call")
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            estimated=self.estimated or other.estimated,
        )


class Prices(Value):
    """Money for a million tokens, in any one currency."""

    input_per_million: float = Field(default=0.0, ge=0)
    output_per_million: float = Field(default=0.0, ge=0)
    cached_per_million: float | None = Field(default=None, ge=0, description="of cached input; as input unless set")

    def cost(self, usage: Usage) -> float:
        """Return the cost of a call.

        >>> Prices(input_per_million=1, output_per_million=2).cost(Usage(input_tokens=500_000, output_tokens=250_000))
        1.0
        """
        cached = self.input_per_million if self.cached_per_million is None else self.cached_per_million
        paid_in_full = usage.input_tokens - usage.cached_tokens
        input_cost = paid_in_full * self.input_per_million + usage.cached_tokens * cached
        return (input_cost + usage.output_tokens * self.output_per_million) / 1e6


class Limits(Spending):
    """Limits of a conversation; None where there is no limit."""

    turns: int | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)

    @classmethod
    def of(cls, spending: Spending, seconds: float | None = None) -> "Limits":
        """The tokens and the money of options, with seconds."""
        return cls(tokens=spending.tokens, money=spending.money, seconds=seconds)

    def with_defaults(self, defaults: "Limits") -> "Limits":
        """These limits, and others for what has none here.

        >>> Limits(turns=5).with_defaults(Limits(turns=30, seconds=60)).model_dump(exclude_none=True)
        {'turns': 5, 'seconds': 60.0}
        """
        return Limits.model_validate(defaults.model_dump() | self.model_dump(exclude_none=True))


class Spent(Value):
    """Usage of a conversation; ``money`` is None where no prices are set."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    money: float | None = None
    estimated: bool = False


class Meter:
    """Counts what a conversation takes against its limits."""

    _stops: type[BudgetExceeded] = BudgetExceeded

    def __init__(self, limits: Limits, prices: Prices | None = None, within: "Meter | None" = None) -> None:
        if limits.money is not None and prices is None:
            raise ConfigurationError(
                "money is limited, and no prices are set",
                "set KGCHECK_LLM_PRICE_INPUT and KGCHECK_LLM_PRICE_OUTPUT, for a million tokens each",
            )
        self._limits, self._prices, self._within = limits, prices, within
        self._turns = self._input = self._output = 0
        self._money = 0.0
        self._estimated = False
        self._started = time.monotonic()

    @property
    def spent(self) -> Spent:
        """Up to now."""
        return Spent(
            turns=self._turns,
            input_tokens=self._input,
            output_tokens=self._output,
            seconds=time.monotonic() - self._started,
            money=self._money if self._prices else None,
            estimated=self._estimated,
        )

    @property
    def deadline(self) -> float | None:
        """Time at which the seconds run out, by the monotonic clock."""
        own = None if self._limits.seconds is None else self._started + self._limits.seconds
        ends = [t for t in (own, self._within.deadline if self._within else None) if t is not None]
        return min(ends, default=None)

    def take_turn(self) -> None:
        """Take one turn, if any limit leaves one."""
        self.check()
        if self._limits.turns is not None and self._turns >= self._limits.turns:
            raise self._stops(*_stopped(f"{self._turns} turns"))
        if self._within:
            self._within.take_turn()
        self._turns += 1

    def count_turn(self) -> None:
        """Count one more turn of what is paid already: a call that came with others."""
        if self._within:
            self._within.count_turn()
        self._turns += 1

    def add(self, usage: Usage, money: float | None = None) -> None:
        """Count the tokens of a call."""
        self._input += usage.input_tokens
        self._output += usage.output_tokens
        self._estimated |= usage.estimated
        if money is None and self._prices:
            money = self._prices.cost(usage)
        self._money += money or 0.0
        if self._within:
            self._within.add(usage, money)

    def check(self) -> None:
        """Stop when tokens, seconds or money are used up."""
        if self._within:
            self._within.check()
        spent, limits = self.spent, self._limits
        if limits.tokens is not None and spent.input_tokens + spent.output_tokens >= limits.tokens:
            raise self._stops(*_stopped(f"{spent.input_tokens + spent.output_tokens} tokens"))
        if limits.money is not None and spent.money is not None and spent.money >= limits.money:
            raise self._stops(*_stopped(f"{spent.money:.4f} in money"))
        if limits.seconds is not None and spent.seconds >= limits.seconds:
            raise self._stops(*_stopped(f"{spent.seconds:.1f} seconds"))


class RunMeter(Meter):
    """Counts what all items of a batch take together. May be shared by threads: each call may pass the limit once."""

    _stops = BudgetSpent


class PartCost(Value):
    """Cost of a part of a work, as it is kept beside it; ``money`` is none where no prices are set."""

    input_tokens: int = 0
    output_tokens: int = 0
    money: float | None = None


class CostByPart:
    """Costs of the parts of a work by a meter, in which earlier calls for the same work count, too."""

    def __init__(self, meter: Meter, before: Iterable[PartCost] = ()) -> None:
        for cost in before:
            meter.add(Usage(input_tokens=cost.input_tokens, output_tokens=cost.output_tokens), cost.money)
        self._meter, self._counted = meter, meter.spent

    def next(self) -> PartCost:
        """Return the cost since this was last called."""
        now, before = self._meter.spent, self._counted
        self._counted = now
        return PartCost(
            input_tokens=now.input_tokens - before.input_tokens,
            output_tokens=now.output_tokens - before.output_tokens,
            money=None if now.money is None else now.money - (before.money or 0.0),
        )


def _stopped(reason: str) -> tuple[str, str]:
    return f"the model was stopped after {reason}", "raise the limit"


def prices_of(settings: Settings) -> Prices | None:
    """Prices of the model, where both are set."""
    if settings.llm_price_input is None or settings.llm_price_output is None:
        return None
    return Prices(
        input_per_million=settings.llm_price_input,
        output_per_million=settings.llm_price_output,
        cached_per_million=settings.llm_price_cached,
    )


def total_meter(settings: Settings, spending: Spending | None = None) -> RunMeter:
    """A meter of the tokens and the money of all items together."""
    return RunMeter(Limits.of(spending or Spending()), prices_of(settings))


def spent_note(meter: Meter) -> tuple[str, ...]:
    """Describe a model's usage as a note; none if it took nothing."""
    spent = meter.spent
    if not spent.turns:
        return ()
    tokens = spent.input_tokens + spent.output_tokens
    about = "about " if spent.estimated else ""
    cost = "" if spent.money is None else f", {spent.money:.4f} in money"
    return (f"{about}{tokens:,} tokens in {spent.turns:,} calls{cost}",)
