package penstock.serve;

/** A refused statement. Its text begins with the condition, as the clients of Spark's Thrift server show it. */
public final class RefusedException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** {@code message} is a whole error: condition, what is wrong, fix. */
  public RefusedException(String message) {
    super(message, null, false, false);
  }

  @Override
  public String toString() {
    return getMessage();
  }
}
