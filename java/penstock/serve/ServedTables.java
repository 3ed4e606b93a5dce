package penstock.serve;

import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.CurrentUserContext;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.Dataset;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Puts what readers may see of a served table in the place of its name. Spark applies it after names of WITH are
 * resolved and before it looks names up in its catalog, so no name of a query reaches the catalog, a path or a file.
 *
 * <p>Relies on: Spark's internal {@code UnresolvedRelation}, {@code SubqueryAlias} and {@code QueryExecution.analyzed},
 * and the place of hint resolution in the analyzer; {@link ResolvedPlanCheck} refuses what it did not replace.
 */
final class ServedTables extends Rule<LogicalPlan> {
  static final String CATALOG = "spark_catalog";

  private static final ThreadLocal<Set<String>> OPENED = ThreadLocal.withInitial(LinkedHashSet::new);

  private final SparkSession session;

  ServedTables(SparkSession session) {
    this.session = session;
  }

  /** Returns the tables that the statement of this thread reads. */
  static Set<String> opened() {
    return OPENED.get();
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    Endpoint endpoint = Endpoint.opened();
    if (endpoint == null || endpoint.main == session) {
      return plan;
    }
    return plan.resolveOperatorsUp(
        new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return node instanceof UnresolvedRelation;
          }

          @Override
          @SuppressWarnings("unchecked") // as Scala compiles it
          public <A extends LogicalPlan, B> B applyOrElse(A node, Function1<A, B> otherwise) {
            return node instanceof UnresolvedRelation
                ? (B) served(endpoint, (UnresolvedRelation) node)
                : otherwise.apply(node);
          }
        });
  }

  private LogicalPlan served(Endpoint endpoint, UnresolvedRelation relation) {
    String[] name = nameOf(endpoint, session, relation.multipartIdentifier());
    LogicalPlan rows = open(endpoint, name).queryExecution().analyzed();
    OPENED.get().add(name[0] + "." + name[1]);
    Seq<String> qualifier =
        CollectionConverters.asScala(java.util.List.of(CATALOG, name[0])).toSeq();
    return new SubqueryAlias(new AliasIdentifier(name[1], qualifier), rows);
  }

  /** Returns what the user of this thread may see of a table, given by schema and name; refuses if that is nothing. */
  static Dataset<?> open(Endpoint endpoint, String[] name) {
    Object answer = endpoint.door.open(CurrentUserContext.getCurrentUserOrEmpty(), name[0], name[1]);
    if (answer instanceof Dataset) {
      return (Dataset<?>) answer;
    }
    throw new RefusedException(
        answer == null
            ? endpoint.door.refusal("SQL_TABLE_NOT_SERVED", String.join(".", name))
            : answer.toString());
  }

  /** Returns schema and table of a name, in lower case. */
  static String[] nameOf(Endpoint endpoint, SparkSession session, Seq<String> parts) {
    java.util.List<String> name = CollectionConverters.asJava(parts);
    int count = name.size();
    boolean inCatalog = count < 3 || count == 3 && name.get(0).equalsIgnoreCase(CATALOG);
    if (!inCatalog) {
      throw new RefusedException(endpoint.door.refusal("SQL_TABLE_NOT_SERVED", String.join(".", name)));
    }
    String schema = count == 1 ? session.catalog().currentDatabase() : name.get(count - 2);
    return new String[] {schema.toLowerCase(Locale.ROOT), name.get(count - 1).toLowerCase(Locale.ROOT)};
  }
}
