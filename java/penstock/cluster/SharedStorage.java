package penstock.cluster;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Lets no executor work that does not see the storage on a local path, or the folder of the table that a job writes: it
 * would write a table's files to its own disk.
 *
 * <p>Each executor writes an empty file there before its first task, and asks the driver whether it sees it; the driver
 * removes it. The name is new each time, so neither a copy of the folder nor a cache of names can answer. A job says in
 * a local property which table it writes; each executor proves that folder once.
 *
 * <p>Relies on: the public interfaces of {@code spark.plugins}; that an executor whose plugin throws at its start ends,
 * and that a task waits for {@code onTaskStart}, whose exceptions do not end it.
 *
 * <p>Without it: an executor without the storage takes part, and rows are lost.
 */
public final class SharedStorage implements SparkPlugin {
  private static final String STORAGE = "spark.penstock.storage";
  private static final String TABLE = "spark.penstock.table";
  private static final int REFUSED = 78; // a configuration error, for sysexits.h
  private static volatile String refusal;

  /** What the last executor was refused for, as lines (host, URI of the folder, reason); null when none was. */
  public static String refusal() {
    return refusal;
  }

  @Override
  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new Executor();
  }

  private static final class Driver implements DriverPlugin {
    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      refusal = null;
      return Map.of();
    }

    /** Gets host, folder, name of the file, and why it could not be written, if so; answers whether the executor may. */
    @Override
    public Object receive(Object message) throws IOException {
      String[] parts = ((String) message).split("\n", 4);
      Path folder = Path.of(URI.create(parts[1]));
      if (!Files.isDirectory(folder) || !Files.isWritable(folder) || Files.deleteIfExists(folder.resolve(parts[2]))) {
        return true; // where the driver itself writes nothing, its executors have nothing to lose
      }
      String reason = parts[3].isEmpty() ? "what it writes there does not reach the driver" : parts[3];
      refusal = parts[0] + "\n" + parts[1] + "\n" + reason;
      return false;
    }
  }

  private static final class Executor implements ExecutorPlugin {
    private final Map<String, Boolean> proven = new ConcurrentHashMap<>();
    private PluginContext plugin;

    @Override
    public void init(PluginContext plugin, Map<String, String> fromDriver) {
      this.plugin = plugin;
      String folder = plugin.conf().get(STORAGE, "");
      if (!folder.isEmpty() && !isShared(folder)) {
        throw new IllegalStateException("This executor does not see the driver's storage " + folder);
      }
    }

    @Override
    public void onTaskStart() {
      String folder = TaskContext.get().getLocalProperty(TABLE);
      if (folder == null) {
        return;
      }
      boolean shared = false;
      try {
        shared = proven.computeIfAbsent(folder, this::isShared);
      } finally {
        if (!shared) {
          Runtime.getRuntime().halt(REFUSED); // an exception would let the task go on
        }
      }
    }

    private boolean isShared(String folder) {
      Path file = Path.of(URI.create(folder)).resolve(".executor-" + UUID.randomUUID());
      String host = SparkEnv.get().blockManager().blockManagerId().host(); // in init, that of the plugin throws
      String problem = "";
      try {
        Files.createFile(file);
      } catch (IOException error) {
        problem = error.toString();
      }
      try {
        if ((Boolean) plugin.ask(host + "\n" + folder + "\n" + file.getFileName() + "\n" + problem)) {
          return true;
        }
        Files.deleteIfExists(file);
        return false;
      } catch (Exception error) {
        throw new IllegalStateException("The driver did not answer whether it sees the file " + file, error);
      }
    }
  }
}
