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
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Spark's stream of files, which also tells how much it has not read yet, and can read a changed file again.
 *
 * <p>Only what the next batch reads is decided here. The log of the files that were read, and so the checkpoint, is
 * Spark's own.
 */
final class ArrivingFiles extends FileStreamSource implements ReportsSourceMetrics {
  /** The option with which a file that was modified since it was read is read again. */
  static final String ALLOW_OVERWRITES = "penstock.allowOverwrites";

  /** The option with the seconds after which everything is listed; without it, everything is listed each time. */
  static final String BACKFILL = "penstock.backfillSeconds";

  /** The option with the listings after which everything is listed, where the order of the files is found out. */
  static final String LISTINGS = "penstock.listingsBetweenBackfills";

  /** The option with the seconds for which a file must have been left alone; without it, none waits. */
  static final String SETTLE = "penstock.settleSeconds";

  private static final long NEVER_TOO_OLD = TimeUnit.DAYS.toMillis(36_500);
  private static final String S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"; // its classes are there when it is

  private final FileStreamOptions options;
  private final boolean allowOverwrites;
  private final boolean mayBeGone;
  private final String folder;
  private final ReadFilesLog log;
  private final Map<?, ?> known; // by the path of each file that was read, when that had been modified
  private final Discovery discovery;
  private final Settling settling;
  private final Deque<FoundFile> waiting = new ArrayDeque<>(); // in the order of reading
  private boolean availableNow; // what arrives later is left to the next run
  private boolean awaited; // and so is what is still written after a pause
  private long step;
  private long bytesOutstanding;

  /** Streams what {@code files} names; {@code folder} is the place of the source in the checkpoint. */
  ArrivingFiles(DataSource files, DataSource.SourceInfo info, String folder) {
    super(
        (SparkSession) files.sparkSession(),
        files.options().apply("path"),
        files.className(),
        info.schema(),
        info.partitionColumns(),
        emptyFolder(), // Spark would read its log of files there, one by one through a mapper of JSON
        files.options());
    options = new FileStreamOptions(files.options());
    Option<String> asked = files.options().get(ALLOW_OVERWRITES);
    allowOverwrites = asked.isDefined() && Boolean.parseBoolean(asked.get());
    mayBeGone = new FileSourceOptions(files.options()).ignoreMissingFiles();
    this.folder = local(folder);
    log = log(folder);
    known = (Map<?, ?>) InsideSpark.field(SeenFilesMap.class, "map", seenFiles());
    step = currentLogOffset();
    discovery = discovery(files);
    settling = settling(files, folder);
    if (info.partitionColumns().isEmpty()) {
      readPlainly();
    }
  }

  /** Has folders of a batch name no columns, which the source would not expect. */
  @SuppressWarnings("unchecked")
  private void readPlainly() {
    String field = "optionsForInnerDataSource";
    scala.collection.immutable.Map<String, String> options =
        (scala.collection.immutable.Map<String, String>) InsideSpark.field(FileStreamSource.class, field, this);
    InsideSpark.set(FileStreamSource.class, field, this, options.updated("recursiveFileLookup", "true"));
  }

  private ReadFilesLog log(String folder) {
    deleteEmptyFolder((FileStreamSourceLog) InsideSpark.field(FileStreamSource.class, "metadataLog", this));
    ReadFilesLog read = new ReadFilesLog((SparkSession) InsideSpark.field(FileStreamSource.class, "sparkSession", this), folder);
    InsideSpark.set(FileStreamSource.class, "metadataLog", this, read);
    Option<Object> latest = read.getLatestBatchId();
    InsideSpark.set(FileStreamSource.class, "metadataLogCurrentOffset", this, latest.isDefined() ? latest.get() : -1L);
    seenFiles().purge(); // of nothing yet: it sets what is too old
    for (FileEntry entry : read.restore()) {
      seenFiles().add(entry.sparkPath(), entry.timestamp());
    }
    forgetOld();
    return read;
  }

  /** Forgets files by maxFileAge, which looks at each that was ever read. */
  private void forgetOld() {
    if (options.maxFileAgeMs() < NEVER_TOO_OLD) {
      seenFiles().purge();
    }
  }

  /** A folder of a disk as its path, anything else as the URI that it is. */
  private static String local(String folder) {
    return folder.startsWith("file:") ? new Path(folder).toUri().getPath() : folder;
  }

  private static String emptyFolder() {
    try {
      return Files.createTempDirectory("penstock-").toUri().toString();
    } catch (IOException cannot) {
      throw new UncheckedIOException(cannot);
    }
  }

  private static void deleteEmptyFolder(FileStreamSourceLog log) {
    try {
      Files.delete(java.nio.file.Path.of(log.metadataPath().toUri().getPath()));
    } catch (IOException cannot) {
      throw new UncheckedIOException(cannot);
    }
  }

  @Override
  public synchronized void prepareForTriggerAvailableNow() {
    findNew();
    availableNow = true;
  }

  @Override
  public synchronized Offset latestOffset(Offset start, ReadLimit limit) {
    if (!availableNow && (options.latestFirst() || isLittle(limit))) {
      findNew(); // else new files wait behind those that were found before, which come first anyway
    }
    if (availableNow && waiting.isEmpty() && !awaited) {
      awaitHeld();
    }
    plan(limit);
    if (waiting.isEmpty() && settling.files().isEmpty()) {
      discovery.planned(step);
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
      BatchFiles.compare(folder, toString(), last, log.get(Option.apply(first), Option.apply(last)), rows, mayBeGone);
    }
    return rows;
  }

