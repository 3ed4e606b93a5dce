package penstock.files;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * Reads and sets private fields, and calls private methods, of Spark's file source by reflection.
 *
 * <p>Relies on: the members that {@link ArrivingFiles} and {@link ReadFilesLog} name; nothing else.
 *
 * <p>Without it: a LinkageError "CLASS has no NAME", as the JVM throws it for a member that is not private. It ends the
 * query: SPARK_INTERNALS_CHANGED.
 */
final class SparkReflection {
  private SparkReflection() {}

  /** Returns the value of a field that {@code owner} declares. */
  static Object get(Class<?> owner, String name, Object object) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      return field.get(object);
    } catch (ReflectiveOperationException failure) {
      throw missing(owner, name, failure);
    }
  }

  /** Sets the value of a field that {@code owner} declares. */
  static void set(Class<?> owner, String name, Object object, Object value) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      field.set(object, value);
    } catch (ReflectiveOperationException failure) {
      throw missing(owner, name, failure);
    }
  }

  /** Calls a method without parameters that {@code owner} declares, and throws what it throws. */
  static Object call(Class<?> owner, String name, Object object) {
    try {
      Method method = owner.getDeclaredMethod(name);
      method.setAccessible(true);
      return method.invoke(object);
    } catch (InvocationTargetException failure) {
      throw unchecked(failure.getCause());
    } catch (ReflectiveOperationException failure) {
      throw missing(owner, name, failure);
    }
  }

  private static LinkageError missing(Class<?> owner, String name, ReflectiveOperationException failure) {
    return new LinkageError(owner.getName() + " has no " + name, failure);
  }

  /** Throws a failure unchanged, also a checked one: Scala's methods do not declare what they throw. */
  @SuppressWarnings("unchecked")
  static <E extends Throwable> RuntimeException unchecked(Throwable failure) throws E {
    throw (E) failure;
  }
}
