package penstock.serve;

import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.CurrentUserContext;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.SetCommand;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The parser of a client's session: refuses what is not allowed, and runs queries, so that their rows are counted and
 * recorded before the Thrift server has any to show.
 *
 * <p>Relies on: Spark's internal {@code ParserInterface}, which {@code SparkSessionExtensions} passes on.
 */
final class ReadOnlyParser implements ParserInterface {
  private static final String TIME_ZONE = "spark.sql.session.timeZone";
  private static final Set<String> SETTINGS = Set.of(TIME_ZONE.toLowerCase(java.util.Locale.ROOT));
  private static final String SHOWN = "SELECT '" + TIME_ZONE + "' AS key, current_timezone() AS value";

  private final SparkSession session;
  private final ParserInterface spark;

  ReadOnlyParser(SparkSession session, ParserInterface spark) {
    this.session = session;
    this.spark = spark;
  }

  @Override
  public LogicalPlan parsePlan(String text) throws ParseException {
    Endpoint endpoint = ofClient();
    return endpoint == null ? spark.parsePlan(text) : readOnly(endpoint, text, parsed(text, null));
  }

  @Override
  public LogicalPlan parsePlanWithParameters(String text, ParameterContext parameters) throws ParseException {
    Endpoint endpoint = ofClient();
    return endpoint == null
        ? spark.parsePlanWithParameters(text, parameters)
        : readOnly(endpoint, text, parsed(text, parameters));
  }

  private Endpoint ofClient() {
    Endpoint endpoint = Endpoint.opened();
    return endpoint == null || endpoint.main == session ? null : endpoint;
  }

  private LogicalPlan parsed(String text, ParameterContext parameters) throws ParseException {
    ClientSettings.restore(session, Endpoint.opened().main);
    return parameters == null ? spark.parsePlan(text) : spark.parsePlanWithParameters(text, parameters);
  }

  private LogicalPlan readOnly(Endpoint endpoint, String text, LogicalPlan plan) throws ParseException {
    String user = CurrentUserContext.getCurrentUserOrEmpty();
    if (!user.isEmpty()) { // else it is the USE of a session that is being opened
      ClientQuery.refuseIf(endpoint.door.admit(user));
    }
    String refused = ReadOnlyStatement.refusedPart(plan);
    if (refused != null) {
      throw new RefusedException(endpoint.door.refusal("SQL_STATEMENT_REFUSED", refused));
    }
    if (plan instanceof SetCommand) {
      return settings(endpoint, (SetCommand) plan);
    }
    if (ReadOnlyStatement.isCommand(plan)) {
      ServedTables.opened().clear();
      requireServed(endpoint, plan);
      LogicalPlan query = ReadOnlyStatement.queryOf(plan);
      if (query != null) {
        ClientQuery.analyzed(endpoint, session, query);
      }
      return plan;
    }
    if (ClientQuery.isRunning()) { // Spark parses within a query, too
      return plan;
    }
    return ClientQuery.run(endpoint, session, text, plan);
  }

  /** A name in DESCRIBE must be that of a table that the user may read: Spark would describe a path, too. */
  private void requireServed(Endpoint endpoint, LogicalPlan plan) {
    if (plan instanceof UnresolvedTableOrView) {
      String[] name = ServedTables.nameOf(endpoint, session, ((UnresolvedTableOrView) plan).multipartIdentifier());
      ServedTables.open(endpoint, name);
      if (!session.sessionState().catalog().tableExists(new TableIdentifier(name[1], Option.apply(name[0])))) {
        throw new RefusedException(endpoint.door.refusal("SQL_TABLE_NOT_SERVED", String.join(".", name)));
      }
    }
    for (LogicalPlan child : CollectionConverters.asJava(plan.children())) {
      requireServed(endpoint, child);
    }
  }

  /** The time zone may be set; a list of settings shows no others, because values can be secrets. */
  private LogicalPlan settings(Endpoint endpoint, SetCommand command) throws ParseException {
    Option<Tuple2<String, Option<String>>> pair = command.kv();
    if (pair.isEmpty() || pair.get()._1().equals("-v")) {
      return spark.parsePlan(SHOWN);
    }
    String key = pair.get()._1();
    if (!SETTINGS.contains(key.toLowerCase(java.util.Locale.ROOT))) {
      throw new RefusedException(endpoint.door.refusal("SQL_SETTING_REFUSED", key));
    }
    return command;
  }

  @Override
  public Expression parseExpression(String text) throws ParseException {
    return spark.parseExpression(text);
  }

  @Override
  public TableIdentifier parseTableIdentifier(String text) throws ParseException {
    return spark.parseTableIdentifier(text);
  }

  @Override
  public FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException {
    return spark.parseFunctionIdentifier(text);
  }

  @Override
  public Seq<String> parseMultipartIdentifier(String text) throws ParseException {
    return spark.parseMultipartIdentifier(text);
  }

  @Override
  public LogicalPlan parseQuery(String text) throws ParseException {
    return ofClient() == null ? spark.parseQuery(text) : parsePlan(text);
  }

  @Override
  public StructType parseRoutineParam(String text) throws ParseException {
    return spark.parseRoutineParam(text);
  }

  @Override
  public StructType parseTableSchema(String text) throws ParseException {
    return spark.parseTableSchema(text);
  }

  @Override
  public DataType parseDataType(String text) throws ParseException {
    return spark.parseDataType(text);
  }
}
