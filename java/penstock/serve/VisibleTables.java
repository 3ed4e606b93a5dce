package penstock.serve;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.CurrentUserContext;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.catalyst.catalog.InMemoryCatalog;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The catalog of the endpoint's Spark: a client finds in it the tables that the user may read. Statements (SHOW TABLES,
 * DESCRIBE) and the metadata calls of drivers all ask it.
 *
 * <p>Relies on: Spark's internal {@code ExternalCatalog}, on {@code CurrentUserContext} and the active session, which the
 * Thrift server sets for each operation, and on the field {@code delegate} of {@code ExternalCatalogWithListener}.
 *
 * <p>Without the field the endpoint does not start.
 */
final class VisibleTables extends InMemoryCatalog {
  private final Endpoint endpoint;

  private VisibleTables(Endpoint endpoint, SparkConf settings, Configuration hadoop) {
    super(settings, hadoop);
    this.endpoint = endpoint;
  }

  /** Puts this in the place of the catalog of {@code endpoint}, with the tables that it has. */
  static void install(Endpoint endpoint) {
    var main = (org.apache.spark.sql.classic.SparkSession) endpoint.main;
    ExternalCatalogWithListener shared = main.sharedState().externalCatalog();
    ExternalCatalog before = shared.unwrapped();
    VisibleTables catalog =
        new VisibleTables(
            endpoint, main.sparkContext().conf(), main.sparkContext().hadoopConfiguration());
    for (String schema : CollectionConverters.asJava(before.listDatabases())) {
      catalog.createDatabase(before.getDatabase(schema), true);
      for (String table : CollectionConverters.asJava(before.listTables(schema))) {
        catalog.createTable(before.getTable(schema, table), false);
      }
    }
    try {
      Field delegate = ExternalCatalogWithListener.class.getDeclaredField("delegate");
      delegate.setAccessible(true);
      delegate.set(shared, catalog);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("This Spark keeps its catalog elsewhere: " + error, error);
    }
  }

  @Override
  public synchronized Seq<String> listDatabases() {
    return visibleSchemas(super.listDatabases());
  }

  @Override
  public synchronized Seq<String> listDatabases(String pattern) {
    return visibleSchemas(super.listDatabases(pattern));
  }

  @Override
  public synchronized Seq<String> listTables(String schema) {
    return visible(schema, super.listTables(schema));
  }

  @Override
  public synchronized Seq<String> listTables(String schema, String pattern) {
    return visible(schema, super.listTables(schema, pattern));
  }

  @Override
  public synchronized boolean tableExists(String schema, String table) {
    return super.tableExists(schema, table) && isVisible(schema, table);
  }

  @Override
  public synchronized CatalogTable getTable(String schema, String table) {
    if (!isVisible(schema, table)) {
      throw new RefusedException(endpoint.door.refusal("SQL_TABLE_NOT_SERVED", schema + "." + table));
    }
    return super.getTable(schema, table);
  }

  @Override
  public Seq<CatalogTable> getTablesByName(String schema, Seq<String> tables) {
    return super.getTablesByName(schema, visible(schema, tables));
  }

  private boolean isVisible(String schema, String table) {
    return !visible(schema, CollectionConverters.asScala(List.of(table)).toSeq()).isEmpty();
  }

  /** A schema whose tables are all hidden is hidden, too. */
  private Seq<String> visibleSchemas(Seq<String> schemas) {
    return kept(
        CollectionConverters.asJava(schemas).stream()
            .filter(each -> super.listTables(each).isEmpty() || !listTables(each).isEmpty())
            .toList());
  }

  private Seq<String> visible(String schema, Seq<String> tables) {
    String user = CurrentUserContext.getCurrentUserOrEmpty();
    Option<SparkSession> session = SparkSession.getActiveSession();
    boolean isClient = !user.isEmpty() || session.isDefined() && session.get() != endpoint.main;
    if (!isClient || tables.isEmpty()) {
      return tables;
    }
    ClientQuery.refuseIf(endpoint.door.admit(user));
    String names = endpoint.door.visible(user, schema, String.join("\n", CollectionConverters.asJava(tables)));
    return kept(names.isEmpty() ? List.of() : Arrays.asList(names.split("\n")));
  }

  private static Seq<String> kept(List<String> names) {
    return CollectionConverters.asScala(names).toSeq();
  }
}
