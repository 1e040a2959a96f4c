"""An Evaluation becomes tables, LaTeX and console text; no arithmetic here."""

from evidentia.report.tables import Table, tables_of
from evidentia.report.write import write_curves, write_delta_tables, write_tables

__all__ = ["Table", "tables_of", "write_curves", "write_delta_tables", "write_tables"]
