"""From text and files to rows, format by format, with rescued data."""
