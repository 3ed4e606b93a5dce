package penstock.objectstore;

import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.profiles.ProfileFile;
import software.amazon.awssdk.profiles.ProfileFileSupplier;

/**
 * The AWS SDK's own chain of credentials, which reads the files of profiles again when they change.
 *
 * <p>Relies on: the public interfaces of the SDK; that S3A calls the constructor without parameters.
 *
 * <p>Without it: the SDK reads those files once, and temporary credentials that are replaced there are never seen.
 */
public final class RenewedCredentials implements AwsCredentialsProvider {
  private final ProfileFileSupplier files = ProfileFileSupplier.defaultSupplier();
  private final AwsCredentialsProvider chain =
      DefaultCredentialsProvider.builder().profileFile(this::profiles).build();

  @Override
  public AwsCredentials resolveCredentials() {
    return chain.resolveCredentials();
  }

  /** One thread at a time: where there are two files, a second one gets nothing until the first has read them. */
  private synchronized ProfileFile profiles() {
    return files.get();
  }
}
