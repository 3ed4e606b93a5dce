package penstock.files;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;
import org.apache.spark.sql.execution.streaming.runtime.CompactibleFileStreamLog;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource.FileEntry;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceLog;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Spark's log of the files that a source has read, with the same bytes, read and compacted in a fraction of the time.
 *
 * <p>Relies on: Spark's internal {@code FileStreamSourceLog}, {@code CompactibleFileStreamLog}, {@code HDFSMetadataLog}
 * and {@code CheckpointFileManager}; by reflection, the private field {@code FileStreamSourceLog.fileEntryCache}; the
 * format of the log, version 1.
 *
 * <p>Without it: with the accelerator {@code read_files_log} off, Spark's own code does all of it, with the same bytes.
 * It reads a log of another version, and a line of another format, in any case. A missing field is a LinkageError of
 * {@link SparkReflection} in a batch that compacts the log; so is a changed class or method. The query ends.
 *
 * <p>Spark parses each entry with a JSON mapper: all of them at a start and, to compact, in each tenth batch.
 */
final class ReadFilesLog extends FileStreamSourceLog {
  private static final String VERSION = "v" + FileStreamSourceLog.VERSION();
  private static final String PATH = "{\"path\":\"";
  private static final String TIMESTAMP = "\",\"timestamp\":";
  private static final String BATCH = ",\"batchId\":";
  private static final String LISTINGS = "_listings"; // not a number: Spark ignores the file

  /**
   * How the files were listed, saved when none of them waited.
   *
   * @param step the newest one of the log then: if it has another now, the state is outdated
   * @param everything when all files were listed, in milliseconds since 1970
   * @param incremental the number of incremental listings since then
   */
  record ListingState(long step, long everything, int incremental) {}

  private final boolean accelerated;

  /** Without {@code accelerated} Spark's own code reads and writes the entries. */
  ReadFilesLog(SparkSession session, String folder, boolean accelerated) {
    super(FileStreamSourceLog.VERSION(), session, folder);
    this.accelerated = accelerated;
  }

  @Override
  public void foreachInBatch(long batch, Function1<FileEntry, BoxedUnit> use) {
    if (!read(batch, use::apply)) {
      super.foreachInBatch(batch, use); // it reports what is wrong
    }
  }

  @Override
  public Option<FileEntry[]> filterInBatch(long batch, Function1<FileEntry, Object> wanted) {
    List<FileEntry> found = new ArrayList<>();
    boolean complete =
        read(
            batch,
            entry -> {
              if ((Boolean) wanted.apply(entry)) {
                found.add(entry);
              }
            });
    return complete ? Option.apply(found.toArray(FileEntry[]::new)) : super.filterInBatch(batch, wanted);
  }

  @Override
  public boolean add(long batch, FileEntry[] entries) {
    if (!accelerated || !CompactibleFileStreamLog.isCompactionBatch(batch, compactInterval())) {
      return super.add(batch, entries);
    }
    boolean added = addNewBatchByStream(batch, out -> compact(batch, entries, out));
    if (added) {
      entryCache().put(batch, entries); // otherwise Spark searches all files for those of the batch
    }
    return added;
  }

  /** Returns the saved state; null if there is none, or if it is not of the newest step. */
  ListingState listingState() {
    Path file = new Path(metadataPath(), LISTINGS);
    if (!fileManager().exists(file)) {
      return null;
    }
    try (InputStream in = fileManager().open(file)) {
      String[] lines = new String(in.readAllBytes(), UTF_8).split("\n");
      ListingState saved =
          new ListingState(Long.parseLong(lines[0]), Long.parseLong(lines[1]), Integer.parseInt(lines[2]));
      return getLatestBatchId().contains(saved.step()) ? saved : null;
    } catch (IOException | RuntimeException damaged) {
      return null; // everything is listed then
    }
  }

  /** Saves how the files were listed; null deletes it. */
  void save(ListingState state) {
    Path file = new Path(metadataPath(), LISTINGS);
    if (state == null) {
      fileManager().delete(file);
      return;
    }
    try (CancellableFSDataOutputStream out = fileManager().createAtomic(file, true)) {
      String text = state.step() + "\n" + state.everything() + "\n" + state.incremental() + "\n";
      out.write(text.getBytes(UTF_8));
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Writes the lines of the last compacted batch and of those since then, and then those of {@code entries}. */
  private BoxedUnit compact(long batch, FileEntry[] entries, OutputStream out) {
    try {
      out.write(VERSION.getBytes(UTF_8));
      for (long id = Math.max(0, batch - compactInterval()); id < batch; id++) {
        try (InputStream in = fileManager().open(batchIdToPath(id))) {
          byte[] version = in.readNBytes(VERSION.length());
          validateVersion(new String(version, UTF_8), FileStreamSourceLog.VERSION());
          in.transferTo(out);
        }
      }
      // Without its version, which is written already.
      ByteArrayOutputStream lines = new ByteArrayOutputStream();
      serialize(entries, lines);
      out.write(lines.toByteArray(), VERSION.length(), lines.size() - VERSION.length());
      return BoxedUnit.UNIT;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Passes the entries of a batch to {@code use}; returns false, and passes none, if Spark's own code must do it. */
  private boolean read(long batch, Consumer<FileEntry> use) {
    if (!accelerated || !fileManager().exists(batchIdToPath(batch))) {
      return false;
    }
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(fileManager().open(batchIdToPath(batch)), UTF_8))) {
      if (!VERSION.equals(lines.readLine())) {
        return false;
      }
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        use.accept(entry(line));
      }
      return true;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private FileEntry entry(String line) {
    int time = line.indexOf(TIMESTAMP, PATH.length());
    int batch = line.lastIndexOf(BATCH);
    if (line.startsWith(PATH) && line.endsWith("}") && 0 < time && time < batch && line.indexOf('\\') < 0) {
      try {
        return new FileEntry(
            line.substring(PATH.length(), time),
            Long.parseLong(line, time + TIMESTAMP.length(), batch, 10),
            Long.parseLong(line, batch + BATCH.length(), line.length() - 1, 10));
      } catch (NumberFormatException other) {
        // Spark parses it, below
      }
    }
    return deserialize(new ByteArrayInputStream((VERSION + "\n" + line).getBytes(UTF_8)))[0];
  }

  @SuppressWarnings("unchecked")
  private Map<Object, FileEntry[]> entryCache() {
    return (Map<Object, FileEntry[]>) SparkReflection.get(FileStreamSourceLog.class, "fileEntryCache", this);
  }
}
