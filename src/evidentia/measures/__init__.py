"""Measures: the registry, the name grammar, the profiles, and one module per family."""

from evidentia.measures.names import Cut, Name, parse_name
from evidentia.measures.profiles import PROFILES, Profile, profile_named
from evidentia.measures.registry import MEASURES, Definition, Request, canonical, resolve

__all__ = [
    "MEASURES",
    "PROFILES",
    "Cut",
    "Definition",
    "Name",
    "Profile",
    "Request",
    "canonical",
    "parse_name",
    "profile_named",
    "resolve",
]
