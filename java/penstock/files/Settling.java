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
 * Holds files back that may still be written, until their size and their time have stayed the same for a while.
 *
 * <p>Where a file's time is by this machine's clock, that while may have begun before the file was seen.
 */
public final class Settling {
  /** Stores in which a file appears when all of it is there. */
  private static final Set<String> WHOLE = Set.of("s3", "s3a", "gs");

  private static final Map<String, Settling> OF_SOURCES = new ConcurrentHashMap<>(); // by their place in a checkpoint

  private final long pause; // milliseconds
  private final boolean clock;
  private final Function<FoundFile, FoundFile> again;
  private final Map<SparkPath, Held> held = new HashMap<>();

  /** A file as it was seen, and when it is looked at again, in nanoseconds. */
  private record Held(FoundFile file, long until) {
    boolean isDue() {
      return System.nanoTime() - until >= 0;
    }

    boolean isSame(FoundFile now) {
      return file.size() == now.size() && file.modified() == now.modified();
    }
  }

  /**
   * Holds the files of a source back.
   *
   * @param source its place in the checkpoint
   * @param root the folder of the files
   * @param pause so many milliseconds
   * @param again looks at a file that was found: null if it is gone
   */
  Settling(String source, Path root, long pause, Function<FoundFile, FoundFile> again) {
    this.pause = WHOLE.contains(root.toUri().getScheme()) ? 0 : pause;
    this.clock = ChangedFolders.isLocal(root);
    this.again = again;
    OF_SOURCES.put(source, this);
  }

  /** Returns the URIs of the files that the sources of a checkpoint hold back, or held back when they ended. */
  public static List<String> held(String checkpoint) {
    String sources = new Path(checkpoint).toUri().getPath() + "/sources/";
    return OF_SOURCES.entrySet().stream()
        .filter(each -> new Path(each.getKey()).toUri().getPath().startsWith(sources))
        .flatMap(each -> each.getValue().paths().stream())
        .sorted()
        .toList();
  }

  /**
   * Returns the files that are whole: of those that were found, and of those that are held back.
   *
   * @param all whether these are all files that are there
   */
  synchronized List<FoundFile> whole(Collection<FoundFile> found, boolean all) {
    if (pause == 0) {
      return List.copyOf(found);
    }
    List<FoundFile> whole = new ArrayList<>();
    Map<SparkPath, FoundFile> known = new HashMap<>();
    for (FoundFile file : found) {
      long rest = file.moved() ? 0 : pauseOf(file);
      if (holds(file) && !file.moved()) {
        known.put(file.path(), file);
      } else if (rest == 0) {
        held.remove(file.path());
        whole.add(file);
      } else {
        hold(file, rest);
      }
    }
    for (Held each : held.values().stream().filter(Held::isDue).toList()) {
      FoundFile now = known.get(each.file().path());
      now = now == null && !all ? again.apply(each.file()) : now;
      held.remove(each.file().path());
      if (now != null && each.isSame(now)) {
        whole.add(now);
      } else if (now != null) {
        hold(now, pause);
      }
    }
    return whole;
  }

  synchronized boolean holds(FoundFile file) {
    return held.containsKey(file.path());
  }

  synchronized Collection<FoundFile> files() {
    return held.values().stream().map(Held::file).toList();
  }

  /** Waits until each file that is held back has been left alone for long enough, or was written to. */
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
    long age = clock ? System.currentTimeMillis() - file.modified() : 0;
    return age < 0 ? pause : Math.max(0, pause - age); // a time to come tells nothing
  }
}
