package penstock.delta;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.InMemoryLogReplay;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.delta.actions.SingleAction;
import org.apache.spark.sql.delta.storage.ClosableIterator;
import scala.Function1;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Reads what is new in the log of a small table in the driver, where Delta runs Spark jobs over all of it whenever the
 * table has changed; see penstock.spark.accelerators.known_state.
 *
 * <p>It is Delta's own replay of Delta's own actions ({@code InMemoryLogReplay}, {@code Action.fromJson}), in one thread,
 * from the state of the last version that was looked at. Anything unusual is left to Delta: many files, commits that a
 * checkpoint has replaced since then, another commit than it was, compacted commits, paths that are not relative.
 *
 * <p>Relies on: {@link LazyValue}; {@code StateCache.cacheDS} and its flag {@code _isCached}; {@code LogSegment}, {@code
 * InMemoryLogReplay}, {@code SingleAction}.
 *
 * <p>Without it: Delta reads the log itself, as it does with any other version of it.
 */
final class SmallLog {
  private static final int MOST_FILES = 1_000;
  private static final int MOST_ACTIONS = 5_000; // with the files that were removed in the last week
  private static final int MOST_COMMITS = 25;
  private static final long MOST_BYTES = 4 << 20;
  private static final Pattern COMMIT = Pattern.compile("\\d{20}\\.json");

  private static final Map<DeltaLog, Known> KNOWN = Collections.synchronizedMap(new WeakHashMap<>());

  /** The state of a table after a commit, which is told from others by the table's id and the commit's file. */
  private record Known(String table, FileStatus commit, List<Action> actions) {}

  private SmallLog() {}

  /** Sets the actions of the snapshot, if they are not read yet. */
  static void read(Snapshot snapshot) throws ReflectiveOperationException, IOException {
    List<FileStatus> commits = CollectionConverters.asJava(snapshot.logSegment().deltas());
    if (snapshot.stateReconstructionTriggered()
        || commits.isEmpty()
        || snapshot.checksumOpt().isEmpty()
        || snapshot.checksumOpt().get().numFiles() > MOST_FILES
        || !LazyValue.isSupported()) {
      return;
    }
    Known known = KNOWN.get(snapshot.deltaLog());
    List<Action> actions;
    if (known != null && goesOn(snapshot, commits, known)) {
      actions = replayed(snapshot, known.actions(), after(commits, known.commit()));
    } else if (snapshot.logSegment().checkpointProvider().isEmpty() && commits.size() <= MOST_COMMITS) {
      actions = replayed(snapshot, List.of(), commits);
    } else { // Delta reads all of it once, in parallel; what comes after it is read here
      actions = snapshot.stateDS().collectAsList().stream().map(SingleAction::unwrap).toList();
    }
    if (actions == null || actions.size() > MOST_ACTIONS) {
      KNOWN.remove(snapshot.deltaLog());
      return;
    }
    KNOWN.put(snapshot.deltaLog(), new Known(snapshot.metadata().id(), commits.get(commits.size() - 1), actions));
    set(snapshot, actions);
  }

  /** Whether the snapshot is of the known table, and its log segment has all commits since then. */
  private static boolean goesOn(Snapshot snapshot, List<FileStatus> commits, Known known) throws IOException {
    Path path = known.commit().getPath();
    if (!known.table().equals(snapshot.metadata().id())
        || versionOf(known.commit()) < snapshot.logSegment().checkpointProvider().version()
        || versionOf(known.commit()) > snapshot.version()) {
      return false;
    }
    for (FileStatus each : commits) {
      if (each.getPath().equals(path)) {
        return isSame(each, known.commit());
      }
    }
    return isSame(path.getFileSystem(snapshot.deltaLog().newDeltaHadoopConf()).getFileStatus(path), known.commit());
  }

  /** Returns the actions that make up the table after these commits; null if Delta has to find them. */
  private static List<Action> replayed(Snapshot snapshot, List<Action> before, List<FileStatus> commits)
      throws IOException {
    if (commits.stream().mapToLong(FileStatus::getLen).sum() > MOST_BYTES
        || !commits.stream().allMatch(each -> COMMIT.matcher(each.getPath().getName()).matches())) {
      return null;
    }
    List<Action> actions = new ArrayList<>(before);
    if (!addTo(actions, snapshot.deltaLog(), commits)) {
      return null;
    }
    InMemoryLogReplay replay =
        new InMemoryLogReplay(
            Option.<Object>apply(snapshot.minFileRetentionTimestamp()), snapshot.minSetTransactionRetentionTimestamp());
    replay.append(0, CollectionConverters.asScala(actions.iterator())); // as Delta does for the whole log
    List<Action> state = new ArrayList<>();
    CollectionConverters.asJava(replay.checkpoint()).forEachRemaining(state::add);
    return state;
  }

  private static long versionOf(FileStatus commit) {
    return Long.parseLong(commit.getPath().getName().substring(0, 20));
  }

  private static boolean isSame(FileStatus one, FileStatus other) {
    return one.getPath().equals(other.getPath())
        && one.getLen() == other.getLen()
        && one.getModificationTime() == other.getModificationTime();
  }

  private static List<FileStatus> after(List<FileStatus> commits, FileStatus last) {
    String name = last.getPath().getName();
    return commits.stream().filter(each -> each.getPath().getName().compareTo(name) > 0).toList();
  }

  /** Reads the actions of commits; false if there is a path in them that Delta would write in another way. */
  private static boolean addTo(List<Action> actions, DeltaLog log, List<FileStatus> commits) throws IOException {
    Configuration conf = log.newDeltaHadoopConf();
    Function1<String, String> canonical = log.getCanonicalPathFunction(false);
    for (FileStatus commit : commits) {
      try (ClosableIterator<String> lines = log.store().readAsIterator(commit, conf)) {
        while (lines.hasNext()) {
          Action action = Action$.MODULE$.fromJson(lines.next());
          if (action instanceof FileAction file && !canonical.apply(file.path()).equals(file.path())) {
            return false;
          }
          if (action != null) {
            actions.add(action);
          }
        }
      }
    }
    return true;
  }

  private static void set(Snapshot snapshot, List<Action> actions) throws ReflectiveOperationException {
    LazyValue.CACHED_STATE.set(snapshot, () -> cached(snapshot, actions));
    snapshot.stateReconstructionTriggered_$eq(true);
    Stream<Action> all = actions.stream();
    List<SetTransaction> transactions = all.filter(SetTransaction.class::isInstance).map(SetTransaction.class::cast).toList();
    KnownTransactions.remember(snapshot, CollectionConverters.asScala(transactions).toSeq()); // from the log, as Delta would
  }

  /** Returns the actions as Delta holds its own: by what {@code cacheDS} makes of a dataset. */
  private static Object cached(Snapshot snapshot, List<Action> actions) {
    List<SingleAction> rows = actions.stream().map(Action::wrap).toList();
    Dataset<SingleAction> local =
        snapshot.spark().createDataset(CollectionConverters.asScala(rows).toSeq(), SingleAction.encoder());
    snapshot.org$apache$spark$sql$delta$util$StateCache$$_isCached_$eq(false); // rows in the driver need no cache
    try {
      return snapshot.cacheDS(local, "Delta Table State #" + snapshot.version());
    } finally {
      snapshot.org$apache$spark$sql$delta$util$StateCache$$_isCached_$eq(true);
    }
  }
}
