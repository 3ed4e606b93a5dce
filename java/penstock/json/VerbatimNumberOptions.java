package penstock.json;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.util.JsonGeneratorDelegate;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigDecimal;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import scala.collection.immutable.Map;

/**
 * Options of Spark's JSON reader with which the JSON text of a nested value keeps its numbers as they are written.
 *
 * <p>Relies on: Spark's internal {@code JSONOptions.buildJsonFactory}; Jackson's protected members
 * {@code JsonFactory(JsonFactory, ObjectCodec)}, {@code JsonGenerator._copyCurrentIntValue} and
 * {@code _copyCurrentFloatValue}.
 *
 * <p>Without it: a changed class or constructor is a LinkageError, which ends the query. If Jackson no longer calls the
 * {@code _copyCurrent} methods, numbers are rewritten from a double.
 *
 * <p>Spark copies such a value with Jackson's generator, which writes each number again from a double.
 */
final class VerbatimNumberOptions extends JSONOptions {
  private static final long serialVersionUID = 1;
  private static final int MAX_DIGITS = 37;
  private static final String TOO_LONG = "1" + "0".repeat(2 * MAX_DIGITS); // no decimal has so many digits

  VerbatimNumberOptions(Map<String, String> options, String timeZone, String corrupt) {
    super(options, timeZone, corrupt);
  }

  /** Returns a factory whose generators write a number with an exponent as one with a fraction. */
  static JsonFactory withoutExponents(Map<String, String> options, String timeZone) {
    return new Factory(new JSONOptions(options, timeZone, "").buildJsonFactory(), true);
  }

  @Override
  public JsonFactory buildJsonFactory() {
    return new Factory(super.buildJsonFactory(), false);
  }

  private static final class Factory extends JsonFactory {
    private static final long serialVersionUID = 1;

    private final boolean plain;

    private Factory(JsonFactory same, boolean plain) {
      super(same, null);
      this.plain = plain;
    }

    @Override
    public JsonGenerator createGenerator(OutputStream out, JsonEncoding encoding) throws IOException {
      return new Generator(super.createGenerator(out, encoding), plain);
    }
  }

  private static final class Generator extends JsonGeneratorDelegate {
    private final boolean plain;

    private Generator(JsonGenerator generator, boolean plain) {
      super(generator, false); // false: a structure is copied by the methods below, not by the delegate's
      this.plain = plain;
    }

    @Override
    protected void _copyCurrentIntValue(JsonParser parser) throws IOException {
      writeNumber(parser.getTextCharacters(), parser.getTextOffset(), parser.getTextLength());
    }

    @Override
    protected void _copyCurrentFloatValue(JsonParser parser) throws IOException {
      if (parser.isNaN()) {
        super._copyCurrentFloatValue(parser); // in quotes: JSON has no such number
      } else if (plain && parser.getDecimalValue().scale() < 0) {
        BigDecimal number = parser.getDecimalValue();
        boolean isLong = number.precision() - (long) number.scale() > MAX_DIGITS;
        writeNumber(isLong ? TOO_LONG : number.toPlainString() + ".0");
      } else {
        _copyCurrentIntValue(parser);
      }
    }
  }
}
