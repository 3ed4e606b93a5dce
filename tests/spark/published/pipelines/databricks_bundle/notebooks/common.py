# Databricks notebook source
from pyspark.sql import functions as F

def with_kwh(df):
  return df.withColumn("kwh", F.col("wh") / 1000).drop("wh")
