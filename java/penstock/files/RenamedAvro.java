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

/** Spark's Avro, with {@link OtherNames} for the columns of some files. */
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
    return new OtherNames(
        options,
        data,
        required,
        filters,
        settings,
        (fileData, fileRequired, fileFilters, fileSettings) ->
            super.buildReader(session, fileData, partitions, fileRequired, fileFilters, options, fileSettings));
  }
}
