"""Numbers as a page shows them; its JavaScript shows the same number with the same digits."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

NONE = "\N{EN DASH}"


def shown(value: float | str | None) -> str:
    """Whole numbers above one as such, two decimals from ten on, else four; text as it is.

    >>> shown(0.92050035), shown(47.123), shown(14770), shown(1.0)
    ('0.9205', '47.12', '14,770', '1.0000')
    """
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (float(value).is_integer() and abs(value) > 1):
        return f"{int(value):,}"
    return f"{rounded(value, 2 if abs(value) >= 10 else 4):,}"


def rounded(value: float, digits: int) -> Decimal:
    """Half away from zero, as a browser's ``toFixed`` has it.

    >>> rounded(0.03125, 4)
    Decimal('0.0313')
    """
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def limits(ci: list[float] | tuple[float, float] | None) -> str:
    """An interval in words.

    >>> limits([0.91, 0.93])
    '0.9100 to 0.9300'
    """
    return NONE if ci is None else f"{shown(float(ci[0]))} to {shown(float(ci[1]))}"
