package penstock.files;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource.FileEntry;
import scala.Tuple2;

/**
 * Records which files of a batch, according to the log of its source, were missing when Spark listed them to read them.
 *
 * <p>Relies on: Spark's {@code Dataset.queryExecution}, {@code LogicalRelation}, {@code HadoopFsRelation.location} and
 * {@code FileStreamSource.FileEntry}; that the plan of a batch is a {@code LogicalRelation} of the listed files.
 *
 * <p>Without it: with another plan, no missing file is reported; a changed class or method is a LinkageError, which
 * ends the query. Without this class, Python's {@code suppress(Py4JError, TypeError)} makes {@code missing_files}
 * return none.
 *
 * <p>Spark reads a missing file as an empty folder, whatever the options say.
 */
public final class BatchFiles {
  private static final int MAX_BATCHES = 1000; // entries of batches that ended before a restart are never requested
  private static final Map<String, List<String>> MISSING =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, List<String>> eldest) {
          return size() > MAX_BATCHES;
        }
      };

  private BatchFiles() {}

  /** Compares the files of a batch of {@code source} that ends with {@code end}; {@code folder} is that of its log. */
  static void compare(
      String folder,
      String source,
      long end,
      Tuple2<Object, FileEntry[]>[] logged,
      Dataset<Row> rows,
      boolean ignoreMissingFiles) {
    if (!(rows.queryExecution().logical() instanceof LogicalRelation relation)
        || !(relation.relation() instanceof HadoopFsRelation files)) {
      return; // the batch reads no files
    }
    Set<String> expected = new LinkedHashSet<>();
    for (Tuple2<Object, FileEntry[]> step : logged) {
      Arrays.stream(step._2()).map(FileEntry::path).forEach(expected::add);
    }
    Arrays.stream(files.location().inputFiles()).forEach(expected::remove);
    String kind = ignoreMissingFiles ? "left " : "gone ";
    synchronized (MISSING) {
      if (expected.isEmpty()) {
        MISSING.remove(key(folder, source, end));
      } else {
        MISSING.put(key(folder, source, end), expected.stream().map(file -> kind + file).toList());
      }
    }
  }

  /**
   * Returns the missing files of the batch that ends with {@code end}, of a source of the checkpoint
   * {@code checkpoint}.
   *
   * <p>Each is the word {@code gone}, or {@code left} if {@code ignoreMissingFiles} left it out, a space, and the URI
   * of the file.
   */
  public static List<String> gone(String checkpoint, String source, long end) {
    synchronized (MISSING) {
      return MISSING.entrySet().stream()
          .filter(each -> each.getKey().startsWith(checkpoint + "/sources/"))
          .filter(each -> each.getKey().endsWith(key("", source, end)))
          .flatMap(each -> each.getValue().stream())
          .toList();
    }
  }

  private static String key(String folder, String source, long end) {
    return folder + "\n" + source + "\n" + end;
  }
}
