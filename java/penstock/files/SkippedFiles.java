package penstock.files;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.apache.spark.sql.execution.datasources.FileScanRDD;

/**
 * Records the files that readers with {@code ignoreCorruptFiles} or {@code ignoreMissingFiles} skip in this process,
 * from Spark's log messages: Spark reports them nowhere else.
 *
 * <p>Relies on: the text that Spark's internal {@code FileScanRDD} logs, at a level that is on; log4j-core as the
 * logging backend ({@code core.Logger.addAppender}).
 *
 * <p>Without it: with another text or level, no skipped file is reported. Without log4j-core or this class, Python's
 * {@code suppress(Py4JError, TypeError)} in spark/sources/file_reports.py does the same.
 */
public final class SkippedFiles extends AbstractAppender {
  private static final Pattern MESSAGE =
      Pattern.compile(
          "Skipped (missing file|the rest of the content in the corrupted file): path: (.*), range: .*", Pattern.DOTALL);
  private static final Map<String, Boolean> SKIPPED = new LinkedHashMap<>(); // by URI: whether it was missing
  private static SkippedFiles appender;

  private SkippedFiles() {
    super("penstock-skipped-files", null, null, true, Property.EMPTY_ARRAY);
  }

  /** Starts to record; calling it again changes nothing. */
  public static synchronized void listen() {
    if (appender == null) {
      appender = new SkippedFiles();
      appender.start();
      ((Logger) LogManager.getLogger(FileScanRDD.class)).addAppender(appender);
    }
  }

  /** Returns the URIs of the missing or of the corrupt files: each once, in the order in which they were read. */
  public static List<String> all(boolean missing) {
    synchronized (SKIPPED) {
      return SKIPPED.keySet().stream().filter(uri -> SKIPPED.get(uri) == missing).toList();
    }
  }

  @Override
  public void append(LogEvent event) {
    Matcher message = MESSAGE.matcher(event.getMessage().getFormattedMessage());
    if (message.matches()) {
      synchronized (SKIPPED) {
        SKIPPED.put(message.group(2), message.group(1).startsWith("missing"));
      }
    }
  }
}
