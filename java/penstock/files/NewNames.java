package penstock.files;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The names that come into one folder of a local disk, as Linux tells them (inotify): written, linked, renamed, moved in.
 * It also tells which of them are written to after that.
 *
 * <p>It tells what processes of this machine do: a disk that other machines write needs listings.
 */
final class NewNames implements Closeable {
  private static final int ROUNDS = 1000; // of a kernel that always has more to tell: the rest is for the next call

  private final Path folder;
  private final WatchService service;
  private WatchKey key;
  private Map<Path, Boolean> names = new LinkedHashMap<>(); // and whether they were written to since
  private Map<Path, Boolean> taken = new LinkedHashMap<>();
  private boolean lost;
  private long told;

  private NewNames(Path folder) throws IOException {
    this.folder = folder;
    service = folder.getFileSystem().newWatchService();
    try {
      key = register();
    } catch (IOException none) {
      service.close();
      throw none;
    }
    Thread collecting = new Thread(this::collectAll, "penstock-new-names"); // a key keeps 512 names only
    collecting.setDaemon(true);
    collecting.start();
  }

  /** Whether this system tells of names; others would list the folder again and again to find them. */
  static boolean isPossible() {
    return "Linux".equals(System.getProperty("os.name"));
  }

  /**
   * Begins to hear of the names that come into a folder.
   *
   * @throws IOException the folder is not there, or the user has as many watches as the system allows
   */
  static NewNames of(Path folder) throws IOException {
    return new NewNames(folder);
  }

  /**
   * Returns the names that have come since the last call, also of what is gone again; null if some may be missing.
   *
   * @throws IOException the folder is not there
   */
  Set<Path> take() throws IOException {
    return hearAll() ? taken() : null;
  }

  /**
   * Returns which of the names that the last call of {@code take} returned were written to since they came.
   *
   * @throws IOException the folder is not there
   */
  Set<Path> written() throws IOException {
    hearAll(); // of another folder, none of these files has been read
    return changed();
  }

  /** Collects what the kernel has to tell until now; returns whether it is of the same folder as before. */
  private boolean hearAll() throws IOException {
    for (int round = 0; round < ROUNDS; round++) {
      long before = told();
      WatchKey now = register(); // done when the kernel was asked what it has: nothing new is all of it
      if (now != key) {
        replace(now);
        return false;
      }
      collect();
      if (told() == before) {
        break;
      }
    }
    return true;
  }

  @Override
  public void close() {
    try {
      service.close();
    } catch (IOException cannot) {
      throw new UncheckedIOException(cannot);
    }
  }

  private WatchKey register() throws IOException {
    // The same key for the same folder.
    return folder.register(service, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_MODIFY);
  }

  private void collectAll() {
    try {
      while (true) {
        service.take();
        collect();
      }
    } catch (ClosedWatchServiceException | InterruptedException closed) {
      // the source has stopped
    }
  }

  private synchronized void collect() {
    for (WatchEvent<?> each : key.pollEvents()) {
      told++;
      if (each.kind() == StandardWatchEventKinds.OVERFLOW) {
        lost = true;
      } else if (each.kind() == StandardWatchEventKinds.ENTRY_CREATE) {
        names.put((Path) each.context(), false);
      } else {
        names.replace((Path) each.context(), true);
        taken.replace((Path) each.context(), true);
      }
    }
    key.reset();
  }

  private synchronized long told() {
    return told;
  }

  private synchronized Set<Path> taken() {
    boolean complete = !lost;
    taken = names;
    names = new LinkedHashMap<>();
    lost = false;
    return complete ? taken.keySet() : null;
  }

  /** All of them where the kernel has told of too much: it leaves out what was written, too. */
  private synchronized Set<Path> changed() {
    return taken.keySet().stream().filter(name -> lost || taken.get(name)).collect(Collectors.toSet());
  }

  /** Another folder has the path. */
  private synchronized void replace(WatchKey now) {
    key.cancel();
    key = now;
    taken();
  }
}
