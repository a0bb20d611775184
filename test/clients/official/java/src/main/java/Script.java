import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.Configuration;
import io.kubernetes.client.openapi.JSON;
import io.kubernetes.client.openapi.apis.ApisApi;
import io.kubernetes.client.openapi.apis.AuthenticationV1Api;
import io.kubernetes.client.openapi.apis.AuthorizationV1Api;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.apis.VersionApi;
import io.kubernetes.client.openapi.models.AuthenticationV1TokenRequest;
import io.kubernetes.client.openapi.models.V1ObjectReference;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.openapi.models.V1ResourceAttributes;
import io.kubernetes.client.openapi.models.V1SelfSubjectAccessReview;
import io.kubernetes.client.openapi.models.V1SelfSubjectAccessReviewSpec;
import io.kubernetes.client.openapi.models.V1SelfSubjectReview;
import io.kubernetes.client.openapi.models.V1ServiceAccount;
import io.kubernetes.client.openapi.models.V1Status;
import io.kubernetes.client.openapi.models.V1StatusCause;
import io.kubernetes.client.openapi.models.V1SubjectAccessReview;
import io.kubernetes.client.openapi.models.V1SubjectAccessReviewSpec;
import io.kubernetes.client.openapi.models.V1TokenRequestSpec;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.PatchUtils;
import io.kubernetes.client.util.credentials.AccessTokenAuthentication;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The steps of ../README.md with the official Java client. */
final class Script {
  private final String namespace = System.getenv("NAMESPACE");
  private final ApiClient client;
  private final CoreV1Api core;
  private final SharedInformerFactory informers;
  private final Sightings sightings = new Sightings();
  private V1ConfigMap created;

  Script() throws IOException {
    client = ClientBuilder.standard().build();
    Configuration.setDefaultApiClient(client);
    core = new CoreV1Api(client);
    informers = new SharedInformerFactory(client);
    SharedIndexInformer<V1ConfigMap> informer =
        informers.sharedIndexInformerFor(
            params ->
                core.listNamespacedConfigMap(namespace)
                    .watch(params.watch)
                    .resourceVersion(params.resourceVersion)
                    .timeoutSeconds(params.timeoutSeconds)
                    .buildCall(null),
            V1ConfigMap.class,
            V1ConfigMapList.class);
    informer.addEventHandler(sightings);
  }

  void discovery() throws ApiException {
    var version = new VersionApi().getCode().execute();
    check(version.getMajor().equals("1") && version.getMinor().equals("32"), "version " + version.getGitVersion());
    var groups = new ApisApi().getAPIVersions().execute().getGroups();
    check(
        groups.stream()
            .anyMatch(
                group ->
                    group.getName().equals("coordination.k8s.io")
                        && group.getPreferredVersion().getVersion().equals("v1")),
        "no group coordination.k8s.io that prefers v1");
    check(
        core.getAPIResources().execute().getResources().stream()
            .anyMatch(
                resource ->
                    resource.getName().equals("configmaps")
                        && resource.getNamespaced()
                        && resource.getKind().equals("ConfigMap")),
        "no resource configmaps, namespaced, of the kind ConfigMap");
  }

  void create() throws ApiException {
    created = createConfigMap("settings", Map.of("a", "1", "b", "2"), Map.of());
    checkEqual(created.getData(), Map.of("a", "1", "b", "2"));
    check(!created.getMetadata().getUid().isEmpty(), "no uid");
    check(!created.getMetadata().getResourceVersion().isEmpty(), "no resourceVersion");
  }

  void get() throws ApiException {
    V1ConfigMap read = core.readNamespacedConfigMap("settings", namespace).execute();
    checkEqual(read.getMetadata().getUid(), created.getMetadata().getUid());
    checkEqual(read.getData(), created.getData());
  }

  void update() throws ApiException {
    V1ConfigMap read = core.readNamespacedConfigMap("settings", namespace).execute();
    V1ConfigMap updated =
        core.replaceNamespacedConfigMap("settings", namespace, read.putDataItem("a", "changed")).execute();
    checkEqual(updated.getData(), Map.of("a", "changed", "b", "2"));
    checkEqual(updated.getMetadata().getUid(), created.getMetadata().getUid());
    check(
        !updated.getMetadata().getResourceVersion().equals(created.getMetadata().getResourceVersion()),
        "the same resourceVersion");
  }

