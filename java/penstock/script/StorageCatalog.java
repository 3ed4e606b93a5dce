package penstock.script;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog of a script's storage: its schema {@code s} is the schema {@code <prefix>s} of the session's own catalog,
 * which has one level of schemas. The option {@code prefix} may be empty.
 *
 * <p>Relies on: Spark's internal {@code CatalogManager.v2SessionCatalog}, which is Delta's catalog.
 */
public final class StorageCatalog implements StagingTableCatalog, SupportsNamespaces {
  private String name;
  private String prefix;

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.prefix = options.getOrDefault("prefix", "");
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String[] defaultNamespace() {
    return new String[] {"default"};
  }

  @Override
  public Set<TableCatalogCapability> capabilities() {
    return tables().capabilities();
  }

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    return Arrays.stream(tables().listTables(stored(namespace)))
        .filter(each -> each.namespace().length > 0) // Spark adds the session's temporary views
        .map(each -> Identifier.of(namespace, each.name()))
        .toArray(Identifier[]::new);
  }

  @Override
  public Table loadTable(Identifier table) throws NoSuchTableException {
    return tables().loadTable(stored(table));
  }

  @Override
  public Table loadTable(Identifier table, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
    return tables().loadTable(stored(table), privileges);
  }

  @Override
  public Table loadTable(Identifier table, String version) throws NoSuchTableException {
    return tables().loadTable(stored(table), version);
  }

  @Override
  public Table loadTable(Identifier table, long timestamp) throws NoSuchTableException {
    return tables().loadTable(stored(table), timestamp);
  }

  @Override
  public void invalidateTable(Identifier table) {
    tables().invalidateTable(stored(table));
  }

  @Override
  public boolean tableExists(Identifier table) {
    return tables().tableExists(stored(table));
  }

  @Override
  public Table createTable(Identifier table, TableInfo info)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return tables().createTable(stored(table), info);
  }

  @Override
  public StagedTable stageCreate(Identifier table, TableInfo info)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return tables().stageCreate(stored(table), info);
  }

  @Override
  public StagedTable stageReplace(Identifier table, TableInfo info)
      throws NoSuchNamespaceException, NoSuchTableException {
    return tables().stageReplace(stored(table), info);
  }

  @Override
  public StagedTable stageCreateOrReplace(Identifier table, TableInfo info) throws NoSuchNamespaceException {
    return tables().stageCreateOrReplace(stored(table), info);
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) throws NoSuchTableException {
    return tables().alterTable(stored(table), changes);
  }

  @Override
  public boolean dropTable(Identifier table) {
    return tables().dropTable(stored(table));
  }

  @Override
  public boolean purgeTable(Identifier table) {
    return tables().purgeTable(stored(table));
  }

  @Override
  public void renameTable(Identifier table, Identifier renamed)
      throws NoSuchTableException, TableAlreadyExistsException {
    tables().renameTable(stored(table), stored(renamed));
  }

  @Override
  public String[][] listNamespaces() throws NoSuchNamespaceException {
    List<String[]> found = new ArrayList<>();
    for (String[] each : schemas().listNamespaces()) {
      if (each[0].startsWith(prefix)) {
        found.add(new String[] {each[0].substring(prefix.length())});
      }
    }
    return found.toArray(String[][]::new);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    return namespace.length == 0 ? listNamespaces() : schemas().listNamespaces(stored(namespace));
  }

  @Override
  public boolean namespaceExists(String[] namespace) {
    return schemas().namespaceExists(stored(namespace));
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    return schemas().loadNamespaceMetadata(stored(namespace));
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata)
      throws NamespaceAlreadyExistsException {
    schemas().createNamespace(stored(namespace), metadata);
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) throws NoSuchNamespaceException {
    schemas().alterNamespace(stored(namespace), changes);
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    return schemas().dropNamespace(stored(namespace), cascade);
  }

  private Identifier stored(Identifier table) {
    return Identifier.of(stored(table.namespace()), table.name());
  }

  private String[] stored(String[] namespace) {
    return namespace.length == 1 ? new String[] {prefix + namespace[0]} : namespace;
  }

  private static StagingTableCatalog tables() {
    return (StagingTableCatalog) sessionCatalog();
  }

  private static SupportsNamespaces schemas() {
    return (SupportsNamespaces) sessionCatalog();
  }

  private static Object sessionCatalog() {
    return SparkSession.active().sessionState().catalogManager().v2SessionCatalog();
  }
}
