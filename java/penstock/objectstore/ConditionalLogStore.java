package penstock.objectstore;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
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
    StringBuilder lines = new StringBuilder();
    while (actions.hasNext()) {
      lines.append(actions.next()).append('\n');
    }
    byte[] content = lines.toString().getBytes(StandardCharsets.UTF_8);
    FileSystem files = path.getFileSystem(hadoopConf);
    try {
      put(files, path, content);
    } catch (IOException failure) {
      // Rejected, or the response was lost: only the stored file shows whose commit it is.
      if (!isStored(files, path, content, failure)) {
        throw new FileAlreadyExistsException(path.toString());
      }
    }
  }

  private static void put(FileSystem files, Path path, byte[] content) throws IOException {
    FSDataOutputStreamBuilder<?, ?> creation = files.createFile(path);
    creation.must(CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true);
    try (OutputStream output = creation.build()) {
      output.write(content);
    }
  }

  /** Whether a file has this content; throws {@code failure} if there is no file, so that writing it has failed. */
  private static boolean isStored(FileSystem files, Path path, byte[] content, IOException failure)
      throws IOException {
    try (InputStream input = files.open(path)) {
      return Arrays.equals(input.readAllBytes(), content);
    } catch (FileNotFoundException notWritten) {
      throw failure;
    }
  }
}
