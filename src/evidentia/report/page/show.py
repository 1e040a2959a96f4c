"""Numbers as a page shows them."""

from evidentia.report.show import NONE, chance, limits, rounded, shown, signed

__all__ = ["NONE", "chance", "limits", "rounded", "shown", "signed"]