  void conflict() throws ApiException {
    V1ConfigMap stale = created.putDataItem("a", "stale");
    refused(409, "Conflict", () -> core.replaceNamespacedConfigMap("settings", namespace, stale).execute());
    checkEqual(core.readNamespacedConfigMap("settings", namespace).execute().getData().get("a"), "changed");
  }

  void patch() throws ApiException {
    V1Patch merge = new V1Patch("{\"data\":{\"c\":\"3\",\"b\":null}}");
    V1ConfigMap patched = mergePatch("settings", merge);
    checkEqual(patched.getData(), Map.of("a", "changed", "c", "3"));
    core.createNamespacedServiceAccount(
            namespace, new V1ServiceAccount().metadata(new V1ObjectMeta().name("patched")))
        .execute();
    strategicMergePatch("patched", "{\"secrets\":[{\"name\":\"one\"}]}");
    V1ServiceAccount account = strategicMergePatch("patched", "{\"secrets\":[{\"name\":\"two\"}]}");
    checkEqual(account.getSecrets().stream().map(V1ObjectReference::getName).sorted().toList(), List.of("one", "two"));
  }

  void apply() throws ApiException {
    V1ConfigMap first = applyAs("first", "1", false);
    check(
        first.getMetadata().getManagedFields().stream()
            .anyMatch(entry -> entry.getManager().equals("first") && entry.getOperation().equals("Apply")),
        "managedFields " + first.getMetadata().getManagedFields());
    refused(409, "Conflict", () -> applyAs("second", "2", false));
    checkEqual(applyAs("second", "2", true).getData(), Map.of("owner", "2"));
  }

  void list() throws ApiException {
    createConfigMap("red-1", Map.of(), Map.of("colour", "red"));
    createConfigMap("red-2", Map.of(), Map.of("colour", "red"));
    createConfigMap("blue", Map.of(), Map.of("colour", "blue"));
    V1ConfigMapList found = core.listNamespacedConfigMap(namespace).labelSelector("colour=red").execute();
    checkEqual(names(found).stream().sorted().toList(), List.of("red-1", "red-2"));
  }

  void pagination() throws ApiException {
    List<String> expected = IntStream.range(0, 250).mapToObj(index -> "page-%03d".formatted(index)).toList();
    for (String name : expected) {
      createConfigMap(name, Map.of(), Map.of("paged", "yes"));
    }
    List<Integer> sizes = new ArrayList<>();
    List<String> all = new ArrayList<>();
    String token = null;
    do {
      V1ConfigMapList page =
          core.listNamespacedConfigMap(namespace).labelSelector("paged=yes").limit(100)._continue(token).execute();
      sizes.add(page.getItems().size());
      all.addAll(names(page));
      token = page.getMetadata().getContinue();
    } while (token != null && !token.isEmpty());
    checkEqual(sizes, List.of(100, 100, 50));
    checkEqual(all.stream().sorted().toList(), expected);
  }

  void watch() throws ApiException, InterruptedException {
    informers.startAllRegisteredInformers();
    createConfigMap("watched", Map.of("step", "1"), Map.of());
    sightings.await("ADDED", "watched", seen -> true);
    mergePatch("watched", new V1Patch("{\"data\":{\"step\":\"2\"}}"));
    sightings.await("MODIFIED", "watched", seen -> Map.of("step", "2").equals(seen.getData()));
    core.deleteNamespacedConfigMap("watched", namespace).execute();
    sightings.await("DELETED", "watched", seen -> true);
  }

  void tokenRequest() throws ApiException, IOException {
    core.createNamespacedServiceAccount(
            namespace, new V1ServiceAccount().metadata(new V1ObjectMeta().name("caller")))
        .execute();
    var request = new AuthenticationV1TokenRequest().spec(new V1TokenRequestSpec().expirationSeconds(600L));
    String token =
        core.createNamespacedServiceAccountToken("caller", namespace, request).execute().getStatus().getToken();
    ApiClient caller = ClientBuilder.standard().setAuthentication(new AccessTokenAuthentication(token)).build();
    var review = new AuthenticationV1Api(caller).createSelfSubjectReview(new V1SelfSubjectReview()).execute();
    checkEqual(review.getStatus().getUserInfo().getUsername(), "system:serviceaccount:" + namespace + ":caller");
  }

