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
 * Reads the files of a scan with Spark's reader of their format, some of them under other column names.
 *
 * <p>Relies on: Spark's internal {@code PartitionedFile.urlEncodedPath} and {@code InternalRow}, and how
 * {@code FileFormat} builds a reader: a {@code Function1} from a file to its rows.
 *
 * <p>Without it: a LinkageError or ClassCastException in the tasks, which ends the query.
 *
 * <p>If a column has another type in a file than in the schema, the schema has a second column of that type. In this
 * file the second column has the name of the first, and the first a name that the file does not contain.
 */
final class RenamedColumnsReader extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>>
    implements Serializable {
  /** The option with the names: {@code {"names": [{column: name in the file}], "files": {uri: position in names}}}. */
  private static final String OPTION = "penstock.otherNames";

  private static final long serialVersionUID = 1;

  private final Function1<PartitionedFile, Iterator<InternalRow>> unrenamed;
  private final ArrayList<Function1<PartitionedFile, Iterator<InternalRow>>> renamed = new ArrayList<>();
  private final HashMap<String, Integer> files = new HashMap<>();

  /** Builds the reader of Spark's own format. */
  interface Reader {
    Function1<PartitionedFile, Iterator<InternalRow>> of(
        StructType data, StructType required, Seq<Filter> filters, Configuration settings);
  }

  /** Reads with what {@code reader} builds, under the names that the options of a read give. */
  RenamedColumnsReader(
      scala.collection.immutable.Map<String, String> options,
      StructType data,
      StructType required,
      Seq<Filter> filters,
      Configuration settings,
      Reader reader) {
    unrenamed = reader.of(data, required, filters, new Configuration(settings)); // the format sets its columns there
    JsonNode option = parse(options.apply(OPTION));
    for (JsonNode names : option.get("names")) {
      // Without filters, which name columns as the schema does: Spark applies them again to the rows.
      renamed.add(reader.of(rename(data, names), rename(required, names), none(), new Configuration(settings)));
    }
    for (Map.Entry<String, JsonNode> file : option.get("files").properties()) {
      files.put(file.getKey(), file.getValue().asInt());
    }
  }

  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    String uri = file.urlEncodedPath();
    // Hadoop spells a URI with an empty authority or with none
    Integer position = files.get(uri.startsWith("file:///") ? "file:" + uri.substring("file://".length()) : uri);
    return (position == null ? unrenamed : renamed.get(position)).apply(file);
  }

  private static StructType rename(StructType schema, JsonNode names) {
    List<StructField> fields = new ArrayList<>();
    for (StructField field : schema.fields()) {
      JsonNode other = names.get(field.name());
      String name = other == null ? field.name() : other.asText();
      fields.add(new StructField(name, field.dataType(), field.nullable(), field.metadata()));
    }
    return new StructType(fields.toArray(new StructField[0]));
  }

  private static JsonNode parse(String text) {
    try {
      return new ObjectMapper().readTree(text);
    } catch (JsonProcessingException invalid) {
      throw new IllegalArgumentException(invalid);
    }
  }

  @SuppressWarnings("unchecked")
  private static Seq<Filter> none() {
    return (Seq<Filter>) (Seq<?>) Nil$.MODULE$;
  }
}
