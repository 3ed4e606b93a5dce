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
 * Delta's log in an object store of S3's kind: the store itself refuses a commit whose name is taken (a PUT with
 * {@code If-None-Match}), whoever else writes. Delta's own store knows only of the writers in its process.
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
      // Refused, or the answer was lost on its way: only what is stored now tells whose commit it is.
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

  /** Whether a file holds this; what nobody has written is why writing failed. */
  private static boolean isStored(FileSystem files, Path path, byte[] content, IOException failure)
      throws IOException {
    try (InputStream input = files.open(path)) {
      return Arrays.equals(input.readAllBytes(), content);
    } catch (FileNotFoundException nobody) {
      throw failure;
    }
  }
}
