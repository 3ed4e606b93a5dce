package penstock.files;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;

/**
 * Holds back files that may still be written, until their size and modification time have not changed for a while.
 *
 * <p>Relies on: Spark's internal {@code SparkPath}.
 *
 * <p>Without it: a LinkageError when {@link ArrivingFiles} starts. In a session without these classes Auto Loader
 * raises AUTO_LOADER_UNSUPPORTED_OPTION for a settle time, and {@code unsettled_files} returns none.
 *
 * <p>Where a modification time is from this machine's clock, the while may have started before the file was listed.
 */
public final class Settling {
  /** Schemes of stores in which a file appears when it is complete. */
  private static final Set<String> ATOMIC = Set.of("s3", "s3a", "gs");

  private static final Map<String, Settling> BY_SOURCE = new ConcurrentHashMap<>(); // by its folder in a checkpoint

  private final long pause; // milliseconds
  private final boolean sameClock;
  private final Function<FoundFile, FoundFile> currentStatus;
  private final Map<SparkPath, Held> held = new HashMap<>();

  /** A file as it was listed, and when it is checked again, by System.nanoTime. */
  private record Held(FoundFile file, long until) {
    boolean isDue() {
      return System.nanoTime() - until >= 0;
    }

    boolean isUnchanged(FoundFile now) {
      return file.size() == now.size() && file.modified() == now.modified();
    }
  }

  /**
   * Holds back files of a source.
   *
   * @param source its folder in the checkpoint
   * @param root the folder of the files
   * @param pause for so many milliseconds
   * @param currentStatus returns the present size and time of a listed file: null if it is deleted
   */
  Settling(String source, Path root, long pause, Function<FoundFile, FoundFile> currentStatus) {
    this.pause = ATOMIC.contains(root.toUri().getScheme()) ? 0 : pause;
    this.sameClock = ChangedFolders.isLocal(root);
    this.currentStatus = currentStatus;
    BY_SOURCE.put(source, this);
  }

  /** Returns the URIs of the files that the sources of a checkpoint hold back, or held back when they ended. */
  public static List<String> held(String checkpoint) {
    String sources = new Path(checkpoint).toUri().getPath() + "/sources/";
    return BY_SOURCE.entrySet().stream()
        .filter(each -> new Path(each.getKey()).toUri().getPath().startsWith(sources))
        .flatMap(each -> each.getValue().paths().stream())
        .sorted()
        .toList();
  }

  /**
   * Returns the settled files: of those that were found, and of those that are held back.
   *
   * @param all whether {@code found} are all files that exist
   */
  synchronized List<FoundFile> settled(Collection<FoundFile> found, boolean all) {
    if (pause == 0) {
      return List.copyOf(found);
    }
    List<FoundFile> settled = new ArrayList<>();
    Map<SparkPath, FoundFile> listed = new HashMap<>();
    for (FoundFile file : found) {
      long rest = file.moved() ? 0 : pauseOf(file);
      if (holds(file) && !file.moved()) {
        listed.put(file.path(), file);
      } else if (rest == 0) {
        held.remove(file.path());
        settled.add(file);
      } else {
        hold(file, rest);
      }
    }
    for (Held each : held.values().stream().filter(Held::isDue).toList()) {
      FoundFile now = listed.get(each.file().path());
      now = now == null && !all ? currentStatus.apply(each.file()) : now;
      held.remove(each.file().path());
      if (now != null && each.isUnchanged(now)) {
        settled.add(now);
      } else if (now != null) {
        hold(now, pause);
      }
    }
    return settled;
  }

  synchronized boolean holds(FoundFile file) {
    return held.containsKey(file.path());
  }

  synchronized Collection<FoundFile> files() {
    return held.values().stream().map(Held::file).toList();
  }

  /** Waits until each file that is held back is due to be checked. */
  void await() throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(longestPause());
  }

  private synchronized long longestPause() {
    return held.values().stream().mapToLong(each -> each.until() - System.nanoTime()).max().orElse(0);
  }

  private synchronized Set<String> paths() {
    return held.keySet().stream().map(SparkPath::urlEncoded).collect(Collectors.toSet());
  }

  private void hold(FoundFile file, long milliseconds) {
    held.put(file.path(), new Held(file, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds)));
  }

  private long pauseOf(FoundFile file) {
    long age = sameClock ? System.currentTimeMillis() - file.modified() : 0;
    return age < 0 ? pause : Math.max(0, pause - age); // a time in the future is no age
  }
}
