package penstock.files;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Spark's Parquet format, where some files have other names for their columns; see {@link RenamedColumnsReader}.
 *
 * <p>Relies on: Spark's internal {@code ParquetFileFormat.buildReaderWithPartitionValues}.
 *
 * <p>Without it: {@code has_format} is false without this class or its superclass, and Auto Loader raises
 * AUTO_LOADER_TYPE_MISMATCH instead of rescuing the column. If Spark calls another method, the renaming has no effect.
 */
public final class RenamedParquet extends ParquetFileFormat {
  private static final long serialVersionUID = 1;

  /** Called by Spark for the name of the class as a format. */
  public RenamedParquet() {}

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
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
            super.buildReaderWithPartitionValues(
                session, fileData, partitions, fileRequired, fileFilters, options, fileSettings));
  }
}
