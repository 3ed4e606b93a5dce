import dlt


@dlt.view(name="employees_snapshot", comment="the table of the HR system, whole")
def employees_snapshot():
  return spark.read.schema("employee_id INT, name STRING, team STRING").json("data/employees")


dlt.create_streaming_table(name="employees")

dlt.apply_changes_from_snapshot(
  target="employees",
  source="employees_snapshot",
  keys=["employee_id"],
  stored_as_scd_type=1,
)

dlt.create_streaming_table(name="employees_history")

dlt.apply_changes_from_snapshot(
  target="employees_history",
  source="employees_snapshot",
  keys=["employee_id"],
  stored_as_scd_type=2,
  track_history_except_column_list=["name"],
)
