package penstock.files;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.util.HadoopFSUtils;

/**
 * Lists only the keys of an S3 folder that come after the last known ones, and everything at intervals.
 *
 * <p>Relies on: {@code SparkPath} and {@code HadoopFSUtils.shouldFilterOutPathName} of Spark, which are internal; and
 * what {@link S3Keys} relies on.
 *
 * <p>Without it: with the accelerator {@code file_listing} off everything is listed for each batch; a changed class or
 * method is a LinkageError, which ends the query.
 *
 * <p>S3 lists a thousand keys per request. A listing starts a hundred keys before the last one, so a file is found if
 * at most a hundred files with greater keys came before it; later ones are found when everything is listed.
 */
final class IncrementalS3Listing implements Discovery {
  private static final int OVERLAP = 100;
  private static final Comparator<String> AS_IN_S3 =
      (one, other) ->
          Arrays.compareUnsigned(one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));

  private final Discovery everything;
  private final S3Keys keys;
  private final ReadFilesLog log;
  private final BooleanSupplier noSinkLog;
  private final Backfill backfill;
  private final boolean recursive;
  private final Set<String> folders = new HashSet<>(); // whose files count
  private TreeSet<String> last = new TreeSet<>(AS_IN_S3); // the greatest keys, below the root
  private boolean ordered; // whether the next listing may start there
  private boolean changed; // since the state was saved
  private long listed; // when everything was, in milliseconds since 1970
  private int incremental; // listings since then

  /**
   * When everything is listed again.
   *
   * @param interval after so much time
   * @param listings after so many incremental listings
   * @param detectOrder each time, unless the times of the files show that their keys came in order
   */
  record Backfill(Duration interval, int listings, boolean detectOrder) {}

  /**
   * Finds the files below a root.
   *
   * @param everything lists all files
   * @param keys the files below the root
   * @param log what the source has read
   * @param read the URIs of these files
   * @param noSinkLog returns after a listing whether each file of a folder counts: not where a sink of Spark keeps a
   *     log
   * @param recursive whether the files of each folder count; otherwise only those of folders in which Spark found some
   */
  IncrementalS3Listing(
      Discovery everything,
      S3Keys keys,
      ReadFilesLog log,
      Collection<?> read,
      BooleanSupplier noSinkLog,
      Backfill backfill,
      boolean recursive) {
    this.everything = everything;
    this.keys = keys;
    this.log = log;
    this.noSinkLog = noSinkLog;
    this.backfill = backfill;
    this.recursive = recursive;
    ReadFilesLog.ListingState saved = log.listingState();
    if (saved != null) {
      read.forEach(uri -> add(keys.below(SparkPath.fromUrlString((String) uri))));
      ordered = true;
      listed = saved.everything();
      incremental = saved.incremental();
    }
  }

  @Override
  public Found files() {
    changed = true;
    if (!ordered
        || incremental >= backfill.listings()
        || System.currentTimeMillis() - listed > backfill.interval().toMillis()) {
      return all();
    }
    try {
      List<FoundFile> found = keys.after(last.size() < OVERLAP ? null : last.first());
      found.removeIf(file -> isHidden(keys.below(file.path())));
      if (!found.stream().allMatch(file -> folders.contains(folder(keys.below(file.path()))))) {
        return all(); // shows whether the files of a new folder count
      }
      found.forEach(file -> add(keys.below(file.path())));
      incremental++;
      return new Found(found, false);
    } catch (IOException failed) {
      return all(); // reports what is wrong
    }
  }

  @Override
  public void onAllLogged(long step) {
    if (changed && step >= 0) {
      log.save(ordered ? new ReadFilesLog.ListingState(step, listed, incremental) : null);
    }
    changed = false;
  }

  private Found all() {
    listed = System.currentTimeMillis();
    incremental = 0;
    ordered = false;
    Found found = everything.files();
    last.clear();
    folders.clear();
    found.files().forEach(file -> add(keys.below(file.path())));
    ordered = noSinkLog.getAsBoolean() && (!backfill.detectOrder() || cameInOrder(found.files()));
    return found;
  }

  /** Whether each file would have been found after the last keys when it came. */
  private boolean cameInOrder(List<FoundFile> files) {
    record Arrival(long time, String key) {}
    TreeSet<String> before = new TreeSet<>(AS_IN_S3);
    return files.stream()
        .map(file -> new Arrival(file.modified(), keys.below(file.path())))
        .sorted(Comparator.comparingLong(Arrival::time).thenComparing(Arrival::key, AS_IN_S3))
        .allMatch(arrival -> addGreat(arrival.key(), before));
  }

  private void add(String key) {
    addGreat(key, last);
    folders.add(folder(key));
  }

  /** Adds a key to the greatest ones, and returns whether it is one of them. */
  private static boolean addGreat(String key, TreeSet<String> greatest) {
    if (greatest.size() == OVERLAP && AS_IN_S3.compare(key, greatest.first()) < 0) {
      return false;
    }
    if (greatest.add(key) && greatest.size() > OVERLAP) {
      greatest.pollFirst();
    }
    return true;
  }

  private static boolean isHidden(String key) {
    return Arrays.stream(key.split("/")).anyMatch(HadoopFSUtils::shouldFilterOutPathName);
  }

  /** The folder of a key without the values of partitions: if the files of one day count, those of each day do. */
  private String folder(String key) {
    String folder = key.substring(0, key.lastIndexOf('/') + 1);
    return recursive ? "" : folder.replaceAll("=[^/]*/", "=/");
  }
}
