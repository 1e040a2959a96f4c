"""An Evaluation becomes tables, LaTeX and console text; no arithmetic here."""

from evidentia.report.tables import Table, tables_of
from evidentia.report.write import write_tables

__all__ = ["Table", "tables_of", "write_tables"]
