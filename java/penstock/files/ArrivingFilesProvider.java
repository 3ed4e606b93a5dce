package penstock.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.SupportsStreamSourceMetadataColumns;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.List;
import scala.collection.immutable.Map;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The format of Spark's file streams with {@link ArrivingFiles} as the source; everything else is Spark's own.
 *
 * <p>Relies on: Spark's {@code StreamSourceProvider} (unstable API), {@code SupportsStreamSourceMetadataColumns},
 * {@code Source}, {@code DataSource} with its inner class {@code SourceInfo}, {@code FileFormat.createFileMetadataCol}
 * and {@code AttributeReference}, which are internal.
 *
 * <p>Without it: {@code has_format} is false without this class or its interface. Then Penstock uses Spark's own file
 * source, which reports no backlog, and Auto Loader raises AUTO_LOADER_UNSUPPORTED_OPTION for {@code allowOverwrites}
 * and for a settle time. Any other change is a LinkageError when the query starts.
 */
public final class ArrivingFilesProvider implements SupportsStreamSourceMetadataColumns {
  /** The option that names the format of the files, as {@code readStream.format(...)} would. */
  static final String FORMAT = "penstock.format";

  /** The option with the partition columns, one per line: Spark would list everything to find them. */
  static final String PARTITIONS = "penstock.partitions";

  /** Called by Spark for {@code readStream.format(...)}. */
  public ArrivingFilesProvider() {}

  @Override
  public Tuple2<String, StructType> sourceSchema(
      SQLContext context, Option<StructType> schema, String name, Map<String, String> options) {
    DataSource.SourceInfo info = info(sparkSource(context.sparkSession(), schema, options), schema);
    return new Tuple2<>(info.name(), info.schema());
  }

  @Override
  public Source createSource(
      SQLContext context, String folder, Option<StructType> schema, String name, Map<String, String> options) {
    DataSource files = sparkSource(context.sparkSession(), schema, options);
    return new ArrivingFiles(files, info(files, schema), folder);
  }

  /** Returns the {@code _metadata} column of the format. */
  @Override
  public Seq<AttributeReference> getMetadataOutput(
      SparkSession session, Map<String, String> options, Option<StructType> schema) {
    FileFormat format = (FileFormat) sparkSource(session, schema, options).providingInstance();
    List<AttributeReference> empty = empty();
    return empty.$colon$colon(format.createFileMetadataCol());
  }

  private static DataSource.SourceInfo info(DataSource files, Option<StructType> schema) {
    Option<String> known = files.options().get(PARTITIONS);
    if (schema.isEmpty() || known.isEmpty() || !exists(files)) {
      return files.sourceInfo(); // which also reports what is wrong
    }
    List<String> partitions = CollectionConverters.asScala(known.get().lines().toList()).toList();
    String name = "FileSource[" + files.options().apply("path") + "]"; // as in Spark
    return files.new SourceInfo(name, schema.get().asNullable(), partitions);
  }

  private static boolean exists(DataSource files) {
    Path path = new Path(files.options().apply("path"));
    try {
      return ArrivingFiles.system(path, files).exists(path);
    } catch (IOException | UncheckedIOException unknown) {
      return false;
    }
  }

  /** Returns the data source with which Spark would stream the files. */
  private static DataSource sparkSource(SparkSession session, Option<StructType> schema, Map<String, String> options) {
    String format = options.apply(FORMAT);
    List<String> empty = empty();
    return new DataSource(
        session, format, empty, schema, empty, Option.empty(), options, Option.empty(), Option.empty());
  }

  @SuppressWarnings("unchecked")
  private static <T> List<T> empty() {
    return (List<T>) (List<?>) Nil$.MODULE$;
  }
}
