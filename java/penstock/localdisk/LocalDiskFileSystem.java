package penstock.localdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, with its checksum files, which sets the permissions of a new file without a child
 * process.
 *
 * <p>Relies on: public API only.
 *
 * <p>Without it: {@code own_jars()} is empty without the jar, session/defaults.py sets no {@code fs.file.impl}, and
 * Hadoop uses its own class, which starts a process or two for each new file.
 */
public final class LocalDiskFileSystem extends LocalFileSystem {
  /** Called by Hadoop for {@code fs.file.impl}. */
  public LocalDiskFileSystem() {
    super(new WithoutProcesses());
  }

  private static final class WithoutProcesses extends RawLocalFileSystem {
    private static final PosixFilePermission[] BITS = PosixFilePermission.values(); // from 0400 down to 0001

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      if (!setWithoutProcess(pathToFile(path).toPath(), permission)) {
        super.setPermission(path, permission);
      }
    }

    private static boolean setWithoutProcess(java.nio.file.Path file, FsPermission permission) throws IOException {
      if (permission.getStickyBit()) {
        return false; // a bit that Java's permissions lack
      }
      Set<PosixFilePermission> wanted = EnumSet.noneOf(PosixFilePermission.class);
      for (int bit = 0; bit < BITS.length; bit++) {
        if ((permission.toShort() & (0400 >> bit)) != 0) {
          wanted.add(BITS[bit]);
        }
      }
      try {
        PosixFileAttributes found = Files.readAttributes(file, PosixFileAttributes.class);
        if (found.permissions().equals(wanted)) {
          return true;
        }
        if (found.isDirectory()) {
          return false; // Java would clear the setgid bit, by which new files get the group of the folder
        }
        Files.setPosixFilePermissions(file, wanted);
        return true;
      } catch (UnsupportedOperationException noPosixDisk) {
        return false;
      }
    }
  }
}
