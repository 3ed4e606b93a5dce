package penstock.serve;

/**
 * What the SQL endpoint asks Python; implemented in spark/sql/endpoint.py. Python decides who may ask, which tables there
 * are and what a reader sees of them, so that {@code penstock sql} and the endpoint agree.
 */
public interface Door {
  /**
   * Returns the Dataset with the rows that {@code user} may see of a table in its newest version, null if no such table
   * is served, or the text of an error.
   */
  Object open(String user, String schema, String table);

  /** Returns those of the {@code tables} of a schema, one a line, that {@code user} may read. */
  String visible(String user, String schema, String tables);

  /** Returns null if {@code user} may still run statements, else the text of an error. */
  String admit(String user);

  /** Records that {@code rows} of {@code tables} are about to be shown; returns null, or why they must not be. */
  String record(String user, String statement, String tables, long rows);

  /** Returns null if the password is that of {@code user}, else the text of an error. */
  String authenticate(String user, String password);

  /** Returns the text of the error {@code condition} about {@code subject}. */
  String refusal(String condition, String subject);
}
