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

/** Spark's stream of files, with {@link ArrivingFiles} as its source; everything else is Spark's own. */
public final class ArrivingFilesProvider implements SupportsStreamSourceMetadataColumns {
  /** The option that names the format of the files, as {@code readStream.format(...)} would. */
  static final String FORMAT = "penstock.format";

  /** The option with the columns that folders name, one a line: Spark lists everything to find them. */
  static final String PARTITIONS = "penstock.partitions";

  /** Called by Spark for {@code readStream.format(...)}. */
  public ArrivingFilesProvider() {}

  @Override
  public Tuple2<String, StructType> sourceSchema(
      SQLContext context, Option<StructType> schema, String name, Map<String, String> options) {
    DataSource.SourceInfo info = info(native_(context.sparkSession(), schema, options), schema);
    return new Tuple2<>(info.name(), info.schema());
  }

  @Override
  public Source createSource(
      SQLContext context, String folder, Option<StructType> schema, String name, Map<String, String> options) {
    DataSource files = native_(context.sparkSession(), schema, options);
    return new ArrivingFiles(files, info(files, schema), folder);
  }

  /** The {@code _metadata} of the format. */
  @Override
  public Seq<AttributeReference> getMetadataOutput(
      SparkSession session, Map<String, String> options, Option<StructType> schema) {
    FileFormat format = (FileFormat) native_(session, schema, options).providingInstance();
    List<AttributeReference> none = none();
    return none.$colon$colon(format.createFileMetadataCol());
  }

  private static DataSource.SourceInfo info(DataSource files, Option<StructType> schema) {
    Option<String> known = files.options().get(PARTITIONS);
    if (schema.isEmpty() || known.isEmpty() || !isThere(files)) {
      return files.sourceInfo(); // which says what is wrong
    }
    List<String> partitions = CollectionConverters.asScala(known.get().lines().toList()).toList();
    String name = "FileSource[" + files.options().apply("path") + "]"; // as Spark has it
    return files.new SourceInfo(name, schema.get().asNullable(), partitions);
  }

  private static boolean isThere(DataSource files) {
    Path path = new Path(files.options().apply("path"));
    try {
      return ArrivingFiles.system(path, files).exists(path);
    } catch (IOException | UncheckedIOException unknown) {
      return false;
    }
  }

  /** What Spark would stream the files with. */
  private static DataSource native_(SparkSession session, Option<StructType> schema, Map<String, String> options) {
    String format = options.apply(FORMAT);
    List<String> none = none();
    return new DataSource(
        session, format, none, schema, none, Option.empty(), options, Option.empty(), Option.empty());
  }

  @SuppressWarnings("unchecked")
  private static <T> List<T> none() {
    return (List<T>) (List<?>) Nil$.MODULE$;
  }
}
