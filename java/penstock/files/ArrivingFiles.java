package penstock.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.FileSourceOptions;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxBytes;
import org.apache.spark.sql.connector.read.streaming.ReadMaxFiles;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamOptions;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceLog;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceOffset;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Spark's file source, which also reports its backlog, can read a changed file again, waits until files are complete,
 * and lists only what has changed.
 *
 * <p>Relies on: Spark's internal {@code FileStreamSource} as its superclass, with {@code seenFiles},
 * {@code sourceHasMetadata} and {@code currentLogOffset}; by reflection, its private fields {@code metadataLog},
 * {@code metadataLogCurrentOffset}, {@code sparkSession} and {@code optionsForInnerDataSource}, its private method
 * {@code fetchAllFiles}, and the private field {@code SeenFilesMap.map}; {@code FileStreamOptions},
 * {@code FileStreamSourceLog}, {@code FileStreamSourceOffset}, {@code FileSourceOptions}, {@code DataSource},
 * {@code SparkPath}, {@code SparkHadoopUtil.isGlobPath} and {@code SparkSession.sessionState}.
 *
 * <p>Without it: the query fails when it starts, with a LinkageError: SPARK_INTERNALS_CHANGED. For a session without
 * these classes see {@link ArrivingFilesProvider}.
 *
 * <p>Only the files of the next batch are chosen here. The log of the files that were read, and so the checkpoint, has
 * Spark's own format.
 */
final class ArrivingFiles extends FileStreamSource implements ReportsSourceMetrics {
  /** The option to read a file again that was modified since it was read. */
  static final String ALLOW_OVERWRITES = "penstock.allowOverwrites";

  /** The option with the seconds after which everything is listed; without it, everything is listed for each batch. */
  static final String BACKFILL = "penstock.backfillSeconds";

  /** The option with the listings after which everything is listed, where the order of the keys is detected. */
  static final String LISTINGS = "penstock.listingsBetweenBackfills";

  /** The option with the seconds for which a file must not have changed; without it, no file waits. */
  static final String SETTLE = "penstock.settleSeconds";

  /** The option to leave the log of the files that were read to Spark's own code. */
  static final String SPARK_LOG = "penstock.sparkLog";

  private static final long NO_MAX_AGE = TimeUnit.DAYS.toMillis(36_500);
  private static final String S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"; // a name: its jar may be missing

  private final FileStreamOptions options;
  private final boolean allowOverwrites;
  private final boolean ignoreMissingFiles;
  private final String folder;
  private final ReadFilesLog log;
  private final Map<?, ?> known; // the modification time of each file that was read, by its URI
  private final Discovery discovery;
  private final Settling settling;
  private final Deque<FoundFile> waiting = new ArrayDeque<>(); // for their batch, in the order of reading
  private boolean availableNow; // files that arrive later are left to the next run
  private boolean waitedForHeld; // and so are files that are still written after a pause
  private long step;
  private long bytesOutstanding;

  /** Streams the files of {@code files}; {@code folder} is that of the source in the checkpoint. */
  ArrivingFiles(DataSource files, DataSource.SourceInfo info, String folder) {
    super(
        (SparkSession) files.sparkSession(),
        files.options().apply("path"),
        files.className(),
        info.schema(),
        info.partitionColumns(),
        emptyFolder(), // there Spark would read its log of files, each entry through a JSON mapper
        files.options());
    options = new FileStreamOptions(files.options());
    Option<String> overwrites = files.options().get(ALLOW_OVERWRITES);
    allowOverwrites = overwrites.isDefined() && Boolean.parseBoolean(overwrites.get());
    ignoreMissingFiles = new FileSourceOptions(files.options()).ignoreMissingFiles();
    this.folder = local(folder);
    log = log(folder, !files.options().get(SPARK_LOG).contains("true"));
    known = (Map<?, ?>) SparkReflection.get(SeenFilesMap.class, "map", seenFiles());
    step = currentLogOffset();
    discovery = discovery(files);
    settling = settling(files, folder);
    if (info.partitionColumns().isEmpty()) {
      disablePartitionInference();
    }
  }

  /** Makes Spark take no columns from the folders of a batch: the source has none. */
  @SuppressWarnings("unchecked")
  private void disablePartitionInference() {
    String field = "optionsForInnerDataSource";
    scala.collection.immutable.Map<String, String> options =
        (scala.collection.immutable.Map<String, String>) SparkReflection.get(FileStreamSource.class, field, this);
    SparkReflection.set(FileStreamSource.class, field, this, options.updated("recursiveFileLookup", "true"));
  }

  private ReadFilesLog log(String folder, boolean accelerated) {
    deleteEmptyFolder((FileStreamSourceLog) SparkReflection.get(FileStreamSource.class, "metadataLog", this));
    SparkSession session = (SparkSession) SparkReflection.get(FileStreamSource.class, "sparkSession", this);
    ReadFilesLog read = new ReadFilesLog(session, folder, accelerated);
    SparkReflection.set(FileStreamSource.class, "metadataLog", this, read);
    Option<Object> latest = read.getLatestBatchId();
    Object offset = latest.isDefined() ? latest.get() : -1L;
    SparkReflection.set(FileStreamSource.class, "metadataLogCurrentOffset", this, offset);
    seenFiles().purge(); // still empty: this sets the time before which files are too old
    for (FileEntry entry : read.restore()) {
      seenFiles().add(entry.sparkPath(), entry.timestamp());
    }
    purgeOld();
    return read;
  }

