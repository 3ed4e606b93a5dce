package penstock.files;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/** Spark's Orc, with {@link OtherNames} for the columns of some files. */
public final class RenamedOrc extends OrcFileFormat {
  private static final long serialVersionUID = 1;

  /** Called by Spark for the name of the class as a format. */
  public RenamedOrc() {}

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
      SparkSession session,
      StructType data,
      StructType partitions,
      StructType required,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration settings) {
    return new OtherNames(
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
