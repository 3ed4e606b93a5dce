package penstock.localdisk;

import io.delta.storage.HadoopFileSystemLogStore;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFileSystem;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Delta's log on a local disk: a commit gets its name in one step that fails if the name is taken, whoever else writes;
 * and a listing looks at those files only that were asked for, however long the log is.
 */
public final class LocalDiskLogStore extends HadoopFileSystemLogStore {
  private static final int BUFFER = 64 * 1024;

  /** Called by Delta for {@code spark.delta.logStore.file.impl}. */
  public LocalDiskLogStore(Configuration hadoopConf) {
    super(hadoopConf);
  }

  @Override
  public Iterator<FileStatus> listFrom(Path path, Configuration hadoopConf) throws IOException {
    Path folder = path.getParent();
    String[] names = file(folder).list();
    if (names == null) {
      return super.listFrom(path, hadoopConf); // no folder, or one that may not be read: Hadoop says which
    }
    String first = path.getName();
    int count = 0;
    for (String name : names) {
      if (name.compareTo(first) >= 0) {
        names[count++] = name;
      }
    }
    Arrays.sort(names, 0, count);
    return new Listing(path.getFileSystem(hadoopConf), folder, Arrays.copyOf(names, count));
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
      throws IOException {
    FileSystem files = path.getFileSystem(hadoopConf);
    if (files instanceof FilterFileSystem) {
      files = ((FilterFileSystem) files).getRawFileSystem(); // no checksum files: other engines leave them outdated
    }
    if (!overwrite && files.exists(path)) {
      throw new FileAlreadyExistsException(path.toString());
    }
    Path temporary = createTempPath(path);
    try {
      try (OutputStream output = created(files, temporary)) {
        while (actions.hasNext()) {
          output.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
        }
      }
      publish(temporary, path, overwrite);
    } finally {
      file(temporary).delete(); // what stays is hidden, and no reason to fail a commit that was made
    }
  }

  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration hadoopConf) {
    return true;
  }

  /** Creates a file in a folder that is there: the log of a table that somebody has deleted must not come back. */
  private static OutputStream created(FileSystem files, Path path) throws IOException {
    return files.createNonRecursive(
        path,
        FsPermission.getFileDefault(),
        EnumSet.of(CreateFlag.CREATE),
        BUFFER,
        files.getDefaultReplication(path),
        files.getDefaultBlockSize(path),
        null);
  }

  /** Gives a whole file its name; unless {@code overwrite}, only if no file has it. */
  private static void publish(Path temporary, Path path, boolean overwrite) throws IOException {
    java.nio.file.Path written = file(temporary).toPath();
    java.nio.file.Path named = file(path).toPath();
    if (overwrite) {
      Files.move(written, named, StandardCopyOption.ATOMIC_MOVE);
      return;
    }
    try {
      Files.createLink(named, written);
    } catch (FileAlreadyExistsException taken) {
      throw new FileAlreadyExistsException(path.toString());
    } catch (UnsupportedOperationException | FileSystemException noHardLinks) {
      // Delta's own way on a local disk: safe among the threads of this process.
      synchronized (LocalDiskLogStore.class) {
        if (Files.exists(named)) {
          throw new FileAlreadyExistsException(path.toString());
        }
        Files.move(written, named, StandardCopyOption.ATOMIC_MOVE);
      }
    }
  }

  private static File file(Path path) {
    return new File(path.toUri().getPath());
  }

  /** Looks at each file when it is its turn; one that has gone meanwhile is left out. */
  private static final class Listing implements Iterator<FileStatus> {
    private final FileSystem files;
    private final Path folder;
    private final String[] names;
    private int following;
    private FileStatus next;

    Listing(FileSystem files, Path folder, String[] names) {
      this.files = files;
      this.folder = folder;
      this.names = names;
    }

    @Override
    public boolean hasNext() {
      while (next == null && following < names.length) {
        Path path = new Path(folder, new Path(null, null, names[following++])); // a name may hold a colon
        if (!ChecksumFileSystem.isChecksumFile(path)) {
          try {
            next = files.getFileStatus(path);
          } catch (FileNotFoundException gone) {
            continue;
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        }
      }
      return next != null;
    }

    @Override
    public FileStatus next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      FileStatus status = next;
      next = null;
      return status;
    }
  }
}
