package penstock.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.ExprUtils;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.collection.immutable.Nil$;

/**
 * Spark's parser of JSON, which keeps the characters of a number in a column of texts, and notes the columns whose
 * DECIMAL or DOUBLE has not all digits of the number.
 */
final class RecordParser extends JacksonParser {
  private static final int MOST_DIGITS = 38;
  private static final int DIGITS_OF_DOUBLE = 17; // nobody writes a DOUBLE with more
  private static final double WHOLE_NUMBERS = 1L << 53; // a DOUBLE holds all of them up to here

  private final Function1<String, BigDecimal> decimals;
  private final TreeSet<String> rounded = new TreeSet<>();

  @SuppressWarnings("unchecked")
  RecordParser(StructType columns, JSONOptions options) {
    super(columns, options, false, (scala.collection.immutable.Seq<org.apache.spark.sql.sources.Filter>)
        (scala.collection.immutable.Seq<?>) Nil$.MODULE$);
    this.decimals = ExprUtils.getDecimalParser(options.locale());
  }

  /** The columns whose numbers were rounded since this was emptied. */
  TreeSet<String> rounded() {
    return rounded;
  }

  /** Spark's constructor calls this too, before the fields above are there. */
  @Override
  public Function1<JsonParser, Object> makeConverter(DataType type) {
    Function1<JsonParser, Object> sparks = super.makeConverter(type);
    if (type instanceof StringType) {
      return parser -> isNumber(value(parser)) ? UTF8String.fromString(text(parser)) : sparks.apply(parser);
    }
    if (type instanceof DecimalType) {
      return parser -> {
        BigDecimal number = number(parser);
        return number == null ? sparks.apply(parser) : decimal(number, (DecimalType) type, parser);
      };
    }
    if (type instanceof DoubleType) {
      return parser -> isNumber(value(parser)) ? (Object) doubleOf(parser) : sparks.apply(parser);
    }
    return sparks;
  }

  /** The digits of a whole number may be a key; those of a fraction are as near as a DOUBLE comes. */
  private double doubleOf(JsonParser parser) {
    try {
      double number = parser.getDoubleValue();
      if (Math.abs(number) >= WHOLE_NUMBERS && !parser.isNaN()) {
        if (Double.isInfinite(number)) {
          throw new ArithmeticException("no room");
        }
        BigDecimal exact = parser.getDecimalValue();
        boolean mayLose = parser.hasToken(JsonToken.VALUE_NUMBER_INT) || exact.precision() > DIGITS_OF_DOUBLE;
        if (mayLose && exact.compareTo(new BigDecimal(number)) != 0 && exact.compareTo(BigDecimal.valueOf(number)) != 0) {
          rounded.add(column(parser));
        }
      }
      return number;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private Decimal decimal(BigDecimal number, DecimalType type, JsonParser parser) {
    int beforePoint = number.precision() - number.scale();
    if (number.signum() != 0 && beforePoint > type.precision() - type.scale()) {
      throw new ArithmeticException("no room"); // before a number such as 1e999999999 is written out
    }
    BigDecimal fitting =
        beforePoint < -MOST_DIGITS ? BigDecimal.ZERO : number.setScale(type.scale(), RoundingMode.HALF_UP);
    if (fitting.precision() > type.precision()) {
      throw new ArithmeticException("no room for the rounded number");
    }
    if (fitting.compareTo(number) != 0) {
      rounded.add(column(parser));
    }
    return Decimal.apply(fitting, type.precision(), type.scale());
  }

  private BigDecimal number(JsonParser parser) {
    try {
      JsonToken token = value(parser);
      if (token == JsonToken.VALUE_STRING && parser.getTextLength() > 0) {
        return decimals.apply(parser.getText());
      }
      return isNumber(token) ? parser.getDecimalValue() : null;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Goes on to the value where a parser is at the name of a field, as Spark's converters do. */
  private static JsonToken value(JsonParser parser) {
    try {
      return parser.hasToken(JsonToken.FIELD_NAME) ? parser.nextToken() : parser.currentToken();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private static String text(JsonParser parser) {
    try {
      return parser.getText();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private static boolean isNumber(JsonToken token) {
    return token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT;
  }

  private static String column(JsonParser parser) {
    String name = "";
    for (JsonStreamContext at = parser.getParsingContext(); at != null && !at.inRoot(); at = at.getParent()) {
      name = at.inObject() ? at.getCurrentName() : name;
    }
    return name;
  }
}
