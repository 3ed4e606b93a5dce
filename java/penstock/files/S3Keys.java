package penstock.files;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import org.apache.hadoop.fs.s3a.S3AUtils;
import org.apache.spark.paths.SparkPath;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Request;
import software.amazon.awssdk.services.s3.model.S3Object;

/**
 * Lists the files below an S3 folder in the order of their keys, after a given key: S3A cannot start at a key.
 *
 * <p>Relies on: Hadoop's private {@code S3AFileSystem} ({@code createStoreContext}, {@code getS3AInternals}),
 * {@code StoreContext.getRequestFactory}, {@code RequestFactory.newListObjectsV2RequestBuilder},
 * {@code S3AInternals.getAmazonS3Client} and {@code S3AUtils.translateException}; the AWS SDK's client that S3A uses;
 * Spark's internal {@code SparkPath}.
 *
 * <p>Without it: on a file system of another class {@link ArrivingFiles} lists everything for each batch; a changed
 * class or method is a LinkageError, which ends the query.
 */
final class S3Keys {
  private static final int PAGE = 1000; // S3 returns at most so many keys

  private final S3AFileSystem system;
  private final Path root;
  private final String prefix;

  /** The files below {@code root} of {@code system}, which is S3A. */
  S3Keys(FileSystem system, Path root) {
    this.system = (S3AFileSystem) system;
    this.root = root;
    String folder = key(root);
    prefix = folder.isEmpty() ? folder : folder + "/";
  }

  /** Returns the files, hidden ones too, with a greater key than {@code path} below the root; all of them for null. */
  List<FoundFile> after(String path) throws IOException {
    ListObjectsV2Request.Builder request =
        system.createStoreContext().getRequestFactory().newListObjectsV2RequestBuilder(prefix, null, PAGE);
    if (path != null) {
      request.startAfter(prefix + path);
    }
    List<FoundFile> found = new ArrayList<>();
    try {
      for (S3Object each :
          system.getS3AInternals().getAmazonS3Client("list").listObjectsV2Paginator(request.build()).contents()) {
        if (!each.key().endsWith("/")) { // the marker of a folder
          Path file = system.makeQualified(new Path("/" + each.key())); // in the spelling of S3A
          found.add(new FoundFile(SparkPath.fromPath(file), each.size(), each.lastModified().toEpochMilli()));
        }
      }
    } catch (SdkException failed) {
      throw S3AUtils.translateException("list", root, failed);
    }
    return found;
  }

  /** Returns the path of a file below the root. */
  String below(SparkPath file) {
    return key(file.toPath()).substring(prefix.length());
  }

  private static String key(Path path) {
    return path.toUri().getPath().substring(1);
  }
}
