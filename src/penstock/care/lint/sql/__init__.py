"""SQL: pipeline files, cells of notebooks and texts of `spark.sql`, and the rules about them."""
