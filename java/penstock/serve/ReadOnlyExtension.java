package penstock.serve;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Makes the sessions of the SQL endpoint's clients read-only, and shows them the served tables only: statements that
 * are no query are refused when they are parsed, and names are resolved to what readers may see.
 *
 * <p>Relies on: the public {@code SparkSessionExtensions}; in {@code spark.sql.extensions} it must be the last one, so
 * that its parser sees the statements first.
 */
public final class ReadOnlyExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectParser(
        new scala.runtime.AbstractFunction2<>() {
          @Override
          public org.apache.spark.sql.catalyst.parser.ParserInterface apply(
              org.apache.spark.sql.SparkSession session,
              org.apache.spark.sql.catalyst.parser.ParserInterface parser) {
            return new ReadOnlyParser(session, parser);
          }
        });
    extensions.injectHintResolutionRule(
        new AbstractFunction1<>() {
          @Override
          public ServedTables apply(org.apache.spark.sql.SparkSession session) {
            return new ServedTables(session);
          }
        });
    return BoxedUnit.UNIT;
  }
}
