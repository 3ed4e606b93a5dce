package penstock.files;

import org.apache.spark.paths.SparkPath;

/** A file as it was listed: its size in bytes, and when it was modified, in milliseconds since 1970. */
record FoundFile(SparkPath path, long size, long modified) {}
