import com.google.gson.JsonObject;

/** Runs the script of ../README.md: a line of JSON for each step. */
final class Main {
  private interface Step {
    void run() throws Exception;
  }

  private record NamedStep(String name, Step step) {}

  private static boolean reported(NamedStep step) {
    JsonObject line = new JsonObject();
    line.addProperty("step", step.name);
    String error = null;
    try {
      step.step.run();
    } catch (Exception failure) { // Whatever it is, it is the outcome of the step.
      error = failure.toString();
    }
    line.addProperty("ok", error == null);
    if (error != null) {
      line.addProperty("error", error);
    }
    System.out.println(line);
    return error == null;
  }

  public static void main(String[] arguments) throws Exception {
    // Otherwise the client drops them from what it reads.
    System.setProperty("kubernetes.client.includeManagedFields", "true");
    Script script = new Script();
    NamedStep[] steps = {
      new NamedStep("discovery", script::discovery),
      new NamedStep("create", script::create),
      new NamedStep("get", script::get),
      new NamedStep("update", script::update),
      new NamedStep("conflict", script::conflict),
      new NamedStep("patch", script::patch),
      new NamedStep("apply", script::apply),
      new NamedStep("list", script::list),
      new NamedStep("pagination", script::pagination),
      new NamedStep("watch", script::watch),
      new NamedStep("token-request", script::tokenRequest),
      new NamedStep("access-review", script::accessReview),
      new NamedStep("ready-for-restart", () -> {}),
      new NamedStep("restart", script::restart),
      new NamedStep("delete", script::delete),
      new NamedStep("errors", script::errors),
    };
    for (NamedStep step : steps) {
      if (!reported(step)) {
        System.exit(1);
      }
    }
    script.stop();
    // Idle connections of the client keep threads of their own, which would keep the program for another minute.
    System.exit(0);
  }
}
