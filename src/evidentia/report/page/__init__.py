"""The report as one HTML page: what a folder holds becomes a `Content`, and a `Content` becomes a page, byte for byte."""

from evidentia.report.page.content import Content, unpack
from evidentia.report.page.pseudonyms import write_key
from evidentia.report.page.read import read_content
from evidentia.report.page.render import render
from evidentia.report.page.texts import read_texts

__all__ = ["Content", "read_content", "read_texts", "render", "unpack", "write_key"]
