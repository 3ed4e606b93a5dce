package penstock.delta;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.delta.sources.DeltaDataSource;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import scala.Option;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Before Spark optimizes a query or runs a command, has {@link KnownState} look at the newest snapshot of each Delta
 * table in it, as Delta has cached it. A snapshot that Delta reads only then computes its own state.
 *
 * <p>Relies on: the public {@code SparkSessionExtensions}, whose rules for the normalization of a plan run once for
 * each query, before the optimizer; Spark's {@code LogicalRelation}, {@code SaveIntoDataSourceCommand}; Delta's
 * {@code TahoeLogFileIndex}, {@code DeltaLog}, and that its commands have one of them among their elements.
 *
 * <p>Without it: a session without this class warns of that in its log, and Delta computes each state itself.
 */
public final class KnownStateExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectPlanNormalizationRule(
        new AbstractFunction1<>() {
          @Override
          public Rule<LogicalPlan> apply(SparkSession session) {
            return new Look(session);
          }
        });
    return BoxedUnit.UNIT;
  }

  private static final class Look extends Rule<LogicalPlan> {
    private final SparkSession session;

    Look(SparkSession session) {
      this.session = session;
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      try {
        lookAt(plan);
      } catch (Exception | LinkageError failure) {
        LogCheckpoints.ignore(failure); // Delta computes the state itself
      }
      return plan;
    }

    private void lookAt(LogicalPlan plan) {
      plan.foreachWithSubqueries(
          new AbstractFunction1<>() {
            @Override
            public BoxedUnit apply(LogicalPlan node) {
              lookAtNode(node);
              return BoxedUnit.UNIT;
            }
          });
    }

    private void lookAtNode(LogicalPlan node) {
      if (node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
        lookAtElement(files.location());
      } else if (node instanceof SaveIntoDataSourceCommand save && save.dataSource() instanceof DeltaDataSource) {
        Option<String> path = save.options().get("path");
        if (path.isDefined()) {
          DeltaLog log = DeltaLog.forTable(session, new Path(path.get()), save.options()); // as the command does
          lookAt(log, save.mode() == SaveMode.Overwrite);
        }
      } else if (node instanceof Command) {
        for (Iterator<Object> each = node.productIterator(); each.hasNext(); ) {
          lookAtElement(each.next());
        }
      }
    }

    private void lookAtElement(Object element) {
      if (element instanceof TahoeLogFileIndex index) {
        lookAt(index.deltaLog(), true);
      } else if (element instanceof DeltaLog log) {
        lookAt(log, true);
      } else if (element instanceof LogicalPlan plan) {
        lookAt(plan);
      }
    }

    /** {@code files} says whether the table's files will be asked for, and not only its numbers. */
    private void lookAt(DeltaLog log, boolean files) {
      Snapshot snapshot = log.unsafeVolatileSnapshot();
      try {
        if (files) {
          SmallLog.read(snapshot);
        }
        KnownState.remember(snapshot);
      } catch (ReflectiveOperationException | IOException failure) {
        LogCheckpoints.ignore(failure);
      }
    }
  }
}
