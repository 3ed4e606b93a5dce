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
 * Lists again only those folders of a local disk whose time says that something has come, gone or been renamed in them.
 *
 * <p>That is the time of change of the folder, which nobody can set: a file that is moved in with an old time is found,
 * and so is one in a folder that was given an old time. Whatever is not plain is left to a listing of everything.
 *
 * <p>Of a root that has only files, Linux tells the new names; its time is looked at now and then only.
 */
final class ChangedFolders implements Discovery {
  /** File systems that give a folder a fine time, by this machine's clock. */
  private static final Set<String> LOCAL = Set.of("apfs", "btrfs", "ext4", "overlay", "tmpfs", "xfs", "zfs");

  private static final URI ROOT = URI.create("file:///");
  private static final String CHANGED = "unix:ctime";
  private static final String SINK_LOG = "_spark_metadata";
  private static final long TICKS = 250; // milliseconds; two changes in a tick of the system's clock have one time
  private static final long TRUSTED = TimeUnit.MINUTES.toNanos(1); // so long, names are as they are told, and longer
  private static final long SHARE = 1000; // where to list them takes more than this part of the time
  private static final Logger LOG = LoggerFactory.getLogger(ChangedFolders.class);

  private final Discovery everything;
  private final Path root;
  private final Predicate<String> read;
  private final BooleanSupplier plain;
  private final long backfill;
  private Map<java.nio.file.Path, Folder> folders; // null where everything is to be listed
  private boolean flat; // whether the root has no folders, so that it was listed here and not by Spark
  private boolean nested; // whether files in folders of the root count, as they do where these name partitions
  private long listed;
  private NewNames told; // of a flat root, where somebody tells them
  private boolean untold; // nobody does
  private long namesListed;
  private long listingNames; // how long that took

  /**
   * Finds the files below {@code root}.
   *
   * @param everything lists all that is there
   * @param read tells of the URI of a file whether it was read
   * @param plain tells after a listing whether each file of a folder counts: not where a sink of Spark keeps a log
   * @param backfill after so many nanoseconds everything is listed again
   */
  ChangedFolders(Discovery everything, Path root, Predicate<String> read, BooleanSupplier plain, long backfill) {
    this.everything = everything;
    this.root = spelled(root.toUri().getPath());
    this.read = read;
    this.plain = plain;
    this.backfill = backfill;
  }

  /** Tells whether the times of folders can be trusted there. */
  static boolean serves(Path root) {
    try {
      java.nio.file.Path folder = local(root);
      return "file".equals(root.toUri().getScheme())
          && Files.isDirectory(folder)
          && isLocal(root)
          && Files.getAttribute(folder, CHANGED) instanceof FileTime;
    } catch (IOException | RuntimeException unknown) {
      return false;
    }
  }

  /** Tells whether the times of files there, or below where they will be, are by this machine's clock. */
  static boolean isLocal(Path root) {
    try {
      java.nio.file.Path there = local(root);
      while (!Files.exists(there)) { // a glob, for one
        there = there.getParent();
      }
      return "file".equals(root.toUri().getScheme()) && LOCAL.contains(Files.getFileStore(there).type());
    } catch (IOException | RuntimeException unknown) {
      return false;
    }
  }

  @Override
  public boolean isThere(FoundFile file) {
    return Files.exists(local(file.path().toPath()));
  }

  @Override
  public Found files() {
    if (folders == null || System.nanoTime() - listed > backfill) {
      return all();
    }
    try {
      List<FoundFile> found = new ArrayList<>();
      return (told == null ? addNew(found) : addTold(found)) ? new Found(found, false) : all();
    } catch (IOException | DirectoryIteratorException gone) {
      return all(); // it says what is wrong
    }
  }

  @Override
  public void close() {
    if (told != null) {
      told.close();
    }
    told = null;
  }