  /** Removes files older than maxFileAge from those that were read; Spark's purge goes through all of them. */
  private void purgeOld() {
    if (options.maxFileAgeMs() < NO_MAX_AGE) {
      seenFiles().purge();
    }
  }

  /** Returns the path of a local folder, and any other folder as the URI that it is. */
  private static String local(String folder) {
    return folder.startsWith("file:") ? new Path(folder).toUri().getPath() : folder;
  }

  private static String emptyFolder() {
    try {
      return Files.createTempDirectory("penstock-").toUri().toString();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private static void deleteEmptyFolder(FileStreamSourceLog log) {
    try {
      Files.delete(java.nio.file.Path.of(log.metadataPath().toUri().getPath()));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  @Override
  public synchronized void prepareForTriggerAvailableNow() {
    findNew();
    availableNow = true;
  }

  @Override
  public synchronized Offset latestOffset(Offset start, ReadLimit limit) {
    if (!availableNow && (options.latestFirst() || isBelowDiscardRatio(limit))) {
      findNew(); // otherwise enough files wait, which come first anyway
    }
    if (availableNow && waiting.isEmpty() && !waitedForHeld) {
      awaitHeld();
    }
    logNextBatch(limit);
    if (waiting.isEmpty() && settling.files().isEmpty()) {
      discovery.onAllLogged(step);
    }
    return step < 0 ? null : new FileStreamSourceOffset(step);
  }

  @Override
  public Dataset<Row> getBatch(
      Option<org.apache.spark.sql.execution.streaming.Offset> start, org.apache.spark.sql.execution.streaming.Offset end) {
    Dataset<Row> rows = super.getBatch(start, end);
    long first = start.isDefined() ? FileStreamSourceOffset.apply(start.get()).logOffset() + 1 : 0;
    long last = FileStreamSourceOffset.apply(end).logOffset();
    if (first <= last) {
      Tuple2<Object, FileEntry[]>[] logged = log.get(Option.apply(first), Option.apply(last));
      BatchFiles.compare(folder, toString(), last, logged, rows, ignoreMissingFiles);
    }
    return rows;
  }

  /** Returns the backlog, under Auto Loader's names. Called by Spark at the end of a batch. */
  @Override
  public synchronized Map<String, String> metrics(Optional<Offset> latestConsumed) {
    Collection<FoundFile> held = settling.files();
    return Map.of(
        "numFilesOutstanding", String.valueOf(waiting.size() + held.size()),
        "numBytesOutstanding", String.valueOf(bytesOutstanding + bytes(held)));
  }

  @Override
  public void stop() {
    super.stop();
    discovery.close();
  }

  private void findNew() {
    purgeOld();
    Discovery.Found found = discovery.files();
    Map<SparkPath, FoundFile> files = new LinkedHashMap<>();
    if (!found.all()) {
      waiting.stream().filter(discovery::exists).forEach(file -> files.put(file.path(), file));
    }
    List<FoundFile> arrived = found.files().stream().filter(this::isNew).toList();
    settling.settled(arrived, found.all()).forEach(file -> files.put(file.path(), file));
    enqueue(files.values());
  }

  /** Waits for the files that may have been written when this run started, and adds those that have not changed. */
  private void awaitHeld() {
    waitedForHeld = true;
    if (settling.files().isEmpty()) {
      return;
    }
    try {
      settling.await();
    } catch (InterruptedException stopped) {
      throw SparkReflection.unchecked(stopped); // Spark expects it from a query that it has stopped
    }
    Discovery.Found found = discovery.files();
    enqueue(settling.settled(found.files().stream().filter(settling::holds).toList(), found.all()));
  }

  /** Lets files wait for their batch, sorted by their time. */
  private void enqueue(Collection<FoundFile> files) {
    Comparator<FoundFile> order = Comparator.comparingLong(FoundFile::modified);
    waiting.clear();
    files.stream().sorted(options.latestFirst() ? order.reversed() : order).forEach(waiting::add);
    bytesOutstanding = bytes(waiting);
  }

  private static long bytes(Collection<FoundFile> files) {
    return files.stream().mapToLong(FoundFile::size).sum();
  }

  private Settling settling(DataSource files, String folder) {
    Option<String> seconds = files.options().get(SETTLE);
    Path path = new Path(files.options().apply("path"));
    FileSystem system = system(path, files);
    long pause = seconds.isDefined() ? TimeUnit.SECONDS.toMillis(Long.parseLong(seconds.get())) : 0;
    return new Settling(folder, system.makeQualified(path), pause, file -> currentStatus(file, system));
  }

  private static FoundFile currentStatus(FoundFile file, FileSystem system) {
    try {
      FileStatus now = system.getFileStatus(file.path().toPath());
      return new FoundFile(file.path(), now.getLen(), now.getModificationTime());
    } catch (FileNotFoundException gone) {
      return null;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private Discovery discovery(DataSource files) {
    Discovery everything = () -> new Discovery.Found(listEverything(), true);
    Path path = new Path(files.options().apply("path"));
    boolean filtered = files.options().contains("pathGlobFilter") || SparkHadoopUtil.get().isGlobPath(path);
    if (allowOverwrites || filtered || !files.options().contains(BACKFILL)) {
      return everything; // the time of a folder does not change when its files are written to
    }
    FileSystem system = system(path, files);
    Path root = system.makeQualified(path);
    Duration backfill = Duration.ofSeconds(Long.parseLong(files.options().apply(BACKFILL)));
    if (ChangedFolders.serves(root)) {
      return new ChangedFolders(everything, root, known::containsKey, this::hasNoSinkLog, backfill.toNanos());
    }
    if (!system.getClass().getName().equals(S3A)) {
      return everything;
    }
    Option<String> listings = files.options().get(LISTINGS);
    int between = listings.isDefined() ? Integer.parseInt(listings.get()) : Integer.MAX_VALUE;
    IncrementalS3Listing.Backfill when =
        new IncrementalS3Listing.Backfill(backfill, between, listings.isDefined());
    boolean recursive = files.options().get("recursiveFileLookup").contains("true");
    S3Keys keys = new S3Keys(system, root);
    return new IncrementalS3Listing(everything, keys, log, known.keySet(), this::hasNoSinkLog, when, recursive);
  }

  static FileSystem system(Path path, DataSource files) {
    try {
      return path.getFileSystem(((SparkSession) files.sparkSession()).sessionState().newHadoopConf());
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Lists by Spark's own rules for hidden names, folders of partitions, and the log of a sink. */
  private List<FoundFile> listEverything() {
    List<FoundFile> files = new ArrayList<>();
    Seq<?> listed = (Seq<?>) SparkReflection.call(FileStreamSource.class, "fetchAllFiles", this);
    for (Iterator<?> each = listed.iterator(); each.hasNext(); ) {
      Product entry = (Product) each.next(); // NewFileEntry, a private class
      files.add(
          new FoundFile(
              (SparkPath) entry.productElement(0), (Long) entry.productElement(1), (Long) entry.productElement(2)));
    }
    return files;
  }

  /** Whether a listing has shown that no sink of Spark wrote the folder; the log of a sink would name the files. */
  private boolean hasNoSinkLog() {
    return sourceHasMetadata().contains(false); // empty before there is a file
  }

  private boolean isNew(FoundFile file) {
    if (seenFiles().isNewFile(file.path(), file.modified())) {
      return true;
    }
    // Another time, not only a later one: a file that is moved here keeps its time.
    Object before = allowOverwrites ? known.get(file.path().urlEncoded()) : null;
    return before != null && (Long) before != file.modified();
  }

  /** Writes the files of the next batch to the log, if any wait. */
  private void logNextBatch(ReadLimit limit) {
    List<FoundFile> batch = take(limit);
    if (batch.isEmpty()) {
      return;
    }
    step++;
    FileEntry[] entries = new FileEntry[batch.size()];
    for (int index = 0; index < entries.length; index++) {
      FoundFile file = batch.get(index);
      seenFiles().add(file.path(), file.modified());
      entries[index] = new FileEntry(file.path().urlEncoded(), file.modified(), step);
    }
    if (!log.add(step, entries)) {
      throw new IllegalStateException("Another query uses this checkpoint: it has written step " + step + " of a source");
    }
  }

  /** Takes the files of a batch from those that wait: at least one, as Spark does. */
  private List<FoundFile> take(ReadLimit limit) {
    long maxFiles = limit instanceof ReadMaxFiles ? ((ReadMaxFiles) limit).maxFiles() : Long.MAX_VALUE;
    long maxBytes = limit instanceof ReadMaxBytes ? ((ReadMaxBytes) limit).maxBytes() : Long.MAX_VALUE;
    List<FoundFile> batch = new ArrayList<>();
    long bytes = 0;
    while (!waiting.isEmpty() && batch.size() < maxFiles) {
      bytes += waiting.peek().size();
      if (bytes > maxBytes && !batch.isEmpty()) {
        break;
      }
      batch.add(waiting.poll());
    }
    bytesOutstanding -= bytes(batch);
    return batch;
  }

  /** Whether so little of a batch waits that Spark would list the files again. */
  private boolean isBelowDiscardRatio(ReadLimit limit) {
    float share = options.discardCachedInputRatio();
    if (waiting.isEmpty()) {
      return true;
    }
    if (limit instanceof ReadMaxFiles) {
      return waiting.size() < ((ReadMaxFiles) limit).maxFiles() * share;
    }
    return !(limit instanceof ReadMaxBytes) || bytesOutstanding < ((ReadMaxBytes) limit).maxBytes() * share;
  }
}
