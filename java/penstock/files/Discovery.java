package penstock.files;

import java.util.List;

/**
 * A way to find the new files of a source.
 *
 * <p>Relies on: public API only.
 */
interface Discovery {
  /** Returns the files that are there now. Called by one thread at a time, and not again after it has failed. */
  Found files();

  /** Returns whether a file of an earlier call still exists, where that is cheap to check; otherwise true. */
  default boolean exists(FoundFile file) {
    return true;
  }

  /** Called when all files found so far are in the log of the source; {@code step} is the newest one of the log. */
  default void onAllLogged(long step) {}

  /** Releases what is held between the calls. */
  default void close() {}

  /**
   * The result of a call.
   *
   * @param all whether {@code files} are all files that exist and were not read; otherwise files that an earlier call
   *     has returned are left out
   */
  record Found(List<FoundFile> files, boolean all) {}
}
