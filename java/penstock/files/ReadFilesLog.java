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
 * Spark's log of the files that a source has read, byte by byte the same, in a fraction of the time.
 *
 * <p>Spark takes each entry through a mapper of JSON, all of them at a start and, to compact, in each tenth batch.
 */
final class ReadFilesLog extends FileStreamSourceLog {
  private static final String VERSION = "v" + FileStreamSourceLog.VERSION();
  private static final String PATH = "{\"path\":\"";
  private static final String TIMESTAMP = "\",\"timestamp\":";
  private static final String BATCH = ",\"batchId\":";
  private static final String LISTINGS = "_listings"; // no number: Spark does not look at it

  /**
   * How the files were listed, noted when none of them waited.
   *
   * @param step the newest one of the log: with another, there was more
   * @param everything when all of them were listed, in milliseconds since 1970
   * @param later how often the later ones were since then
   */
  record Listings(long step, long everything, int later) {}

  ReadFilesLog(SparkSession session, String folder) {
    super(FileStreamSourceLog.VERSION(), session, folder);
  }

  @Override
  public void foreachInBatch(long batch, Function1<FileEntry, BoxedUnit> use) {
    if (!read(batch, use::apply)) {
      super.foreachInBatch(batch, use); // it says what is wrong
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
    if (!CompactibleFileStreamLog.isCompactionBatch(batch, compactInterval())) {
      return super.add(batch, entries);
    }
    boolean added = addNewBatchByStream(batch, out -> compact(batch, entries, out));
    if (added) {
      kept().put(batch, entries); // else the batch is looked for among all files
    }
    return added;
  }

  /** Returns what was noted last; null if nothing was, or if it is not of the newest step. */
  Listings listings() {
    Path note = new Path(metadataPath(), LISTINGS);
    if (!fileManager().exists(note)) {
      return null;
    }
    try (InputStream in = fileManager().open(note)) {
      String[] lines = new String(in.readAllBytes(), UTF_8).split("\n");
      Listings noted = new Listings(Long.parseLong(lines[0]), Long.parseLong(lines[1]), Integer.parseInt(lines[2]));
      return getLatestBatchId().contains(noted.step()) ? noted : null;
    } catch (IOException | RuntimeException damaged) {
      return null; // everything is listed, then
    }
  }

  /** Notes how the files were listed; null forgets it. */
  void note(Listings listings) {
    Path note = new Path(metadataPath(), LISTINGS);
    if (listings == null) {
      fileManager().delete(note);
      return;
    }
    try (CancellableFSDataOutputStream out = fileManager().createAtomic(note, true)) {
      String text = listings.step() + "\n" + listings.everything() + "\n" + listings.later() + "\n";
      out.write(text.getBytes(UTF_8));
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Writes the lines of the batches since the last compacted one, that one's too, and then those of {@code entries}. */
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
      // The version is there already.
      ByteArrayOutputStream lines = new ByteArrayOutputStream();
      serialize(entries, lines);
      out.write(lines.toByteArray(), VERSION.length(), lines.size() - VERSION.length());
      return BoxedUnit.UNIT;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Hands over the entries of a batch; returns whether its file is there and of this version. */
  private boolean read(long batch, Consumer<FileEntry> use) {
    if (!fileManager().exists(batchIdToPath(batch))) {
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
        // as below
      }
    }
    return deserialize(new ByteArrayInputStream((VERSION + "\n" + line).getBytes(UTF_8)))[0];
  }

  @SuppressWarnings("unchecked")
  private Map<Object, FileEntry[]> kept() {
    return (Map<Object, FileEntry[]>) InsideSpark.field(FileStreamSourceLog.class, "fileEntryCache", this);
  }
}
