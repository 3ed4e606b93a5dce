package penstock.serve;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.DescribeQueryCommand;
import org.apache.spark.sql.execution.command.ExplainCommand;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Which parsed statements a client may run: queries of the nodes below, and commands that show names and types. What
 * is not listed is refused, so a statement that a later Spark adds is, too.
 *
 * <p>Relies on: the names of Spark's internal parsed plans.
 */
final class ReadOnlyStatement {
  private static final Set<String> QUERY_NODES =
      Set.of(
          // rows
          "UnresolvedRelation", "UnresolvedInlineTable", "ResolvedInlineTable", "UnresolvedTableValuedFunction",
          "OneRowRelation", "LocalRelation", "Range",
          // SELECT
          "Project", "Filter", "Aggregate", "UnresolvedHaving", "Distinct", "Sort", "GlobalLimit", "LocalLimit",
          "Offset", "LimitAll", "Sample", "Generate", "Window", "WithWindowDefinition", "UnresolvedQualify", "Pivot",
          "Unpivot", "UnresolvedHint", "Repartition", "RepartitionByExpression", "RebalancePartitions", "Expand",
          // several queries
          "Join", "LateralJoin", "AsOfJoin", "NearestByJoin", "Union", "Except", "Intersect", "UnresolvedWith",
          "SubqueryAlias", "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases", "Subquery",
          // operators of |>
          "PipeOperator", "DataFrameDropColumns");

  private static final Set<String> COMMANDS =
      Set.of(
          "SetCatalogAndNamespace", "SetNamespaceCommand", "SetCommand",
          "ShowTables", "ShowTablesCommand", "ShowNamespaces", "ShowNamespacesCommand", "ShowColumns",
          "ShowColumnsCommand", "ShowViews", "ShowViewsCommand", "ShowFunctions", "ShowFunctionsCommand",
          "ShowCatalogsCommand", "ShowCurrentNamespaceCommand",
          "DescribeRelation", "DescribeTableCommand", "DescribeColumn", "DescribeColumnCommand", "DescribeNamespace",
          "DescribeDatabaseCommand", "DescribeFunction", "DescribeFunctionCommand");

  private static final Set<String> TABLE_FUNCTIONS =
      Set.of(
          "range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack",
          "json_tuple", "sql_keywords", "variant_explode", "variant_explode_outer");

  /** They call any Java method, or read a file of this machine. */
  private static final Set<String> REFUSED_FUNCTIONS =
      Set.of("reflect", "java_method", "try_reflect", "from_protobuf", "to_protobuf");

  private ReadOnlyStatement() {}

  /** Returns what a statement must not contain, null if a client may run it. */
  static String refusedPart(LogicalPlan plan) {
    LogicalPlan query = queryOf(plan);
    if (query != null) {
      return refusedInQuery(query);
    }
    return isCommand(plan) ? null : refusedInQuery(plan);
  }

  /** Returns the query that a command is about, null if it is about none. */
  static LogicalPlan queryOf(LogicalPlan plan) {
    if (plan instanceof ExplainCommand) {
      return ((ExplainCommand) plan).logicalPlan();
    }
    return plan instanceof DescribeQueryCommand ? ((DescribeQueryCommand) plan).plan() : null;
  }

  static boolean isCommand(LogicalPlan plan) {
    return queryOf(plan) != null || COMMANDS.contains(kindOf(plan));
  }

  private static String refusedInQuery(LogicalPlan plan) {
    String kind = kindOf(plan);
    if (!QUERY_NODES.contains(kind)) {
      return kind;
    }
    if (plan instanceof UnresolvedRelation) {
      UnresolvedRelation relation = (UnresolvedRelation) plan;
      if (relation.isStreaming() || !relation.options().isEmpty()) {
        return relation.isStreaming() ? "STREAM" : "WITH (options)";
      }
    }
    if (plan instanceof UnresolvedTableValuedFunction) {
      String name = last(((UnresolvedTableValuedFunction) plan).name());
      if (!TABLE_FUNCTIONS.contains(name)) {
        return name;
      }
    }
    for (LogicalPlan child : CollectionConverters.asJava(plan.children())) {
      String refused = refusedInQuery(child);
      if (refused != null) {
        return refused;
      }
    }
    if (plan instanceof org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith) {
      for (var relation :
          CollectionConverters.asJava(((org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith) plan).cteRelations())) {
        String refused = refusedInQuery((LogicalPlan) relation._2());
        if (refused != null) {
          return refused;
        }
      }
    }
    return refusedInExpressions(CollectionConverters.asJava(plan.expressions()));
  }

  private static String refusedInExpressions(List<Expression> expressions) {
    for (Expression each : expressions) {
      String kind = each.getClass().getSimpleName();
      if (kind.equals("ExpressionWithUnresolvedIdentifier")) {
        return "IDENTIFIER";
      }
      if (each instanceof UnresolvedFunction) {
        String name = last(((UnresolvedFunction) each).nameParts());
        if (REFUSED_FUNCTIONS.contains(name)) {
          return name;
        }
      }
      String refused = null;
      if (each instanceof PlanExpression && ((PlanExpression<?>) each).plan() instanceof LogicalPlan) {
        refused = refusedInQuery((LogicalPlan) ((PlanExpression<?>) each).plan());
      }
      if (refused == null) {
        refused = refusedInExpressions(CollectionConverters.asJava(each.children()));
      }
      if (refused != null) {
        return refused;
      }
    }
    return null;
  }

  private static String last(scala.collection.immutable.Seq<String> parts) {
    return parts.last().toLowerCase(Locale.ROOT);
  }

  private static String kindOf(LogicalPlan plan) {
    return plan.getClass().getSimpleName().replace("$", "");
  }
}
