/**
 * Product names that appear in the API and differ between dialects (design section 6). A dialect is a value passed down
 * from the command line; its literals appear only in this folder.
 */
export interface Dialect {
  readonly name: 'orch' | 'kubernetes';
  /** Full name of an API group from its short name: '' (core) stays '', 'coordination' -> 'coordination.orch.io'. */
  group(short: string): string;
  /** What `group` adds to most names: '.orch.io'. */
  readonly groupSuffix: string;
  /** Domain of labels, annotations, signers, secret types and JWT claims: 'orch.io'. */
  readonly domain: string;
  /** Domains of which groups, and those below, need an approval annotation on their CustomResourceDefinitions. */
  readonly protectedDomains: readonly string[];
  /** Namespaces created at start, besides `default`. */
  readonly namespaces: { readonly system: string; readonly public: string; readonly nodeLease: string };
  readonly protobufMediaType: string;
  /**
   * Groups under which clients may request Table and PartialObjectMetadata; the first is the dialect's own. The
   * response uses the group the client asked for, so that kubectl shows columns in either dialect.
   */
  readonly tableGroups: readonly string[];
  /** Prefix of schema names in OpenAPI documents, without a trailing dot: 'io.orch'. */
  readonly openapiPrefix: string;
  /**
   * Infix of the OpenAPI extension names: '<name>' -> 'x-<name>-group-version-kind'. The same in both dialects because
   * clients and generators have it compiled in; under another name they find no kinds and validate nothing.
   */
  readonly openapiExtension: string;
  readonly initialEventsEndAnnotation: string;
  readonly initialEventsListAnnotation: string;
  readonly deprecatedAuditAnnotation: string;
  readonly removedReleaseAuditAnnotation: string;
  readonly rootCaConfigMap: string;
  /** Prefix of the name of the projected volume that gives pods their token, without the '-' and the suffix. */
  readonly tokenVolume: string;
  /** Name of the API server: user agent and field manager of its own writes. */
  readonly apiServer: string;
  /** Name of the controller manager, and of its leader-election lease. */
  readonly controllerManager: string;
  readonly credentialPluginVariable: string;
  /** Default issuer of service account tokens, as Kubernetes distributions set it up. */
  readonly tokenIssuer: string;
  /**
   * The part of a bootstrap token that keys the signatures of `cluster-info`. Spec section 5.4 says the whole token;
   * published controllers and joining nodes use the part after the dot.
   */
  readonly clusterInfoKey: 'whole token' | 'secret part';
  /** Extra group of the bootstrap tokens with which nodes join. */
  readonly nodeBootstrappersGroup: string;
  /** The command-line client that `orch up` names in its output. */
  readonly commandLineClient: string;
  /**
   * Annotation in which kubectl stores the last configuration that it applied client-side. The same in both dialects
   * because kubectl has it compiled in.
   */
  readonly lastAppliedAnnotation: string;
  /** What stored values begin with that are encrypted. */
  readonly encryptedPrefix: string;
  /** The health check of the store. Published probes ask for `/readyz/etcd`. */
  readonly storeHealthCheck: string;
  /** Headers that name the priority level and the flow schema of a request, in lower case. */
  readonly flowHeaders: { readonly level: string; readonly schema: string };
  /** Product title in OpenAPI documents and `version`. */
  readonly title: string;
  /** gitVersion in `GET /version`; contains the API release served (spec section 9). */
  readonly gitVersion: string;
}
