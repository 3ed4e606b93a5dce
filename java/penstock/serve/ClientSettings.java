package penstock.serve;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Gives a client's session the settings of the endpoint's own: a connection can bring any setting of Spark SQL along,
 * which no statement could refuse. Called before each statement.
 *
 * <p>Relies on: Spark's internal {@code SQLConf}.
 */
final class ClientSettings {
  /** What a client may choose, and what the Thrift server needs. */
  private static final Set<String> OWN = Set.of("spark.sql.session.timeZone", "spark.sql.datetime.java8API.enabled");

  /** With it Spark puts environment variables and system properties into the text of a statement. */
  private static final String SUBSTITUTION = "spark.sql.variable.substitute";

  private ClientSettings() {}

  static void restore(SparkSession session, SparkSession main) {
    SQLConf settings = session.sessionState().conf();
    Map<String, String> shared = CollectionConverters.asJava(main.sessionState().conf().getAllConfs());
    for (String key : CollectionConverters.asJava(settings.getAllConfs()).keySet()) {
      if (!OWN.contains(key) && !shared.containsKey(key)) {
        settings.unsetConf(key);
      }
    }
    shared.forEach(
        (key, value) -> {
          if (!OWN.contains(key) && !value.equals(settings.getConfString(key, null))) {
            settings.setConfString(key, value);
          }
        });
    settings.setConfString(SUBSTITUTION, "false");
  }
}