  void accessReview() throws ApiException {
    var reviews = new AuthorizationV1Api();
    var attributes = new V1ResourceAttributes().namespace(namespace).verb("get").resource("configmaps");
    var own =
        new V1SelfSubjectAccessReview()
            .spec(new V1SelfSubjectAccessReviewSpec().resourceAttributes(attributes));
    check(reviews.createSelfSubjectAccessReview(own).execute().getStatus().getAllowed(), "the administrator is not allowed");
    var other =
        new V1SubjectAccessReview()
            .spec(new V1SubjectAccessReviewSpec().resourceAttributes(attributes).user("stranger"));
    check(!reviews.createSubjectAccessReview(other).execute().getStatus().getAllowed(), "a stranger is allowed");
  }

  void restart() throws ApiException, IOException, InterruptedException {
    String[] words = new BufferedReader(new InputStreamReader(System.in)).readLine().split(" ");
    checkEqual(words[0], "restarted");
    sightings.await("ADDED", words[1], seen -> true);
    core.readNamespacedConfigMap(words[1], namespace).execute();
  }

  void delete() throws ApiException {
    core.deleteNamespacedConfigMap("settings", namespace).execute();
    refused(404, "NotFound", () -> core.readNamespacedConfigMap("settings", namespace).execute());
  }

  void errors() throws ApiException {
    V1Status status = refused(422, "Invalid", () -> createConfigMap("Not_A_Name", Map.of(), Map.of()));
    List<String> fields = status.getDetails().getCauses().stream().map(V1StatusCause::getField).toList();
    check(fields.contains("metadata.name"), "causes of " + fields);
  }

  void stop() {
    informers.stopAllRegisteredInformers();
  }

  private V1ConfigMap createConfigMap(String name, Map<String, String> data, Map<String, String> labels)
      throws ApiException {
    V1ConfigMap body = new V1ConfigMap().metadata(new V1ObjectMeta().name(name).labels(labels)).data(data);
    return core.createNamespacedConfigMap(namespace, body).execute();
  }

  private V1ConfigMap mergePatch(String name, V1Patch patch) throws ApiException {
    return PatchUtils.patch(
        V1ConfigMap.class,
        () -> core.patchNamespacedConfigMap(name, namespace, patch).buildCall(null),
        V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH,
        client);
  }

  private V1ServiceAccount strategicMergePatch(String name, String patch) throws ApiException {
    return PatchUtils.patch(
        V1ServiceAccount.class,
        () -> core.patchNamespacedServiceAccount(name, namespace, new V1Patch(patch)).buildCall(null),
        V1Patch.PATCH_FORMAT_STRATEGIC_MERGE_PATCH,
        client);
  }

  /** Not by {@code ServerSideApply}, whose error does not have the Status. */
  private V1ConfigMap applyAs(String manager, String owner, boolean force) throws ApiException {
    V1ConfigMap body =
        new V1ConfigMap()
            .apiVersion("v1")
            .kind("ConfigMap")
            .metadata(new V1ObjectMeta().name("applied").managedFields(null))
            .data(Map.of("owner", owner));
    V1Patch patch = new V1Patch(JSON.serialize(body));
    return PatchUtils.patch(
        V1ConfigMap.class,
        () ->
            core.patchNamespacedConfigMap("applied", namespace, patch)
                .fieldManager(manager)
                .force(force)
                .buildCall(null),
        V1Patch.PATCH_FORMAT_APPLY_YAML,
        client);
  }

  private interface Request {
    void send() throws ApiException;
  }

  /** Sends what the server must refuse, and returns the Status from the client's own error. */
  private static V1Status refused(int code, String reason, Request request) {
    try {
      request.send();
    } catch (ApiException error) {
      V1Status status = JSON.deserialize(error.getResponseBody(), V1Status.class);
      checkEqual(List.of(error.getCode(), status.getReason()), List.of(code, reason));
      return status;
    }
    throw new StepFailed("not refused with " + code + " " + reason);
  }

  private static List<String> names(V1ConfigMapList list) {
    return list.getItems().stream().map(item -> item.getMetadata().getName()).toList();
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new StepFailed(what);
    }
  }

  private static void checkEqual(Object actual, Object expected) {
    check(expected.equals(actual), actual + " is not " + expected);
  }

  /** The server answered something else than the script says. */
  static final class StepFailed extends RuntimeException {
    StepFailed(String what) {
      super(what);
    }
  }
}
