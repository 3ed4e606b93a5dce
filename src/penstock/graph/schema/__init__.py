"""Schemas as plain data: columns, types, how they may change, and what they are made of."""
