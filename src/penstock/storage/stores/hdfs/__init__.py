"""HDFS, Hadoop's file system, reached as the object stores are."""
