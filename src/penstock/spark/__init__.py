"""Everything that touches the JVM."""
