package penstock.files;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * Reads some files with other names for their columns than the rest.
 *
 * <p>A column whose type in a file is not that of the schema is a second column, which has its name there, and the
 * column of that name is one that the file has not.
 */
final class OtherNames extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements Serializable {
  /** The option with the names: {@code {"names": [{column: name in the file}], "files": {uri: position in names}}}. */
  private static final String OPTION = "penstock.otherNames";

  private static final long serialVersionUID = 1;

  private final Function1<PartitionedFile, Iterator<InternalRow>> usual;
  private final ArrayList<Function1<PartitionedFile, Iterator<InternalRow>>> others = new ArrayList<>();
  private final HashMap<String, Integer> files = new HashMap<>();

  /** How Spark's own format reads files. */
  interface Reader {
    Function1<PartitionedFile, Iterator<InternalRow>> of(
        StructType data, StructType required, Seq<Filter> filters, Configuration settings);
  }

  /** What {@code reader} makes of files, after what the options of a read say of their names. */
  OtherNames(
      scala.collection.immutable.Map<String, String> options,
      StructType data,
      StructType required,
      Seq<Filter> filters,
      Configuration settings,
      Reader reader) {
    usual = reader.of(data, required, filters, new Configuration(settings)); // the format notes the columns there
    JsonNode told = parsed(options.apply(OPTION));
    for (JsonNode names : told.get("names")) {
      // A filter names columns as the schema has them; what it would leave out here, Spark leaves out later.
      others.add(reader.of(named(data, names), named(required, names), none(), new Configuration(settings)));
    }
    for (Map.Entry<String, JsonNode> file : told.get("files").properties()) {
      files.put(file.getKey(), file.getValue().asInt());
    }
  }

  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    String uri = file.urlEncodedPath();
    // Hadoop writes an empty authority or none
    Integer position = files.get(uri.startsWith("file:///") ? "file:" + uri.substring("file://".length()) : uri);
    return (position == null ? usual : others.get(position)).apply(file);
  }

  private static StructType named(StructType schema, JsonNode names) {
    List<StructField> fields = new ArrayList<>();
    for (StructField field : schema.fields()) {
      JsonNode other = names.get(field.name());
      String name = other == null ? field.name() : other.asText();
      fields.add(new StructField(name, field.dataType(), field.nullable(), field.metadata()));
    }
    return new StructType(fields.toArray(new StructField[0]));
  }

  private static JsonNode parsed(String text) {
    try {
      return new ObjectMapper().readTree(text);
    } catch (JsonProcessingException wrong) {
      throw new IllegalArgumentException(wrong);
    }
  }

  @SuppressWarnings("unchecked")
  private static Seq<Filter> none() {
    return (Seq<Filter>) (Seq<?>) Nil$.MODULE$;
  }
}
