package penstock.files;

import java.util.List;

/** A way to find the files of a source. */
interface Discovery {
  /** Returns what is there now; of one source called by one thread at a time, and not again after it has failed. */
  Found files();

  /** Tells whether a file that an earlier call has found is still there, where that costs little; else it is. */
  default boolean isThere(FoundFile file) {
    return true;
  }

  /** Is told that each file that was found is in the log of the source, whose newest step that is. */
  default void planned(long step) {}

  /** Ends what goes on between the calls. */
  default void close() {}

  /**
   * What was found.
   *
   * @param all whether these are all files that are there and were not read; else those are left out that an earlier
   *     call has returned
   */
  record Found(List<FoundFile> files, boolean all) {}
}
