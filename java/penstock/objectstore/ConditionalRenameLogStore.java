package penstock.objectstore;

import io.delta.storage.AzureLogStore;
import java.io.IOException;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log in Azure, which itself rejects a commit whose name another writer has taken: a rename, or without folders
 * a copy, with {@code If-None-Match}. Delta's own store, which this extends, takes a commit of its own for another's
 * when the response was lost.
 *
 * <p>Relies on: Delta's {@code AzureLogStore} as its superclass, which Delta documents as a setting, not for extension;
 * that ABFS sends that header (Hadoop 3.4 and later do).
 *
 * <p>Without it: {@code own_jars()} is empty without the jar, session/defaults.py sets no
 * {@code spark.delta.logStore.abfss.impl}, and Delta uses its own store. If the superclass is changed, the first read
 * or write of a Delta table fails.
 */
public final class ConditionalRenameLogStore extends AzureLogStore {
  /** Called by Delta for {@code spark.delta.logStore.abfss.impl}. */
  public ConditionalRenameLogStore(Configuration hadoopConf) {
    super(hadoopConf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
      throws IOException {
    StoredCommit.write(
        path, actions, overwrite, hadoopConf, lines -> super.write(path, lines, overwrite, hadoopConf));
  }
}
