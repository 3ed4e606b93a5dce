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
 * Which files readers with {@code ignoreCorruptFiles} and {@code ignoreMissingFiles} have left out in this process.
 *
 * <p>Spark says so in its log only.
 */
public final class SkippedFiles extends AbstractAppender {
  private static final Pattern SAID =
      Pattern.compile(
          "Skipped (missing file|the rest of the content in the corrupted file): path: (.*), range: .*", Pattern.DOTALL);
  private static final Map<String, Boolean> GONE = new LinkedHashMap<>(); // by URI; else they are corrupt
  private static SkippedFiles listening;

  private SkippedFiles() {
    super("penstock-skipped-files", null, null, true, Property.EMPTY_ARRAY);
  }

  /** Begins to listen; once is enough. */
  public static synchronized void listen() {
    if (listening == null) {
      listening = new SkippedFiles();
      listening.start();
      ((Logger) LogManager.getLogger(FileScanRDD.class)).addAppender(listening);
    }
  }

  /** Returns the URIs of the files that were gone, or else corrupt: each once, in the order in which they were read. */
  public static List<String> all(boolean gone) {
    synchronized (GONE) {
      return GONE.keySet().stream().filter(uri -> GONE.get(uri) == gone).toList();
    }
  }

  @Override
  public void append(LogEvent event) {
    Matcher said = SAID.matcher(event.getMessage().getFormattedMessage());
    if (said.matches()) {
      synchronized (GONE) {
        GONE.put(said.group(2), said.group(1).startsWith("missing"));
      }
    }
  }
}
