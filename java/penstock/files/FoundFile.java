package penstock.files;

import org.apache.spark.paths.SparkPath;

/**
 * A listed file: its size in bytes, and when it was modified, in milliseconds since 1970.
 *
 * <p>Relies on: Spark's internal {@code SparkPath}.
 *
 * <p>Without it: {@link ArrivingFiles}, which uses it throughout, fails with a LinkageError when the stream starts.
 *
 * @param moved whether the file is known to have had its whole content when it got its name
 */
record FoundFile(SparkPath path, long size, long modified, boolean moved) {
  FoundFile(SparkPath path, long size, long modified) {
    this(path, size, modified, false);
  }

  FoundFile asMoved() {
    return new FoundFile(path, size, modified, true);
  }
}
