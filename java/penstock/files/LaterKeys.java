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
 * Lists of a folder in S3 only what is behind the last known keys, and everything now and then.
 *
 * <p>A request lists a thousand keys: it begins so far before the last one that a file is found which is a hundred files
 * late. What is later than that, the next listing of everything finds.
 */
final class LaterKeys implements Discovery {
  private static final int OVERLAP = 100;
  private static final Comparator<String> AS_IN_S3 =
      (one, other) ->
          Arrays.compareUnsigned(one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));

  private final Discovery everything;
  private final S3Keys keys;
  private final ReadFilesLog log;
  private final BooleanSupplier plain;
  private final Backfill backfill;
  private final boolean recursive;
  private final Set<String> folders = new HashSet<>(); // in which files count
  private TreeSet<String> last = new TreeSet<>(AS_IN_S3); // the greatest keys, below the root
  private boolean ordered; // whether later files may be looked for behind them
  private boolean changed; // since that was noted
  private long listed; // when everything was, in milliseconds since 1970
  private int later; // listings since then

  /**
   * When everything is listed again.
   *
   * @param interval after so much time
   * @param listings after so many of later files
   * @param guess each time, unless the times of the files show that their keys came in order
   */
  record Backfill(Duration interval, int listings, boolean guess) {}

  /**
   * Finds the files below a root.
   *
   * @param everything lists all that is there
   * @param keys the files below the root
   * @param log what the source has read
   * @param read the URIs of these files
   * @param plain tells after a listing whether each file of a folder counts: not where a sink of Spark keeps a log
   * @param recursive whether the files of each folder count; else those of folders as Spark has listed some
   */
  LaterKeys(
      Discovery everything,
      S3Keys keys,
      ReadFilesLog log,
      Collection<?> read,
      BooleanSupplier plain,
      Backfill backfill,
      boolean recursive) {
    this.everything = everything;
    this.keys = keys;
    this.log = log;
    this.plain = plain;
    this.backfill = backfill;
    this.recursive = recursive;
    ReadFilesLog.Listings noted = log.listings();
    if (noted != null) {
      read.forEach(uri -> know(keys.below(SparkPath.fromUrlString((String) uri))));
      ordered = true;
      listed = noted.everything();
      later = noted.later();
    }
  }

  @Override
  public Found files() {
    changed = true;
    if (!ordered || later >= backfill.listings() || System.currentTimeMillis() - listed > backfill.interval().toMillis()) {
      return all();
    }
    try {
      List<FoundFile> found = keys.after(last.size() < OVERLAP ? null : last.first());
      found.removeIf(file -> isHidden(keys.below(file.path())));
      if (!found.stream().allMatch(file -> folders.contains(folder(keys.below(file.path()))))) {
        return all(); // which tells whether the files of a new folder count
      }
      found.forEach(file -> know(keys.below(file.path())));
      later++;
      return new Found(found, false);
    } catch (IOException failed) {
      return all(); // it says what is wrong
    }
  }

  @Override
  public void planned(long step) {
    if (changed && step >= 0) {
      log.note(ordered ? new ReadFilesLog.Listings(step, listed, later) : null);
    }
    changed = false;
  }

  private Found all() {
    listed = System.currentTimeMillis();
    later = 0;
    ordered = false;
    Found found = everything.files();
    last.clear();
    folders.clear();
    found.files().forEach(file -> know(keys.below(file.path())));
    ordered = plain.getAsBoolean() && (!backfill.guess() || cameInOrder(found.files()));
    return found;
  }

  /** Whether each file would have been found behind the last keys when it came. */
  private boolean cameInOrder(List<FoundFile> files) {
    record Came(long at, String key) {}
    TreeSet<String> before = new TreeSet<>(AS_IN_S3);
    return files.stream()
        .map(file -> new Came(file.modified(), keys.below(file.path())))
        .sorted(Comparator.comparingLong(Came::at).thenComparing(Came::key, AS_IN_S3))
        .allMatch(came -> addGreat(came.key(), before));
  }

  private void know(String key) {
    addGreat(key, last);
    folders.add(folder(key));
  }

  /** Adds a key to the greatest ones, and returns whether it belongs there. */
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

  /** The folder of a key, without the values of partitions: where files of one day count, they do of each day. */
  private String folder(String key) {
    String folder = key.substring(0, key.lastIndexOf('/') + 1);
    return recursive ? "" : folder.replaceAll("=[^/]*/", "=/");
  }
}
