import json
import os
import sys

import dlt

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from helpers.shaping import audited, shape

with open(os.path.join(os.path.dirname(__file__), "entities.json")) as f:
    config = json.load(f)


def bronze(entity):
    @dlt.table(
        name=f"bronze.{entity['name']}",
        comment=f"{entity['name']} as landed",
        table_properties={"delta.columnMapping.mode": "name"},  # the files have blanks in their headers
    )
    def bronze_table():
        reader = spark.readStream.format("cloudFiles").option("cloudFiles.format", entity["format"])
        return audited(reader.options(**entity.get("options", {})).load(f"{config['landing']}/{entity['name']}"))


def silver(entity):
    @dlt.table(name=entity["name"], table_properties={"quality": "silver", "key": entity["key"]})
    @dlt.expect_all_or_drop(entity["expectations"])
    def silver_table():
        df = spark.readStream.table(f"bronze.{entity['name']}").drop("_rescued_data")
        return shape(df, entity["columns"], entity["casts"])


for entity in [e for e in config["entities"] if e.get("enabled", True)]:
    bronze(entity)
    silver(entity)


@dlt.table
def row_counts():
    counts = [
        spark.table(e["name"]).selectExpr(f"'{e['name']}' AS entity", "count(*) AS n")
        for e in config["entities"] if e.get("enabled", True)
    ]
    result = counts[0]
    for each in counts[1:]:
        result = result.unionByName(each)
    return result
