package penstock.cluster;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Lets no executor work that does not see the storage on a local path: it would write a table's files to its own disk.
 *
 * <p>Each executor writes an empty file there before its first task, and asks the driver whether it sees it; the driver
 * removes it. The name is new each time, so neither a copy of the folder nor a cache of names can answer.
 *
 * <p>Relies on: the public interfaces of {@code spark.plugins}; that an executor whose plugin throws ends.
 *
 * <p>Without it: an executor without the storage takes part, and rows are lost.
 */
public final class SharedStorage implements SparkPlugin {
  private static final String FOLDER = "spark.penstock.storage";
  private static volatile String refusal;

  /** What the last executor was refused for, as lines (host, reason); null when none was. Python asks it. */
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
    private Path folder;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      folder = Path.of(URI.create(plugin.conf().get(FOLDER)));
      refusal = null;
      return Map.of();
    }

    /** Gets host, name of the file, and why it could not be written, if so; answers whether the executor may work. */
    @Override
    public Object receive(Object message) throws IOException {
      String[] parts = ((String) message).split("\n", 3);
      if (!Files.isDirectory(folder) || !Files.isWritable(folder) || Files.deleteIfExists(folder.resolve(parts[1]))) {
        return true; // where the driver itself writes nothing, its executors have nothing to lose
      }
      refusal = parts[0] + "\n" + (parts[2].isEmpty() ? "what it writes there does not reach the driver" : parts[2]);
      return false;
    }
  }

  private static final class Executor implements ExecutorPlugin {
    @Override
    public void init(PluginContext plugin, Map<String, String> fromDriver) {
      Path file = Path.of(URI.create(plugin.conf().get(FOLDER))).resolve(".executor-" + UUID.randomUUID());
      String host = SparkEnv.get().blockManager().blockManagerId().host(); // here, that of the plugin throws
      String problem = "";
      try {
        Files.createFile(file);
      } catch (IOException error) {
        problem = error.toString();
      }
      try {
        if (!(Boolean) plugin.ask(host + "\n" + file.getFileName() + "\n" + problem)) {
          Files.deleteIfExists(file);
          throw new IllegalStateException("This executor does not see the driver's storage " + file.getParent());
        }
      } catch (RuntimeException error) {
        throw error;
      } catch (Exception error) {
        throw new IllegalStateException("The driver did not answer whether it sees the file " + file, error);
      }
    }
  }
}
