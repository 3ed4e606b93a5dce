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
 * Spark's JSON parser, which keeps a number as it is written in a STRING column, and records the columns whose DECIMAL
 * or DOUBLE does not have all digits of the number.
 *
 * <p>Relies on: Spark's internal {@code JacksonParser} as its superclass, whose constructor calls
 * {@code makeConverter}; {@code ExprUtils.getDecimalParser}, {@code JSONOptions.locale} and {@code UTF8String}.
 *
 * <p>Without it: a changed class or method is a LinkageError in the tasks. If Spark no longer calls
 * {@code makeConverter}, numbers are converted, and rounded, as by {@code from_json}, and no column is recorded.
 */
final class RecordParser extends JacksonParser {
  private static final int MAX_DIGITS = 38;
  private static final int DIGITS_OF_DOUBLE = 17; // a DOUBLE is never written with more
  private static final double EXACT_INTEGERS = 1L << 53; // a DOUBLE can hold all integers up to here

  private final Function1<String, BigDecimal> decimals;
  private final TreeSet<String> rounded = new TreeSet<>();

  @SuppressWarnings("unchecked")
  RecordParser(StructType columns, JSONOptions options) {
    super(columns, options, false, (scala.collection.immutable.Seq<org.apache.spark.sql.sources.Filter>)
        (scala.collection.immutable.Seq<?>) Nil$.MODULE$);
    this.decimals = ExprUtils.getDecimalParser(options.locale());
  }

  /** Returns the columns whose numbers were rounded since the set was cleared. */
  TreeSet<String> rounded() {
    return rounded;
  }

  /** Returns Spark's converter, or an exact one. Spark's constructor calls this too, when the fields are still null. */
  @Override
  public Function1<JsonParser, Object> makeConverter(DataType type) {
    Function1<JsonParser, Object> sparkConverter = super.makeConverter(type);
    if (type instanceof StringType) {
      return parser -> isNumber(value(parser)) ? UTF8String.fromString(text(parser)) : sparkConverter.apply(parser);
    }
    if (type instanceof DecimalType) {
      return parser -> {
        BigDecimal number = number(parser);
        return number == null ? sparkConverter.apply(parser) : decimal(number, (DecimalType) type, parser);
      };
    }
    if (type instanceof DoubleType) {
      return parser -> isNumber(value(parser)) ? (Object) doubleOf(parser) : sparkConverter.apply(parser);
    }
    return sparkConverter;
  }

  /** Returns the DOUBLE, and records the column of an integer that it does not equal: it may be a key. */
  private double doubleOf(JsonParser parser) {
    try {
      double number = parser.getDoubleValue();
      if (Math.abs(number) >= EXACT_INTEGERS && !parser.isNaN()) {
        if (Double.isInfinite(number)) {
          throw new ArithmeticException("number out of range");
        }
        BigDecimal exact = parser.getDecimalValue();
        boolean mayLose = parser.hasToken(JsonToken.VALUE_NUMBER_INT) || exact.precision() > DIGITS_OF_DOUBLE;
        if (mayLose
            && exact.compareTo(new BigDecimal(number)) != 0
            && exact.compareTo(BigDecimal.valueOf(number)) != 0) {
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
      throw new ArithmeticException("number out of range"); // before a number such as 1e999999999 is written out
    }
    BigDecimal scaled =
        beforePoint < -MAX_DIGITS ? BigDecimal.ZERO : number.setScale(type.scale(), RoundingMode.HALF_UP);
    if (scaled.precision() > type.precision()) {
      throw new ArithmeticException("rounded number out of range");
    }
    if (scaled.compareTo(number) != 0) {
      rounded.add(column(parser));
    }
    return Decimal.apply(scaled, type.precision(), type.scale());
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

  /** Returns the token of the value, after moving on from the name of a field, as Spark's converters do. */
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