  /** Called by Spark at the end of a batch; the names are those of Auto Loader. */
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
    forgetOld();
    Discovery.Found found = discovery.files();
    Map<SparkPath, FoundFile> files = new LinkedHashMap<>();
    if (!found.all()) {
      waiting.stream().filter(discovery::isThere).forEach(file -> files.put(file.path(), file));
    }
    List<FoundFile> arrived = found.files().stream().filter(this::isNew).toList();
    settling.whole(arrived, found.all()).forEach(file -> files.put(file.path(), file));
    await(files.values());
  }

  /** Reads, of the files that may have been written at the start, those that are left alone since then. */
  private void awaitHeld() {
    awaited = true;
    if (settling.files().isEmpty()) {
      return;
    }
    try {
      settling.await();
    } catch (InterruptedException stopped) {
      throw InsideSpark.thrown(stopped); // by which Spark knows that it has ended the query
    }
    Discovery.Found found = discovery.files();
    await(settling.whole(found.files().stream().filter(settling::holds).toList(), found.all()));
  }

  /** Has files wait for their batch, in their order. */
  private void await(Collection<FoundFile> files) {
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
    return new Settling(folder, system.makeQualified(path), pause, file -> again(file, system));
  }

  private static FoundFile again(FoundFile file, FileSystem system) {
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
    boolean chosen = files.options().contains("pathGlobFilter") || SparkHadoopUtil.get().isGlobPath(path);
    if (allowOverwrites || chosen || !files.options().contains(BACKFILL)) {
      return everything; // the time of a folder does not tell what is written to its files
    }
    FileSystem system = system(path, files);
    Path root = system.makeQualified(path);
    Duration backfill = Duration.ofSeconds(Long.parseLong(files.options().apply(BACKFILL)));
    if (ChangedFolders.serves(root)) {
      return new ChangedFolders(everything, root, known::containsKey, this::isPlain, backfill.toNanos());
    }
    if (!system.getClass().getName().equals(S3A)) {
      return everything;
    }
    Option<String> listings = files.options().get(LISTINGS);
    int between = listings.isDefined() ? Integer.parseInt(listings.get()) : Integer.MAX_VALUE;
    LaterKeys.Backfill when = new LaterKeys.Backfill(backfill, between, listings.isDefined());
    boolean recursive = files.options().get("recursiveFileLookup").contains("true");
    S3Keys keys = new S3Keys(system, root);
    return new LaterKeys(everything, keys, log, known.keySet(), this::isPlain, when, recursive);
  }

  static FileSystem system(Path path, DataSource files) {
    try {
      return path.getFileSystem(((SparkSession) files.sparkSession()).sessionState().newHadoopConf());
    } catch (IOException cannot) {
      throw new UncheckedIOException(cannot);
    }
  }

  /** By Spark's own rules: names that are hidden, folders that name partitions, what another stream has committed. */
  private List<FoundFile> listEverything() {
    List<FoundFile> files = new ArrayList<>();
    Seq<?> listed = (Seq<?>) InsideSpark.call(FileStreamSource.class, "fetchAllFiles", this);
    for (Iterator<?> each = listed.iterator(); each.hasNext(); ) {
      Product entry = (Product) each.next(); // a class that only Scala knows
      files.add(
          new FoundFile(
              (SparkPath) entry.productElement(0), (Long) entry.productElement(1), (Long) entry.productElement(2)));
    }
    return files;
  }

  /** Whether the listing has shown that no sink of Spark wrote the folder: of one that did, its log names the files. */
  private boolean isPlain() {
    return sourceHasMetadata().contains(false); // not known before there is a file
  }

  private boolean isNew(FoundFile file) {
    if (seenFiles().isNewFile(file.path(), file.modified())) {
      return true;
    }
    // Another time, not a later one: a file that is moved here keeps its own.
    Object before = allowOverwrites ? known.get(file.path().urlEncoded()) : null;
    return before != null && (Long) before != file.modified();
  }

  /** Notes in the log what the next batch reads, if anything waits. */
  private void plan(ReadLimit limit) {
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

  /** Takes a batch from what waits: at least one file, as Spark does. */
  private List<FoundFile> take(ReadLimit limit) {
    long mostFiles = limit instanceof ReadMaxFiles ? ((ReadMaxFiles) limit).maxFiles() : Long.MAX_VALUE;
    long mostBytes = limit instanceof ReadMaxBytes ? ((ReadMaxBytes) limit).maxBytes() : Long.MAX_VALUE;
    List<FoundFile> batch = new ArrayList<>();
    long bytes = 0;
    while (!waiting.isEmpty() && batch.size() < mostFiles) {
      bytes += waiting.peek().size();
      if (bytes > mostBytes && !batch.isEmpty()) {
        break;
      }
      batch.add(waiting.poll());
    }
    bytesOutstanding -= bytes(batch);
    return batch;
  }

  /** Whether what waits is so little of a batch that listing again may add to it. */
  private boolean isLittle(ReadLimit limit) {
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
