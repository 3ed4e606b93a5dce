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
 * Delta's log on a local disk: a commit gets its name in one atomic step that fails if another writer has taken it, and
 * a listing reads the status only of the requested files.
 *
 * <p>Relies on: Delta's {@code HadoopFileSystemLogStore} as its superclass, with the protected {@code createTempPath};
 * it is outside the documented {@code LogStore} API.
 *
 * <p>Without it: {@code own_jars()} is empty without the jar, session/defaults.py sets no
 * {@code spark.delta.logStore.file.impl}, and Delta uses its own store. If the superclass or a method is changed, the
 * first read or write of a Delta table fails, and the query with it.
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
      return super.listFrom(path, hadoopConf); // no folder, or one that may not be read: Hadoop reports which
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
      files = ((FilterFileSystem) files).getRawFileSystem(); // no checksum files: other engines would not update them
    }
    if (!overwrite && files.exists(path)) {
      throw new FileAlreadyExistsException(path.toString());
    }
    Path temporary = createTempPath(path);
    try {
      try (OutputStream output = create(files, temporary)) {
        while (actions.hasNext()) {
          output.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
        }
      }
      publish(temporary, path, overwrite);
    } finally {
      file(temporary).delete(); // a file that remains is hidden, and the commit is made: its failure is ignored
    }
  }

  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration hadoopConf) {
    return true;
  }

  /** Creates a file in an existing folder only: the log of a deleted table must not be created again. */
  private static OutputStream create(FileSystem files, Path path) throws IOException {
    return files.createNonRecursive(
        path,
        FsPermission.getFileDefault(),
        EnumSet.of(CreateFlag.CREATE),
        BUFFER,
        files.getDefaultReplication(path),
        files.getDefaultBlockSize(path),
        null);
  }

  /** Gives a complete file its name; fails if a file has it, unless {@code overwrite}. */
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
      if (!Files.isSameFile(written, named)) { // NFS repeats a link whose response was lost
        throw new FileAlreadyExistsException(path.toString());
      }
    } catch (UnsupportedOperationException | FileSystemException noHardLinks) {
      // As Delta's own store for local disks: safe among the threads of this process.
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

  /** Reads the status of a file when the iterator reaches it; files deleted meanwhile are left out. */
  private static final class Listing implements Iterator<FileStatus> {
    private final FileSystem files;
    private final Path folder;
    private final String[] names;
    private int position;
    private FileStatus next;

    Listing(FileSystem files, Path folder, String[] names) {
      this.files = files;
      this.folder = folder;
      this.names = names;
    }

    @Override
    public boolean hasNext() {
      while (next == null && position < names.length) {
        Path path = new Path(folder, new Path(null, null, names[position++])); // a name may contain a colon
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
