package penstock.objectstore;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.CreateFileOptionKeys;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log in S3 or a compatible store, which itself rejects a commit whose name another writer has taken: a PUT
 * with {@code If-None-Match}. Delta's own store only excludes writers of the same process.
 *
 * <p>Relies on: Delta's {@code S3SingleDriverLogStore} as its superclass, which Delta documents as a setting, not for
 * extension; that S3A supports the option {@code fs.option.create.conditional.overwrite} (public API of Hadoop).
 *
 * <p>Without it: {@code own_jars()} is empty without the jar, session/defaults.py sets no
 * {@code spark.delta.logStore.s3a.impl}, and Delta uses its own store. If the superclass is changed, the first read or
 * write of a Delta table fails; a file system without the option rejects it, and each commit fails.
 */
public final class ConditionalLogStore extends S3SingleDriverLogStore {
  /** Called by Delta for {@code spark.delta.logStore.s3a.impl}. */
  public ConditionalLogStore(Configuration hadoopConf) {
    super(hadoopConf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
      throws IOException {
    if (overwrite) {
      super.write(path, actions, overwrite, hadoopConf);
      return;
    }
    StoredCommit commit = new StoredCommit(path, actions, hadoopConf);
    FileSystem files = path.getFileSystem(hadoopConf);
    commit.write(lines -> put(files, path, commit.content()));
  }

  private static void put(FileSystem files, Path path, byte[] content) throws IOException {
    FSDataOutputStreamBuilder<?, ?> creation = files.createFile(path);
    creation.must(CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true);
    try (OutputStream output = creation.build()) {
      output.write(content);
    }
  }
}
