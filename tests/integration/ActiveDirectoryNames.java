import com.unboundid.ldap.listener.InMemoryDirectoryServer;
import com.unboundid.ldap.listener.InMemoryDirectoryServerConfig;
import com.unboundid.ldap.listener.InMemoryListenerConfig;
import com.unboundid.ldap.listener.interceptor.InMemoryInterceptedSimpleBindRequest;
import com.unboundid.ldap.listener.interceptor.InMemoryOperationInterceptor;
import com.unboundid.ldap.sdk.SimpleBindRequest;
import com.unboundid.util.ssl.KeyStoreKeyManager;
import com.unboundid.util.ssl.SSLUtil;

/** UnboundID's directory, whose binds take {@code user@example.com} or with its domain before it, as Active Directory's. */
public final class ActiveDirectoryNames {
  private ActiveDirectoryNames() {}

  /** Starts the server: port, base DN, LDIF file, PKCS12 file and its password. */
  public static void main(String[] args) throws Exception {
    String base = args[1];
    var keys = new KeyStoreKeyManager(args[3], args[4].toCharArray(), "PKCS12", null);
    var config = new InMemoryDirectoryServerConfig(base);
    config.setSchema(null);
    var sockets = new SSLUtil(keys, null).createSSLServerSocketFactory();
    config.setListenerConfigs(
        InMemoryListenerConfig.createLDAPSConfig("ldaps", null, Integer.parseInt(args[0]), sockets, null));
    config.addInMemoryOperationInterceptor(
        new InMemoryOperationInterceptor() {
          @Override
          public void processSimpleBindRequest(InMemoryInterceptedSimpleBindRequest bind) {
            String name = bind.getRequest().getBindDN();
            String user = null;
            if (name.endsWith("@example.com")) {
              user = name.substring(0, name.length() - "@example.com".length());
            } else if (name.startsWith("EXAMPLE\\")) {
              user = name.substring("EXAMPLE\\".length());
            }
            if (user != null) {
              String password = bind.getRequest().getPassword().stringValue();
              bind.setRequest(new SimpleBindRequest("uid=" + user + ",ou=people," + base, password));
            }
          }
        });
    var server = new InMemoryDirectoryServer(config);
    server.importFromLDIF(true, args[2]);
    server.startListening();
    Thread.currentThread().join();
  }
}
