package penstock.files;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.avro.AvroFileFormat;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Spark's Avro format, where some files have other names for their columns; see {@link RenamedColumnsReader}.
 *
 * <p>Relies on: Spark's internal {@code AvroFileFormat.buildReader}.
 *
 * <p>Without it: {@code has_format} is false without this class or its superclass, and Auto Loader raises
 * AUTO_LOADER_TYPE_MISMATCH instead of rescuing the column. If Spark calls another method, the renaming has no effect.
 */
public final class RenamedAvro extends AvroFileFormat {
  private static final long serialVersionUID = 1;

  /** Called by Spark for the name of the class as a format. */
  public RenamedAvro() {}

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
      SparkSession session,
      StructType data,
      StructType partitions,
      StructType required,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration settings) {
    return new RenamedColumnsReader(
        options,
        data,
        required,
        filters,
        settings,
        (fileData, fileRequired, fileFilters, fileSettings) ->
            super.buildReader(session, fileData, partitions, fileRequired, fileFilters, options, fileSettings));
  }
}
