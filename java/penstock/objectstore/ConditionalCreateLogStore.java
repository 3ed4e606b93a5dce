package penstock.objectstore;

import io.delta.storage.GCSLogStore;
import java.io.IOException;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log in Google Cloud Storage, which itself rejects a commit whose name another writer has taken: an upload
 * with {@code ifGenerationMatch=0}. Delta's own store, which this extends, takes a commit of its own for another's when
 * the response was lost.
 *
 * <p>Relies on: Delta's {@code GCSLogStore} as its superclass, which Delta documents as a setting, not for extension;
 * that Google's connector sends that condition for a file that must not exist.
 *
 * <p>Without it: {@code own_jars()} is empty without the jar, session/defaults.py sets no
 * {@code spark.delta.logStore.gs.impl}, and Delta uses its own store. If the superclass is changed, the first read or
 * write of a Delta table fails.
 */
public final class ConditionalCreateLogStore extends GCSLogStore {
  /** Called by Delta for {@code spark.delta.logStore.gs.impl}. */
  public ConditionalCreateLogStore(Configuration hadoopConf) {
    super(hadoopConf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
      throws IOException {
    StoredCommit.write(
        path, actions, overwrite, hadoopConf, lines -> super.write(path, lines, overwrite, hadoopConf));
  }
}