  /** Adds the new files of a root whose names are told; returns whether that is plain. */
  private boolean addTold(List<FoundFile> found) throws IOException {
    Set<java.nio.file.Path> names = told.take();
    if (names == null || System.nanoTime() - namesListed > Math.max(TRUSTED, SHARE * listingNames)) {
      return addNew(found);
    }
    List<java.nio.file.Path> children = names.stream().map(local(root)::resolve).toList();
    List<FoundFile> named = new ArrayList<>();
    boolean plain = addNamed(children, root, named);
    Set<java.nio.file.Path> written = told.written(); // asked after each was looked at
    named.forEach(file -> found.add(isMoved(file, written) ? file.asMoved() : file));
    return plain;
  }

  /** Whether a file whose name was told had its content then: an empty one may be about to get some. */
  private static boolean isMoved(FoundFile file, Set<java.nio.file.Path> written) {
    return file.size() > 0 && !written.contains(java.nio.file.Path.of(file.path().toPath().getName()));
  }

  /** Adds the new files of the folders that have changed; returns whether that is plain. */
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

  /** Adds the new files of a folder; returns whether that is plain: a new folder is not. */
  private boolean addFiles(java.nio.file.Path folder, Path path, List<FoundFile> found) throws IOException {
    namesListed = System.nanoTime();
    try (DirectoryStream<java.nio.file.Path> children = Files.newDirectoryStream(folder)) {
      return addNamed(children, path, found);
    } finally {
      listingNames = System.nanoTime() - namesListed;
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
      SparkPath named = isPlain(name) ? SparkPath.fromUrlString(uri + name) : SparkPath.fromPath(inside(path, name));
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
    return found == null ? allOfSpark() : found;
  }

  /** All files of a root without folders, but for those that were read; null where it has some, or a sink's log. */
  private Found flatRoot() {
    List<FoundFile> found = new ArrayList<>();
    folders = new HashMap<>();
    flat = true;
    hear(); // first: what comes meanwhile is told later
    try {
      folders.put(local(root), Folder.of(local(root), root)); // first: what comes meanwhile is found by the time
      if (addFiles(local(root), root, found)) {
        return new Found(found, true);
      }
    } catch (IOException | DirectoryIteratorException failed) {
      // Spark says what is wrong
    }
    flat = false;
    close();
    return null;
  }

  /** Has the names that come into the root told, where somebody does. */
  private void hear() {
    if (told != null || untold || !NewNames.isPossible()) {
      return;
    }
    try {
      told = NewNames.of(local(root));
    } catch (NoSuchFileException gone) {
      // the listing says so
    } catch (IOException tooMany) {
      untold = true;
      LOG.warn(
          "New files in {} are found by listing it, which takes long in a large folder: {}"
              + " (fs.inotify.max_user_instances, fs.inotify.max_user_watches)",
          root,
          tooMany.getMessage());
    }
  }

  private Found allOfSpark() {
    Map<java.nio.file.Path, Folder> before = new HashMap<>();
    try {
      addFolders(local(root), root, before); // first: what comes while everything is listed is found by the times
    } catch (IOException | DirectoryIteratorException changing) {
      before = null; // next time again
    }
    folders = null;
    Found found = everything.files();
    nested = nested || found.files().stream().anyMatch(file -> !root.equals(file.path().toPath().getParent()));
    folders = plain.getAsBoolean() ? before : null;
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

  /** Whether a name is the same in a URI; a pattern takes seconds for a million of them. */
  private static boolean isPlain(String name) {
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
    return spelled(folder.toUri().getPath() + "/" + name);
  }

  /** As Hadoop's local file system spells what it lists, file:///folder/name: in another spelling it is another file. */
  private static Path spelled(String path) {
    return new Path(null, null, path).makeQualified(ROOT, new Path("/"));
  }

  private static java.nio.file.Path local(Path path) {
    return java.nio.file.Path.of(path.toUri().getPath());
  }

  /** A folder as it was when it was looked at; {@code settled} says that a later change has another time. */
  private record Folder(Path path, FileTime changed, boolean settled) {
    static Folder of(java.nio.file.Path folder, Path path) throws IOException {
      long now = System.currentTimeMillis();
      FileTime changed = (FileTime) Files.getAttribute(folder, CHANGED);
      return new Folder(path, changed, now - changed.toMillis() > TICKS);
    }

    boolean mayDiffer(Folder now) {
      return !settled || !changed.equals(now.changed);
    }
  }
}
