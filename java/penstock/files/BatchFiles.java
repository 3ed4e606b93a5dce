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
 * Which files of a batch, as the log of its source has them, Spark does not find when it lists them again.
 *
 * <p>Spark takes one that is gone by then for an empty folder, whatever the options say.
 */
public final class BatchFiles {
  private static final int MOST = 1000; // of batches that nobody asks about: before a restart they had ended
  private static final Map<String, List<String>> GONE =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, List<String>> eldest) {
          return size() > MOST;
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
      boolean mayBeGone) {
    if (!(rows.queryExecution().logical() instanceof LogicalRelation relation)
        || !(relation.relation() instanceof HadoopFsRelation files)) {
      return; // of no files
    }
    Set<String> expected = new LinkedHashSet<>();
    for (Tuple2<Object, FileEntry[]> step : logged) {
      Arrays.stream(step._2()).map(FileEntry::path).forEach(expected::add);
    }
    Arrays.stream(files.location().inputFiles()).forEach(expected::remove);
    String kind = mayBeGone ? "left " : "gone ";
    synchronized (GONE) {
      if (expected.isEmpty()) {
        GONE.remove(key(folder, source, end));
      } else {
        GONE.put(key(folder, source, end), expected.stream().map(file -> kind + file).toList());
      }
    }
  }

  /**
   * Returns the files of the batch that ends with {@code end}, of a source of the checkpoint {@code checkpoint}.
   *
   * <p>Each is {@code gone}, or {@code left} out by {@code ignoreMissingFiles}, and the URI of the file, with a blank
   * between.
   */
  public static List<String> gone(String checkpoint, String source, long end) {
    synchronized (GONE) {
      return GONE.entrySet().stream()
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
