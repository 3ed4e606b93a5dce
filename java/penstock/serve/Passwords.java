package penstock.serve;

import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/**
 * Checks the users of the SQL endpoint; the Thrift server creates one for each login.
 *
 * <p>Relies on: the public interface {@code PasswdAuthenticationProvider}, which
 * {@code hive.server2.custom.authentication.class} names.
 *
 * <p>Without it: the Thrift server cannot create the class, and nobody can log in.
 */
public final class Passwords implements PasswdAuthenticationProvider {
  @Override
  public void Authenticate(String user, String password) throws AuthenticationException {
    Endpoint endpoint = Endpoint.opened();
    String refusal = endpoint == null ? "The SQL endpoint is not open" : endpoint.door.authenticate(user, password);
    if (refusal != null) {
      throw new AuthenticationException(refusal);
    }
  }
}
