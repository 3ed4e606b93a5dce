"""Notebooks as pipeline files: exports of Databricks (`.py`, `.sql`) and `.ipynb`, cell by cell."""

from penstock.declare.notebook.files import is_notebook, read_cells
from penstock.declare.notebook.runner import NotebookRunner, run_targets

__all__ = ["NotebookRunner", "is_notebook", "read_cells", "run_targets"]
