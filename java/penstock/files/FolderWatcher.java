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
 * Collects the names that appear in one folder of a local disk (created, linked, renamed or moved in), and which of
 * them are written to afterwards, by Linux's inotify. It sees only what processes of this machine do.
 *
 * <p>Relies on: how OpenJDK's {@code LinuxWatchService} is implemented: {@code register} of a watched folder returns
 * only when all pending events are delivered, and a {@code WatchKey} keeps 512 of them.
 *
 * <p>Without it: {@link ChangedFolders} finds a missed file by the ctime of the folder, at the latest after a minute or
 * 1,000 times the duration of a listing. On another system, or if there are no watches left, it always does so.
 */
final class FolderWatcher implements Closeable {
  private static final int MAX_ROUNDS = 1000; // if events never stop, the rest is for the next call

  private final Path folder;
  private final WatchService service;
  private WatchKey key;
  private Map<Path, Boolean> names = new LinkedHashMap<>(); // and whether they were written to since
  private Map<Path, Boolean> taken = new LinkedHashMap<>(); // the names that the last take() has returned
  private boolean overflow; // whether the kernel or the key has dropped events
  private long events;

  private FolderWatcher(Path folder) throws IOException {
    this.folder = folder;
    service = folder.getFileSystem().newWatchService();
    try {
      key = register();
    } catch (IOException failure) {
      service.close();
      throw failure;
    }
    Thread collecting = new Thread(this::collectAll, "penstock-folder-watcher"); // a key holds 512 events only
    collecting.setDaemon(true);
    collecting.start();
  }

  /** Returns whether this system has inotify; on others Java lists the folder again and again. */
  static boolean isSupported() {
    return "Linux".equals(System.getProperty("os.name"));
  }

  /**
   * Starts to watch a folder.
   *
   * @throws IOException the folder does not exist, or the user has as many watches as the system allows
   */
  static FolderWatcher of(Path folder) throws IOException {
    return new FolderWatcher(folder);
  }

  /**
   * Returns the names that have appeared since the last call, deleted ones too; null if some may be missing.
   *
   * @throws IOException the folder does not exist
   */
  Set<Path> take() throws IOException {
    return collectPending() ? takeNames() : null;
  }

  /**
   * Returns which names of the last call of {@code take} were written to since they appeared.
   *
   * @throws IOException the folder does not exist
   */
  Set<Path> written() throws IOException {
    collectPending(); // if the folder was replaced, none of these files has been read
    return writtenNames();
  }

  /** Collects all events of the kernel until now; returns whether they are of the same folder as before. */
  private boolean collectPending() throws IOException {
    for (int round = 0; round < MAX_ROUNDS; round++) {
      long before = events();
      WatchKey now = register(); // returns after pending events: if there is no new one, all are collected
      if (now != key) {
        replace(now);
        return false;
      }
      collect();
      if (events() == before) {
        break;
      }
    }
    return true;
  }

  @Override
  public void close() {
    try {
      service.close();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private WatchKey register() throws IOException {
    // Returns the same key for the same folder.
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
      events++;
      if (each.kind() == StandardWatchEventKinds.OVERFLOW) {
        overflow = true;
      } else if (each.kind() == StandardWatchEventKinds.ENTRY_CREATE) {
        names.put((Path) each.context(), false);
      } else {
        names.replace((Path) each.context(), true);
        taken.replace((Path) each.context(), true);
      }
    }
    key.reset();
  }

  private synchronized long events() {
    return events;
  }

  private synchronized Set<Path> takeNames() {
    boolean complete = !overflow;
    taken = names;
    names = new LinkedHashMap<>();
    overflow = false;
    return complete ? taken.keySet() : null;
  }

  /** Returns all of them after an overflow, which also drops events of writing. */
  private synchronized Set<Path> writtenNames() {
    return taken.keySet().stream().filter(name -> overflow || taken.get(name)).collect(Collectors.toSet());
  }

  /** Watches another folder that has the same path now. */
  private synchronized void replace(WatchKey now) {
    key.cancel();
    key = now;
    takeNames();
  }
}
