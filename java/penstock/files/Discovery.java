package penstock.files;

import java.util.List;

/** A way to find the files of a source. */
interface Discovery {
  /** Returns what is there now; of one source called by one thread at a time, and not again after it has failed. */
  Found files();

  /**
   * What was found.
   *
   * @param all whether these are all files that are there; else those are left out that an earlier call has returned
   */
  record Found(List<FoundFile> files, boolean all) {}
}
