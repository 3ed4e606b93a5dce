"""Notebooks as pipeline files: exports of Databricks (`.py`, `.sql`) and `.ipynb`, cell by cell."""

from penstock.declare.code.notebook.runner import NotebookRunner, run_targets

__all__ = ["NotebookRunner", "run_targets"]
