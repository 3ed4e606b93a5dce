package penstock.files;

import java.io.IOException;
import java.net.URI;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.util.HadoopFSUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lists only those folders of a local disk whose change time (ctime) says that a file was added, deleted or renamed.
 *
 * <p>Relies on: the JDK's file attribute {@code unix:ctime}, which is not documented; {@code SparkPath} and
 * {@code HadoopFSUtils.shouldFilterOutPathName} of Spark, which are internal.
 *
 * <p>Without it: without the attribute {@code serves} returns false, and {@link ArrivingFiles} lists everything for
 * each batch, as it does with the accelerator {@code file_listing} off; a changed class or method of Spark is a
 * LinkageError, which ends the query.
 *
 * <p>A process cannot set a ctime: a file that is moved in with an old modification time is found, also in a folder
 * with an old one. In all other cases, such as a new folder, everything is listed.
 *
 * <p>In a root that has files only, {@link FolderWatcher} reports the new names, and the ctime is checked only now and
 * then.
 */
final class ChangedFolders implements Discovery {
  /** File systems with a precise ctime from the clock of this machine. */
  private static final Set<String> LOCAL = Set.of("apfs", "btrfs", "ext4", "overlay", "tmpfs", "xfs", "zfs");

  private static final URI ROOT = URI.create("file:///");
  private static final String CHANGE_TIME = "unix:ctime";
  private static final String SINK_LOG = "_spark_metadata";
  private static final long TICK = 250; // milliseconds; two changes in a tick of the system's clock have one ctime

  /** The ctime of a watched root is checked after this time, or this many times the duration of a listing if longer. */
  private static final long WATCHED = TimeUnit.MINUTES.toNanos(1);

  private static final long LISTINGS = 1000;

  private static final Logger LOG = LoggerFactory.getLogger(ChangedFolders.class);

  private final Discovery everything;
  private final Path root;
  private final Predicate<String> read;
  private final BooleanSupplier noSinkLog;
  private final long backfill;
  private Map<java.nio.file.Path, Folder> folders; // null if everything is to be listed
  private boolean flat; // whether the root has no folders, so that it was listed here and not by Spark
  private boolean nested; // whether files in folders of the root count: they do where folders name partitions
  private long listed; // when everything was, by System.nanoTime
  private FolderWatcher watcher; // of a flat root, where the system has one
  private boolean watchFailed;
  private long namesListed; // when the names of a folder were listed last, by System.nanoTime
  private long listingDuration; // of the names, in nanoseconds

  /**
   * Finds the files below {@code root}.
   *
   * @param everything lists all files
   * @param read returns whether the file with a URI was read
   * @param noSinkLog returns after a listing whether each file of a folder counts: not where a sink of Spark keeps a
   *     log
   * @param backfill after so many nanoseconds everything is listed again
   */
  ChangedFolders(Discovery everything, Path root, Predicate<String> read, BooleanSupplier noSinkLog, long backfill) {
    this.everything = everything;
    this.root = qualified(root.toUri().getPath());
    this.read = read;
    this.noSinkLog = noSinkLog;
    this.backfill = backfill;
  }

  /** Returns whether the ctime of folders is reliable there. */
  static boolean serves(Path root) {
    try {
      java.nio.file.Path folder = local(root);
      return "file".equals(root.toUri().getScheme())
          && Files.isDirectory(folder)
          && isLocal(root)
          && Files.getAttribute(folder, CHANGE_TIME) instanceof FileTime;
    } catch (IOException | RuntimeException unknown) {
      return false;
    }
  }

  /** Returns whether times of files there, or below the nearest folder that exists, are from this machine's clock. */
  static boolean isLocal(Path root) {
    try {
      java.nio.file.Path existing = local(root);
      while (!Files.exists(existing)) { // a glob, for example
        existing = existing.getParent();
      }
      return "file".equals(root.toUri().getScheme()) && LOCAL.contains(Files.getFileStore(existing).type());
    } catch (IOException | RuntimeException unknown) {
      return false;
    }
  }

  @Override
  public boolean exists(FoundFile file) {
    return Files.exists(local(file.path().toPath()));
  }

  @Override
  public Found files() {
    if (folders == null || System.nanoTime() - listed > backfill) {
      return all();
    }
    try {
      List<FoundFile> found = new ArrayList<>();
      return (watcher == null ? addNew(found) : addWatched(found)) ? new Found(found, false) : all();
    } catch (IOException | DirectoryIteratorException gone) {
      return all(); // reports what is wrong
    }
  }

  @Override
  public void close() {
    if (watcher != null) {
      watcher.close();
    }
    watcher = null;
  }

  /** Adds the new files of a watched root; returns false if everything must be listed. */
  private boolean addWatched(List<FoundFile> found) throws IOException {
    Set<java.nio.file.Path> names = watcher.take();
    if (names == null || System.nanoTime() - namesListed > Math.max(WATCHED, LISTINGS * listingDuration)) {
      return addNew(found);
    }
    List<java.nio.file.Path> children = names.stream().map(local(root)::resolve).toList();
    List<FoundFile> named = new ArrayList<>();
    boolean complete = addNamed(children, root, named);
    Set<java.nio.file.Path> written = watcher.written(); // after the attributes of each file were read
    named.forEach(file -> found.add(isMoved(file, written) ? file.asMoved() : file));
    return complete;
  }

  /** Whether a file had its content when its name appeared; an empty one may be about to be written. */
  private static boolean isMoved(FoundFile file, Set<java.nio.file.Path> written) {
    return file.size() > 0 && !written.contains(java.nio.file.Path.of(file.path().toPath().getName()));
  }

