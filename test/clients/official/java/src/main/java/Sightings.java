import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** What an informer told, in order, and a wait for one of them. */
final class Sightings implements ResourceEventHandler<V1ConfigMap> {
  private static final long WAIT_SECONDS = 30;

  private record Sighting(String event, V1ConfigMap object) {}

  private final List<Sighting> seen = new ArrayList<>();

  @Override
  public void onAdd(V1ConfigMap object) {
    add("ADDED", object);
  }

  @Override
  public void onUpdate(V1ConfigMap before, V1ConfigMap after) {
    add("MODIFIED", after);
  }

  @Override
  public void onDelete(V1ConfigMap object, boolean deletedFinalStateUnknown) {
    add("DELETED", object);
  }

  private synchronized void add(String event, V1ConfigMap object) {
    seen.add(new Sighting(event, object));
    notifyAll();
  }

  synchronized void await(String event, String name, Predicate<V1ConfigMap> matches) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
    while (seen.stream()
        .noneMatch(
            sighting ->
                sighting.event.equals(event)
                    && sighting.object.getMetadata().getName().equals(name)
                    && matches.test(sighting.object))) {
      long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      if (left <= 0) {
        throw new Script.StepFailed("the informer did not tell of %s %s".formatted(name, event));
      }
      wait(left);
    }
  }
}
