package penstock.serve;

import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.CallMethodViaReflection;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The second wall: refuses a resolved query of a client that reads anything but served tables, or calls Java, however it
 * came past the parser. No check rule of the session, because Delta reads its log with queries of the same session.
 *
 * <p>Relies on: Spark's internal plans and expressions, by class and by name.
 */
final class ResolvedPlanCheck {
  /** Sources of rows that read nothing. */
  private static final Set<String> LEAVES =
      Set.of("OneRowRelation", "LocalRelation", "EmptyRelation", "Range", "CTERelationRef", "UnionLoopRef");

  private ResolvedPlanCheck() {}

  /** Refuses the resolved query of a client unless all of its rows are those of tables that its names opened. */
  static void check(Endpoint endpoint, LogicalPlan plan) {
    if (plan instanceof SubqueryAlias && isServed((SubqueryAlias) plan)) {
      return; // its filter and masks may call what they like
    }
    List<LogicalPlan> children = CollectionConverters.asJava(plan.children());
    String kind = plan.getClass().getSimpleName().replace("$", "");
    if (children.isEmpty() && !LEAVES.contains(kind) || plan instanceof Command) {
      refuse(endpoint, kind);
    }
    for (LogicalPlan child : children) {
      check(endpoint, child);
    }
    for (Expression expression : CollectionConverters.asJava(plan.expressions())) {
      check(endpoint, expression);
    }
  }

  private static void check(Endpoint endpoint, Expression expression) {
    if (expression instanceof CallMethodViaReflection) {
      refuse(endpoint, "reflect");
    }
    if (expression instanceof PlanExpression && ((PlanExpression<?>) expression).plan() instanceof LogicalPlan) {
      check(endpoint, (LogicalPlan) ((PlanExpression<?>) expression).plan());
    }
    for (Expression child : CollectionConverters.asJava(expression.children())) {
      check(endpoint, child);
    }
  }

  private static boolean isServed(SubqueryAlias alias) {
    List<String> qualifier = CollectionConverters.asJava(alias.identifier().qualifier());
    return qualifier.size() == 2
        && qualifier.get(0).equals(ServedTables.CATALOG)
        && ServedTables.opened().contains(qualifier.get(1) + "." + alias.identifier().name());
  }

  private static void refuse(Endpoint endpoint, String kind) {
    throw new RefusedException(endpoint.door.refusal("SQL_STATEMENT_REFUSED", kind));
  }
}
