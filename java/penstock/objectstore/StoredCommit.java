package penstock.objectstore;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A commit of a Delta log as the store has it: it shows whose commit it is when the response to a write was lost. */
final class StoredCommit {
  private final List<String> lines = new ArrayList<>();
  private final Path path;
  private final Configuration hadoopConf;

  StoredCommit(Path path, Iterator<String> actions, Configuration hadoopConf) {
    this.path = path;
    this.hadoopConf = hadoopConf;
    actions.forEachRemaining(lines::add);
  }

  /**
   * Called by a log store for a commit: with {@code overwrite} one write, else an attempt as {@link #write(Attempt)}.
   */
  static void write(Path path, Iterator<String> actions, boolean overwrite, Configuration hadoopConf, Attempt attempt)
      throws IOException {
    if (overwrite) {
      attempt.write(actions);
    } else {
      new StoredCommit(path, actions, hadoopConf).write(attempt);
    }
  }

  /** One attempt to write the commit where none is. */
  interface Attempt {
    /** Writes the lines of a commit. */
    void write(Iterator<String> lines) throws IOException;
  }

  /** Returns the content of the commit. */
  byte[] content() {
    StringBuilder text = new StringBuilder();
    lines.forEach(line -> text.append(line).append('\n'));
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Makes the attempt. If it fails and the file has this content, the commit is done.
   *
   * @throws FileAlreadyExistsException the file is another writer's
   * @throws IOException there is no file: the failure of the attempt
   */
  void write(Attempt attempt) throws IOException {
    try {
      attempt.write(lines.iterator());
    } catch (IOException failure) {
      requireOwn(failure);
    }
  }

  private void requireOwn(IOException failure) throws IOException {
    FileSystem files = path.getFileSystem(hadoopConf);
    try (InputStream input = files.open(path)) {
      if (!Arrays.equals(input.readAllBytes(), content())) {
        throw new FileAlreadyExistsException(path.toString());
      }
    } catch (FileNotFoundException notWritten) {
      throw failure;
    }
  }
}
