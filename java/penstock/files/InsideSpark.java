package penstock.files;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** What Spark's stream of files keeps to itself; of the one version of Spark that Penstock runs on. */
final class InsideSpark {
  private InsideSpark() {}

  /** Returns the value of a field that {@code owner} declares. */
  static Object field(Class<?> owner, String name, Object object) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      return field.get(object);
    } catch (ReflectiveOperationException other) {
      throw new IllegalStateException("another version of Spark: " + owner.getName() + " has no " + name, other);
    }
  }

  /** Gives a field that {@code owner} declares another value. */
  static void set(Class<?> owner, String name, Object object, Object value) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      field.set(object, value);
    } catch (ReflectiveOperationException other) {
      throw new IllegalStateException("another version of Spark: " + owner.getName() + " has no " + name, other);
    }
  }

  /** Calls a method without parameters that {@code owner} declares, and throws what it throws. */
  static Object call(Class<?> owner, String name, Object object) {
    try {
      Method method = owner.getDeclaredMethod(name);
      method.setAccessible(true);
      return method.invoke(object);
    } catch (InvocationTargetException failed) {
      throw thrown(failed.getCause());
    } catch (ReflectiveOperationException other) {
      throw new IllegalStateException("another version of Spark: " + owner.getName() + " has no " + name, other);
    }
  }

  /** Throws a failure as it is. */
  @SuppressWarnings("unchecked")
  static <E extends Throwable> RuntimeException thrown(Throwable failure) throws E {
    throw (E) failure; // Scala does not declare what it throws
  }
}
