package penstock.files;

import org.apache.spark.paths.SparkPath;

/**
 * A file as it was listed: its size in bytes, and when it was modified, in milliseconds since 1970.
 *
 * @param moved whether it is known to have got its name when it had its content
 */
record FoundFile(SparkPath path, long size, long modified, boolean moved) {
  FoundFile(SparkPath path, long size, long modified) {
    this(path, size, modified, false);
  }

  FoundFile asMoved() {
    return new FoundFile(path, size, modified, true);
  }
}
