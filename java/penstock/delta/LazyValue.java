package penstock.delta;

import io.delta.package$;
import java.lang.reflect.Field;
import java.util.function.Supplier;
import org.apache.spark.sql.delta.Snapshot;

/**
 * A lazy value of a snapshot of a Delta table that Penstock gives, so that Delta does not compute it.
 *
 * <p>Relies on: by reflection, the private fields of Delta's {@code Snapshot} that are named here, and {@code bitmap$0},
 * in which Scala notes by one bit for each that it is computed; in Delta 4.4.0 only.
 *
 * <p>Without it: {@code isSupported} is false with any other version of Delta, which then computes the values itself.
 */
enum LazyValue {
  CACHED_STATE("cachedState", 4),
  TRANSACTIONS("transactions", 19),
  COMPUTED_STATE("computedState", 20);

  private static final String SUPPORTED_DELTA = "4.4.0";

  private final String name;
  private final int bit;

  LazyValue(String name, int bit) {
    this.name = name;
    this.bit = 1 << bit;
  }

  static boolean isSupported() {
    return SUPPORTED_DELTA.equals(package$.MODULE$.VERSION());
  }

  boolean isComputed(Snapshot snapshot) throws ReflectiveOperationException {
    return (field("bitmap$0").getInt(snapshot) & bit) != 0;
  }

  /** Sets the value, if it is not computed yet. */
  void set(Snapshot snapshot, Supplier<Object> value) throws ReflectiveOperationException {
    Field bitmap = field("bitmap$0");
    synchronized (snapshot) { // the lock that Scala takes to compute a lazy value
      if (!isComputed(snapshot)) {
        field(name).set(snapshot, value.get());
        bitmap.setInt(snapshot, bitmap.getInt(snapshot) | bit);
      }
    }
  }

  private static Field field(String name) throws NoSuchFieldException {
    Field field = Snapshot.class.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}
