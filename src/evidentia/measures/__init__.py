"""Measures: one module per family. Their names, profiles and words stand in the catalogue that verification reads too."""

from evidentia.measures.registry import register
from evidentia.results.catalogue import MEASURES, Definition, Request, canonical, pattern, resolve
from evidentia.results.names import Cut, Name, parse_name
from evidentia.results.profiles import PROFILES, Profile, profile_named

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
    "pattern",
    "profile_named",
    "register",
    "resolve",
]
