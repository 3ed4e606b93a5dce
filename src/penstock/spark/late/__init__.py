"""Rows behind the watermark: measured, recorded, assigned to their windows."""
