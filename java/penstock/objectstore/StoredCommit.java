package penstock.objectstore;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A commit of a Delta log as the store has it: it shows whose commit it is when the response to a write was lost. */
final class StoredCommit {
  private StoredCommit() {}

  /** Returns the content of a commit. */
  static byte[] content(List<String> actions) {
    StringBuilder lines = new StringBuilder();
    actions.forEach(action -> lines.append(action).append('\n'));
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Returns if the file at {@code path} has this content: the write that has failed is done.
   *
   * @throws FileAlreadyExistsException it is another writer's
   * @throws IOException there is no file: this is {@code failure}
   */
  static void requireOwn(FileSystem files, Path path, byte[] content, IOException failure) throws IOException {
    try (InputStream input = files.open(path)) {
      if (!Arrays.equals(input.readAllBytes(), content)) {
        throw new FileAlreadyExistsException(path.toString());
      }
    } catch (FileNotFoundException notWritten) {
      throw failure;
    }
  }
}