  /** Adds the new files of the folders that have changed; returns false if everything must be listed. */
  private boolean addNew(List<FoundFile> found) throws IOException {
    for (Map.Entry<java.nio.file.Path, Folder> each : folders.entrySet()) {
      Folder now = Folder.of(each.getKey(), each.getValue().path());
      if (each.getValue().mayDiffer(now)) {
        if (!addFiles(each.getKey(), now.path(), found)) {
          return false;
        }
        each.setValue(now);
      }
    }
    return true;
  }

  /** Adds the new files of a folder; returns false if everything must be listed, as for a new folder. */
  private boolean addFiles(java.nio.file.Path folder, Path path, List<FoundFile> found) throws IOException {
    namesListed = System.nanoTime();
    try (DirectoryStream<java.nio.file.Path> children = Files.newDirectoryStream(folder)) {
      return addNamed(children, path, found);
    } finally {
      listingDuration = System.nanoTime() - namesListed;
    }
  }

  private boolean addNamed(Iterable<java.nio.file.Path> children, Path path, List<FoundFile> found)
      throws IOException {
    String uri = path.toUri() + "/";
    for (java.nio.file.Path child : children) {
      String name = child.getFileName().toString();
      if (flat && name.equals(SINK_LOG)) {
        return false;
      }
      if (HadoopFSUtils.shouldFilterOutPathName(name) || folders.containsKey(child)) {
        continue;
      }
      SparkPath named =
          needsNoEscape(name) ? SparkPath.fromUrlString(uri + name) : SparkPath.fromPath(inside(path, name));
      if (read.test(named.urlEncoded())) {
        continue;
      }
      BasicFileAttributes file;
      try {
        file = Files.readAttributes(child, BasicFileAttributes.class);
      } catch (NoSuchFileException gone) {
        continue;
      }
      if (file.isDirectory() || !nested && !path.equals(root)) {
        return false;
      }
      found.add(new FoundFile(named, file.size(), file.lastModifiedTime().toMillis()));
    }
    return true;
  }

  private Found all() {
    listed = System.nanoTime();
    Found found = flatRoot();
    return found == null ? allBySpark() : found;
  }

  /** Returns all unread files of a root without folders; null if it has folders, or the log of a sink. */
  private Found flatRoot() {
    List<FoundFile> found = new ArrayList<>();
    folders = new HashMap<>();
    flat = true;
    watch(); // before the listing: files that arrive during it are reported later
    try {
      folders.put(local(root), Folder.of(local(root), root)); // before the listing, for the same reason
      if (addFiles(local(root), root, found)) {
        return new Found(found, true);
      }
    } catch (IOException | DirectoryIteratorException failed) {
      // Spark's listing reports what is wrong
    }
    flat = false;
    close();
    return null;
  }

  /** Starts to watch the root, where the system supports it. */
  private void watch() {
    if (watcher != null || watchFailed || !FolderWatcher.isSupported()) {
      return;
    }
    try {
      watcher = FolderWatcher.of(local(root));
    } catch (NoSuchFileException gone) {
      // the listing reports it
    } catch (IOException tooMany) {
      watchFailed = true;
      LOG.warn(
          "New files in {} are found by listing it, which takes long in a large folder: {}"
              + " (fs.inotify.max_user_instances, fs.inotify.max_user_watches)",
          root,
          tooMany.getMessage());
    }
  }

  private Found allBySpark() {
    Map<java.nio.file.Path, Folder> before = new HashMap<>();
    try {
      addFolders(local(root), root, before); // before the listing: files that arrive during it change a ctime
    } catch (IOException | DirectoryIteratorException changing) {
      before = null; // everything is listed again next time
    }
    folders = null;
    Found found = everything.files();
    nested = nested || found.files().stream().anyMatch(file -> !root.equals(file.path().toPath().getParent()));
    folders = noSinkLog.getAsBoolean() ? before : null;
    return found;
  }

  private static void addFolders(java.nio.file.Path folder, Path path, Map<java.nio.file.Path, Folder> found)
      throws IOException {
    found.put(folder, Folder.of(folder, path));
    try (DirectoryStream<java.nio.file.Path> children = Files.newDirectoryStream(folder)) {
      for (java.nio.file.Path child : children) {
        String name = child.getFileName().toString();
        if (!HadoopFSUtils.shouldFilterOutPathName(name) && Files.isDirectory(child)) {
          addFolders(child, inside(path, name), found);
        }
      }
    }
  }

  /** Whether a name is the same in a URI; a regular expression takes seconds for a million names. */
  private static boolean needsNoEscape(String name) {
    for (int index = 0; index < name.length(); index++) {
      char each = name.charAt(index);
      boolean letter = each >= 'a' && each <= 'z' || each >= 'A' && each <= 'Z';
      if (!letter && !(each >= '0' && each <= '9') && "._=-".indexOf(each) < 0) {
        return false;
      }
    }
    return true;
  }

  private static Path inside(Path folder, String name) {
    return qualified(folder.toUri().getPath() + "/" + name);
  }

  /** Returns a path in the spelling of Hadoop's local file system, file:///folder/name: another one is another file. */
  private static Path qualified(String path) {
    return new Path(null, null, path).makeQualified(ROOT, new Path("/"));
  }

  private static java.nio.file.Path local(Path path) {
    return java.nio.file.Path.of(path.toUri().getPath());
  }

  /** A folder and its ctime; {@code settled} says that a later change has another ctime. */
  private record Folder(Path path, FileTime changed, boolean settled) {
    static Folder of(java.nio.file.Path folder, Path path) throws IOException {
      long now = System.currentTimeMillis();
      FileTime changed = (FileTime) Files.getAttribute(folder, CHANGE_TIME);
      return new Folder(path, changed, now - changed.toMillis() > TICK);
    }

    boolean mayDiffer(Folder now) {
      return !settled || !changed.equals(now.changed);
    }
  }
}
