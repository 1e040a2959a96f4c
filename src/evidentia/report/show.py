"""Numbers as every form of a report shows them: page, Markdown and LaTeX have the same digits, a terminal fewer of p values."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

_ROUNDABLE = 1e15  # beyond it a float has no decimals to round
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
    exact = Decimal(value)
    return exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP) if abs(value) < _ROUNDABLE else exact


def fixed(value: float, digits: int = 4, sign: str = "") -> str:
    """So many digits, rounded as everywhere.

    >>> fixed(0.78125), fixed(0.0312, 2, "+")
    ('0.7813', '+0.03')
    """
    return f"{rounded(value, digits):{sign}}"


def limits(ci: list[float] | tuple[float, float] | None) -> str:
    """An interval in words.

    >>> limits([0.91, 0.93])
    '0.9100 to 0.9300'
    """
    return NONE if ci is None else f"{shown(float(ci[0]))} to {shown(float(ci[1]))}"


def signed(value: float | None) -> str:
    """A difference: with its sign, unless it is shown as none.

    >>> signed(0.031), signed(-12.5), signed(-0.00001), signed(1.0)
    ('+0.0310', '-12.50', '0.0000', '+1.0000')
    """
    if value is None:
        return NONE
    words = shown(float(value))
    if not words.strip("-0.,"):
        return words.lstrip("-")
    return words if value < 0 else f"+{words}"


def chance(p: float | None, digits: int = 4) -> str:
    """A p value; it is never none, however many digits are shown.

    >>> chance(0.04439), chance(0.00002), chance(1.0, 3)
    ('0.0444', '<0.0001', '1.000')
    """
    if p is None:
        return NONE
    least = 10.0**-digits
    return f"<{least:.{digits}f}" if p < least else fixed(p, digits)
