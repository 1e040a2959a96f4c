"""The configuration of a pipeline: a TOML file in, settings out, or every mistake in it at once."""

from evidentia.pipeline.config.document import Config
from evidentia.pipeline.config.reader import parse_config, read_config

__all__ = ["Config", "parse_config", "read_config"]
