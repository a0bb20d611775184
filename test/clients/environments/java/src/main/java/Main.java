import io.fabric8.kubeapitest.KubeAPIServer;
import io.fabric8.kubeapitest.KubeAPIServerConfigBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.api.model.ServiceAccountBuilder;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.api.model.authentication.TokenRequestBuilder;
import io.fabric8.kubernetes.api.model.rbac.RoleBindingBuilder;
import io.fabric8.kubernetes.api.model.rbac.RoleBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import java.io.File;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Starts a test environment by kube-api-test, and does the script of ../README.md in it. */
public final class Main {
  private static final ResourceDefinitionContext WIDGETS =
      new ResourceDefinitionContext.Builder()
          .withGroup("example.org")
          .withVersion("v1")
          .withKind("Widget")
          .withPlural("widgets")
          .withNamespaced(true)
          .build();

  private interface Step {
    void run() throws Exception;
  }

  private static boolean failed = false;

  private static void step(String name, Step step) {
    if (failed) {
      return;
    }
    try {
      step.run();
      System.out.println("ok " + name);
    } catch (Exception error) {
      failed = true;
      System.out.println("failed " + name + ": " + error);
    }
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException(what);
    }
  }

  private static int refusal(Step step) throws Exception {
    try {
      step.run();
      return 0;
    } catch (KubernetesClientException error) {
      return error.getCode();
    }
  }

  /** Arguments: the file of the definition, and the folder of the library, which has the programs below `k8s`. */
  public static void main(String[] args) {
    var server =
        new KubeAPIServer(
            KubeAPIServerConfigBuilder.anAPIServerConfig()
                .withTestDir(args[1])
                .withOfflineMode(true)
                .withApiServerFlag("--min-request-timeout", "300")
                .build());
    step("start", server::start);
    if (!failed) {
      Config config = Config.fromKubeconfig(server.getKubeConfigYaml());
      try (KubernetesClient admin = new KubernetesClientBuilder().withConfig(config).build()) {
        step("definition", () -> define(admin, new File(args[0])));
        step("custom", () -> custom(admin));
        step("deployment", () -> deployment(admin));
        step("user", () -> user(admin, config));
      }
    }
    try {
      server.stop();
      step("stop", () -> {});
    } catch (RuntimeException error) {
      step("stop", () -> { throw error; });
    }
    System.exit(failed ? 1 : 0);
  }

  private static void define(KubernetesClient admin, File definition) throws Exception {
    var definitions = admin.apiextensions().v1().customResourceDefinitions();
    definitions.load(definition).create();
    definitions
        .withName("widgets.example.org")
        .waitUntilCondition(
            each ->
                each != null
                    && each.getStatus() != null
                    && each.getStatus().getConditions() != null
                    && each.getStatus().getConditions().stream()
                        .anyMatch(c -> c.getType().equals("Established") && c.getStatus().equals("True")),
            30,
            TimeUnit.SECONDS);
  }

  private static GenericKubernetesResource widget(String name, Object size) {
    return new GenericKubernetesResourceBuilder()
        .withApiVersion("example.org/v1")
        .withKind("Widget")
        .withNewMetadata()
        .withName(name)
        .endMetadata()
        .addToAdditionalProperties("spec", Map.of("size", size))
        .build();
  }

  private static void custom(KubernetesClient admin) throws Exception {
    var widgets = admin.genericKubernetesResources(WIDGETS).inNamespace("default");
    widgets.resource(widget("one", 1)).create();
    widgets.resource(widget("one", 2)).update();
    Object size = widgets.withName("one").get().get("spec", "size");
    check(Integer.valueOf(2).equals(size), "size is " + size);
    widgets.withName("one").delete();
    check(widgets.withName("one").get() == null, "it is there after its deletion");
    int code = refusal(() -> widgets.resource(widget("wrong", "large")).create());
    check(code == 422, "a size that is text: " + code);
  }

  private static void deployment(KubernetesClient admin) {
    Map<String, String> labels = Map.of("app", "web");
    var deployments = admin.apps().deployments().inNamespace("default");
    var made =
        deployments
            .resource(
                new DeploymentBuilder()
                    .withNewMetadata()
                    .withName("web")
                    .endMetadata()
                    .withNewSpec()
                    .withNewSelector()
                    .withMatchLabels(labels)
                    .endSelector()
                    .withNewTemplate()
                    .withNewMetadata()
                    .withLabels(labels)
                    .endMetadata()
                    .withNewSpec()
                    .addNewContainer()
                    .withName("web")
                    .withImage("web:1")
                    .endContainer()
                    .endSpec()
                    .endTemplate()
                    .endSpec()
                    .build())
            .create();
    check(made.getSpec().getReplicas() == 1, "replicas: " + made.getSpec().getReplicas());
    deployments.withName("web").delete();
  }

  /** The library has no users but its administrator: a service account with a token is one. */
  private static void user(KubernetesClient admin, Config config) throws Exception {
    admin
        .serviceAccounts()
        .inNamespace("default")
        .resource(new ServiceAccountBuilder().withNewMetadata().withName("jane").endMetadata().build())
        .create();
    var token =
        admin
            .serviceAccounts()
            .inNamespace("default")
            .withName("jane")
            .tokenRequest(new TokenRequestBuilder().withNewSpec().endSpec().build())
            .getStatus()
            .getToken();
    Config own =
        new ConfigBuilder(Config.empty())
            .withMasterUrl(config.getMasterUrl())
            .withCaCertFile(config.getCaCertFile())
            .withCaCertData(config.getCaCertData())
            .withOauthToken(token)
            .build();
    try (KubernetesClient jane = new KubernetesClientBuilder().withConfig(own).build()) {
      Step list = () -> jane.configMaps().inNamespace("default").list();
      int without = refusal(list);
      check(without == 403, "without a role: " + without);
      admin
          .rbac()
          .roles()
          .inNamespace("default")
          .resource(
              new RoleBuilder()
                  .withNewMetadata()
                  .withName("reader")
                  .endMetadata()
                  .addNewRule()
                  .withApiGroups("")
                  .withResources("configmaps")
                  .withVerbs("list")
                  .endRule()
                  .build())
          .create();
      admin
          .rbac()
          .roleBindings()
          .inNamespace("default")
          .resource(
              new RoleBindingBuilder()
                  .withNewMetadata()
                  .withName("readers")
                  .endMetadata()
                  .withNewRoleRef("rbac.authorization.k8s.io", "Role", "reader")
                  .addNewSubject(null, "ServiceAccount", "jane", "default")
                  .build())
          .create();
      list.run();
    }
  }
}
