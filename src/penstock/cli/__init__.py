"""The command line: one file a command. Nothing here imports Spark until a command needs it."""
