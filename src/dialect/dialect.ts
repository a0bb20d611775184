/**
 * The names that the interface carries and that differ between the products that speak it (design section 6). A dialect
 * is a value passed down from the command line; its literals stand nowhere else.
 */
export interface Dialect {
  readonly name: 'orch' | 'kubernetes';
  /** The full name of an API group from its short one: '' stays '' (core), 'coordination' -> 'coordination.orch.io'. */
  group(short: string): string;
  /** Domain of labels, annotations, signers, secret types and JWT claims: 'orch.io'. */
  readonly domain: string;
  /** The namespaces that exist after start, beside `default`. */
  readonly namespaces: { readonly system: string; readonly public: string; readonly nodeLease: string };
  readonly protobufMediaType: string;
  /**
   * Groups under which clients may ask for tables and metadata; the first is the dialect's own. A client that asks under
   * the other name gets its answer under that name: people see columns, whatever dialect the server speaks.
   */
  readonly tableGroups: readonly string[];
  /** Prefix of the schema names in OpenAPI documents, without a dot at the end: 'io.orch'. */
  readonly openapiPrefix: string;
  /**
   * Name of the OpenAPI extensions, without `x-`: '<name>' -> 'x-<name>-group-version-kind'. Both dialects use the one
   * that every client and generator has compiled in: under another name the clients find no kinds and validate nothing.
   */
  readonly openapiExtension: string;
  readonly initialEventsEndAnnotation: string;
  readonly deprecatedAuditAnnotation: string;
  readonly removedReleaseAuditAnnotation: string;
  readonly rootCaConfigMap: string;
  /** What the name of the volume begins with through which pods get a token; '-' and a suffix follow. */
  readonly tokenVolume: string;
  /** Name of the program that runs the controllers, and of its lease. */
  readonly controllerManager: string;
  readonly credentialPluginVariable: string;
  /** Issuer of the tokens of service accounts where nobody says otherwise: how published servers are set up. */
  readonly tokenIssuer: string;
  /** The command-line client that people have for this API; named in what `orch up` prints. */
  readonly commandLineClient: string;
  /**
   * Where that client keeps what it applied by merging it itself. The same in both dialects, as the client has it compiled
   * in.
   */
  readonly lastAppliedAnnotation: string;
  /** Title of the product in OpenAPI documents and `version`. */
  readonly title: string;
  /** What `GET /version` reports as gitVersion, with the API release served (spec section 9). */
  readonly gitVersion: string;
}
