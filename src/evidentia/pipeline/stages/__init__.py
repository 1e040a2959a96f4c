"""The stages that need no torch."""
