package penstock.serve;

import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.CurrentUserContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/**
 * One query of a client, from its plan to its rows, within the limits of the endpoint.
 *
 * <p>Relies on: Spark's internal {@code QueryExecution}, {@code SQLExecution}, {@code LocalRelation} and
 * {@code CurrentUserContext}, in which the Thrift server puts the user.
 */
final class ClientQuery {
  private static final String POOL = "spark.scheduler.pool";
  private static final ThreadLocal<Boolean> RUNNING = ThreadLocal.withInitial(() -> false);

  private ClientQuery() {}

  static boolean isRunning() {
    return RUNNING.get();
  }

  /** Returns the rows of a query as a plan, recorded. */
  static LogicalPlan run(Endpoint endpoint, SparkSession session, String text, LogicalPlan plan) {
    String user = CurrentUserContext.getCurrentUserOrEmpty();
    SparkContext context = session.sparkContext();
    String pool = context.getLocalProperty(POOL);
    ServedTables.opened().clear();
    RUNNING.set(true);
    Endpoint.Running query = endpoint.begin(user);
    try (query) {
      refuseIf(endpoint.door.admit(user)); // after it counts as running: a revocation meanwhile ends it
      context.setLocalProperty(POOL, "user " + user); // so that a user's long query does not hold up others'
      LogicalPlan rows = collected(endpoint, session, user, text, plan);
      refuseIfEnded(endpoint, query, null);
      return rows;
    } catch (RefusedException error) {
      throw error;
    } catch (OutOfMemoryError error) { // of this thread, which has let go of all that it held
      throw outOfMemory(endpoint, error);
    } catch (Exception error) { // an InterruptedException of Spark is undeclared
      refuseIfEnded(endpoint, query, error);
      if (ranOutOfMemory(error)) {
        throw outOfMemory(endpoint, error);
      }
      if (String.valueOf(error.getMessage()).contains("spark.driver.maxResultSize")) {
        throw new RefusedException(endpoint.door.refusal("SQL_RESULT_TOO_LARGE", "compressed it is larger still"));
      }
      throw error;
    } finally {
      RUNNING.set(false);
      context.setLocalProperty(POOL, pool);
    }
  }

  /** Whether a task did: Spark has its error as text, behind the words for the job. */
  private static boolean ranOutOfMemory(Throwable error) {
    for (Throwable each = error; each != null; each = each.getCause()) {
      if (each instanceof OutOfMemoryError || String.valueOf(each.getMessage()).contains("java.lang.OutOfMemoryError")) {
        return true;
      }
    }
    return false;
  }

  private static RefusedException outOfMemory(Endpoint endpoint, Throwable error) {
    endpoint.noteOutOfMemory();
    RefusedException refusal = new RefusedException(endpoint.door.refusal("SQL_OUT_OF_MEMORY", ""));
    refusal.addSuppressed(error);
    return refusal;
  }

  private static LogicalPlan collected(
      Endpoint endpoint, SparkSession session, String user, String text, LogicalPlan plan) {
    QueryExecution execution = analyzed(endpoint, session, plan);
    List<InternalRow> rows =
        SQLExecution.withNewExecutionId(
            execution,
            Option.empty(),
            new AbstractFunction0<>() {
              @Override
              public List<InternalRow> apply() {
                return BoundedRows.of(endpoint, execution.executedPlan());
              }
            });
    refuseIf(endpoint.door.record(user, text, String.join("\n", ServedTables.opened()), rows.size()));
    return new LocalRelation(
        execution.analyzed().output(),
        CollectionConverters.asScala(rows).toSeq(),
        false,
        Option.empty());
  }

  /** Returns a resolved query, which reads served tables only. */
  static QueryExecution analyzed(Endpoint endpoint, SparkSession session, LogicalPlan plan) {
    QueryExecution execution =
        Dataset$.MODULE$.ofRows((org.apache.spark.sql.classic.SparkSession) session, plan).queryExecution();
    ResolvedPlanCheck.check(endpoint, execution.analyzed());
    return execution;
  }

  private static void refuseIfEnded(Endpoint endpoint, Endpoint.Running query, Exception error) {
    if (query.condition != null) {
      RefusedException refusal = new RefusedException(endpoint.door.refusal(query.condition, query.user));
      if (error != null) {
        refusal.addSuppressed(error);
      }
      throw refusal;
    }
  }

  static void refuseIf(String refusal) {
    if (refusal != null) {
      throw new RefusedException(refusal);
    }
  }
}
