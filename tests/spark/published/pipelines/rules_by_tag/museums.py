import dlt
from rules_module import *
from pyspark.sql.functions import expr, col

base = "/databricks-datasets/museums"

# the operators keep their own rules in a file beside the data
more_rules = spark.read.option("header", True).csv(f"{base}/rules.csv").filter(col("tag") == "validity").collect()

def get_rules(tag):
  """
    name -> constraint of the rules that bear the tag
  """
  rules = {row["name"]: row["constraint"] for row in all_rules() if row["tag"] == tag}
  if tag == "validity":
    rules.update({row["name"]: row["constraint"] for row in more_rules})
  return rules

quarantine_rules = "NOT({0})".format(" AND ".join(get_rules("validity").values()))

@dlt.table(name="museums_raw")
@dlt.expect_all_or_drop({"has an id": "MuseumID IS NOT NULL"})
def all_museums():
  return (
    spark.read.format('csv').option("header", "true")
      .load(base + '/data-001/')
  )

@dlt.table(
  name="museums_marked",
  temporary=True,
  partition_cols=["is_quarantined"]
)
@dlt.expect_all(get_rules('validity'))
def museums_marked():
  return (
    dlt.read("museums_raw")
      .select("Museum", "Website", "Location", "State", "Facebook", "Twitter", "Youtube", "updateTime")
      .withColumn("is_quarantined", expr(quarantine_rules))
  )

@dlt.view(name="museums_right")
@dlt.expect_all(get_rules('maintained'))
def good():
  return dlt.read("museums_marked").filter("is_quarantined=false")

@dlt.view(name="museums_wrong")
def bad():
  return dlt.read("museums_marked").filter("is_quarantined=true")

@dlt.table(name="museums_kept_up")
@dlt.expect_all_or_drop(get_rules('maintained'))
def museums_kept_up():
  return dlt.read("museums_right").select("Museum", "State", "Facebook", "Twitter", "Youtube", "updateTime")

@dlt.table(name="museums_to_call")
def museums_to_call():
  return dlt.read("museums_wrong").select("Museum", "Location")
