"""Writers of batches that are more than an append: checked rows, update mode, change data capture."""
