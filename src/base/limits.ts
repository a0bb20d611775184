import { auditLimits } from './audit-limits.ts';
import { connectLimits } from './connect-limits.ts';
import { deviceLimits } from './device-limits.ts';
import { encryptionLimits } from './encryption-limits.ts';
import { expressionLimits } from './expression-limits.ts';
import { flowLimits } from './flow-limits.ts';
import { quotaLimits } from './quota-limits.ts';
import { serviceLimits } from './service-limits.ts';
import { storageLimits } from './storage-limits.ts';
import { webhookLimits } from './webhook-limits.ts';
import { workloadLimits } from './workload-limits.ts';

const all = {
  /** Lines of the log with one message in a second. */
  logSameLinesPerSecondMax: 200,
  /** Messages of the log that are counted apart in a second. */
  logMessagesCountedMax: 500,
  /** Characters of the log that wait for a reader; further lines are lost. */
  logWaitingMax: 4 * 1024 * 1024,
  /** The end of a program waits this long for the reader of its log. */
  logFlushMsMax: 2_000,
  /** A request body, both as sent and after decompression. */
  bodyBytesMax: 3 * 1024 * 1024,
  /** Nesting of arrays and objects in JSON, YAML and CBOR. */
  depthMax: 64,
  /** Alias expansions in one YAML document. */
  yamlAliasesMax: 100,
  /** Tokens of one YAML document; each takes about a microsecond to parse. */
  yamlTokensMax: 150_000,
  /**
   * Bodies and stored objects up to the first size are always processed on the event loop; larger ones, up to the
   * second size, if they have no more than this many fields and elements. All others go to the thread for heavy work.
   */
  lightBytesMax: 4 * 1024,
  inlineBytesMax: 128 * 1024,
  inlinePartsMax: 1_000,
  /** A body that is answered but not stored (reviews, token requests, evictions, options): processed on the event loop. */
  unstoredBytesMax: 512 * 1024,
  unstoredPartsMax: 4_000,
  /** Heavy requests waiting for the thread; running at once; and the bytes that running requests may process together. */
  heavyJobsWaitingMax: 200,
  heavyJobsAtOnceMax: 8,
  /** Kinds added at run time that the thread for heavy work caches. */
  heavyKindsMax: 500,
  /** Bytes of the definitions of these kinds. */
  heavyKindBytesMax: 64 * 1024 * 1024,
  heavyBytesAtOnceMax: 8 * 1024 * 1024,
  /** Bytes of heavy requests of all tenants that wait for a webhook: meanwhile others run. */
  heavyBytesWaitingMax: 8 * 1024 * 1024,
  /**
   * Heap of the thread for heavy work; how long its start may take; how long it may be unresponsive with work pending; how
   * long it is kept when idle.
   */
  heavyHeapMiB: 512,
  heavyStartMsMax: 45_000,
  heavySilenceMsMax: 10_000,
  heavyIdleMs: 5 * 60_000,
  /** Directives (`%YAML`, `%TAG`) of one YAML document: parsing time is quadratic in their number. */
  yamlDirectivesMax: 64,
  /** Text of an error in a YAML document, which may quote a part of it. */
  yamlErrorCharactersMax: 512,
  /** Values that a JSON path looks at in one object; those behind them are not found. */
  jsonPathValuesMax: 100_000,
  /** Errors, and unknown and duplicate fields, reported per object. */
  findingsMax: 1_000,
  /**
   * `Warning` headers of one response, their total bytes, and the characters that each is truncated to if that is
   * exceeded.
   */
  warningsMax: 50,
  warningBytesMax: 4 * 1024,
  warningCharactersMax: 256,
  /** Text of a quantity, and its decimal exponent. */
  quantityLengthMax: 128,
  quantityExponentMax: 128,
  /** Operations of one JSON Patch. */
  jsonPatchOperationsMax: 10_000,
  /** JSON text of all values that one JSON Patch copies (CVE-2019-1002100). */
  jsonPatchCopyBytesMax: 3 * 1024 * 1024,
  /** Fields and elements that applying one patch may visit; no legitimate patch comes near. */
  patchStepsMax: 5_000_000,
  /** Concurrent read requests; watches and health checks are not counted. */
  readsInFlightMax: 400,
  /** Concurrent write requests. Reviews, which write nothing, have a limit of the same size of their own. */
  writesInFlightMax: 200,
  /**
   * Requests of one priority level waiting for a seat; one tenant may only use part of the queue, so that others have
   * room.
   */
  waitingPerLevelMax: 1_000,
  /** Rows of a table of what waits, which people look at. */
  flowTableRowsMax: 5_000,
  /** Interval of looks for objects that are made again when they are deleted (`Kind.keptObjects`). */
  keptObjectsLookMs: 30_000,
  /** Fraction of a request's time limit that it may wait for a seat (kube-apiserver: a quarter). */
  waitingPart: 0.25,
  /** The server reports not ready if no write has completed for this long while others wait. */
  writesStalledMsMax: 10_000,
  /** Requests of all tenants in progress, until their responses are read; watches are not counted. */
  requestsUnderWayMax: 20_000,
  /** Requests of all tenants waiting for an authorizer: fewer than may wait for one webhook. */
  authorizationsWaitingMax: 800,
  /** Requests of all tenants waiting, without a seat, for a webhook's answer: fewer than may wait for one webhook. */
  webhookWaitsMax: 800,
  /** Bodies of all tenants being received at once. */
  bodiesReceivedAtOnceMax: 4_096,
  /** Bytes of bodies of all tenants, from receipt until their request is answered. */
  bodyBytesHeldMax: 128 * 1024 * 1024,
  /** A body that stays below this rate for this long is aborted. */
  bodyBytesPerSecondMin: 240,
  bodyGraceMs: 5_000,
  /** Bytes of responses of all tenants that clients have requested but do not read. */
  unreadBytesMax: 256 * 1024 * 1024,
  /**
   * Memory of connections of one sender whose sockets hold output, beyond which those that have taken nothing for so long
   * are closed. What an idle connection takes by itself counts too.
   */
  unreadOutputBytesMax: 32 * 1024 * 1024,
  unreadConnectionBytes: 80 * 1024,
  unreadStalledMs: 1_000,
  unreadLookMs: 250,
  /** Counted of one answer that waits for such a socket: events of watches beyond are shared with other watches. */
  unreadAnswerBytesMax: 256 * 1024,
  /** Idle tenants that are remembered. */
  idleTenantsKept: 1_000,
  /** Duration of a request, except for watches. */
  requestMsMax: 60_000,
  /** How long discovery and documents wait for kinds that are being added or removed. */
  kindsKnownMsMax: 1_000,
  /** Time for a client to send the headers of a request. */
  headersMsMax: 10_000,
  /** Time for a TLS handshake. */
  handshakeMsMax: 10_000,
  /** A connection without any request. */
  idleMsMax: 120_000,
  /** Interval of WebSocket pings; a client that has not answered by the next one is disconnected. */
  webSocketPingMs: 30_000,
  /** Interval between log messages that requests fail because the store is full. */
  fullStoreLogMs: 60_000,
  /** A client's message on a WebSocket that only the server sends data on. */
  webSocketMessageBytesMax: 4 * 1024,
  /** Concurrent HTTP/2 streams per connection. */
  streamsPerConnectionMax: 100,
  /** Streams that a client may reset per second before its connection is closed (CVE-2023-44487). */
  streamResetsPerSecondMax: 200,
  /** HTTP/2 frames per second without a request: PING, SETTINGS, empty DATA, WINDOW_UPDATE for data never sent. */
  controlFramesPerSecondMax: 1_000,
  /** Settings in one frame. */
  settingsMax: 32,
  /** Concurrent connections; further ones are dropped before their handshake. */
  connectionsMax: 20_000,
  /** Interval at which a listener that shares its port with others looks whether it has too many connections. */
  connectionShedMs: 1_000,
  /** The same if clients have found no other listener. */
  connectionShedMsMax: 60_000,
  /** Serving threads of a process, by default and at most. */
  servingThreadsDefaultMax: 8,
  servingThreadsMax: 64,
  /** Delays before a serving thread that ended is replaced. */
  threadRestartMsMin: 100,
  threadRestartMsMax: 10_000,
  /** How often a serving thread shows that its event loop turns; after how long without that it is replaced; the same until it serves. */
  threadBeatMs: 1_000,
  threadSilenceMsMax: 10_000,
  threadStartSilenceMsMax: 45_000,
  /** How long others wait for an answer of a serving thread: metrics show what it counted last then. */
  threadAnswerMsMax: 5_000,
  /** Flow-control window of one stream: bytes of a body that a client may send before they are read. */
  streamWindowBytes: 256 * 1024,
  /** Flow-control window of a connection: bytes of all bodies that a client may send before they are acknowledged. */
  connectionWindowBytes: 1024 * 1024,
  /** Payload of an HTTP/2 frame sent by a client. */
  framePayloadBytesMax: 16 * 1024,
  /** Frames that the headers of one request may be split into (CVE-2024-27316). */
  headerFramesMax: 64,
  /** Dynamic header table of each side of an HTTP/2 connection (RFC 7541 section 4.2). */
  headerTableBytes: 4 * 1024,
  /** Streams closed by the server whose remaining frames from the client are still dropped. */
  finishedStreamsMax: 1_000,
  /**
   * Bytes buffered for the socket of an HTTP/2 connection before the client must read; also the most written at once.
   */
  outputBytesMax: 256 * 1024,
  /**
   * The same for connections that write little at once, which all of a sender do beyond so many of them: TLS has buffers for
   * the largest write of a connection until it closes, and those for less than 16 KiB are a sixth of what others have.
   */
  outputBytesSmall: 15 * 1024,
  largeWritersMax: 32,
  /** Bytes of pooled output buffers of each size: enough for many connections that are written at once. */
  outputBytesKept: 8 * 1024 * 1024,
  /** Bytes buffered of one HTTP/2 response, and for its connection's socket, before its writer should wait. */
  responseBufferBytes: 64 * 1024,
  /**
   * Requests of one tenant in one turn of the event loop beyond which its connections wait for their turn (FloodGate);
   * for how long at least; how long a slice of theirs is and, in multiples of it, the pause behind it while others send
   * requests; and after how long without requests of others there is no pause.
   */
  floodRequestsPerTurn: 64,
  floodMs: 1_000,
  floodSliceMs: 0.25,
  floodPause: 24,
  floodQuietMs: 20,
  /** How long requests of one HTTP/2 connection are read before other work gets its turn. */
  readSliceMs: 10,
  /**
   * Time between the first GOAWAY on a connection and the second, which refuses later requests (RFC 9113 section 6.8).
   */
  goawayMs: 1_000,
  /**
   * How long, and in HTTP/1.1 how many bytes, a client may continue to send after the response, so that it can read the
   * response.
   */
  lingerMs: 1_000,
  lingerBytesMax: 1024 * 1024,
  /** Lists of all tenants that are compressed while they are sent, which takes 400 KiB each. Further ones are sent as they are. */
  listCompressorsMax: 64,
  /** Cache of frequently compressed objects and their compressed forms. */
  gzipKeptBytesMax: 8 * 1024 * 1024,
  /**
   * Elements of all lists and objects of a JSON, protobuf or CBOR body, where the smallest take two bytes and cost hundreds.
   */
  elementsMax: 250_000,
  /** Longer lists in protobuf are encoded twice rather than kept in memory while they are sent; and what all lists may keep. */
  protobufListKeptBytes: 4 * 1024 * 1024,
  protobufListsKeptBytes: 8 * 1024 * 1024,
  /** Pooled buffers for encoding lists, of 256 KiB, and initial events of watches, of 15 KiB. */
  listChunksKept: 16,
  eventChunksKept: 64,
  headerBytesMax: 64 * 1024,
  /** Path and query of a request. */
  targetBytesMax: 16 * 1024,
  /** A label or field selector. */
  selectorBytesMax: 8 * 1024,
  selectorRequirementsMax: 1_000,
  nameLengthMax: 253,
  /**
   * Names that need not be DNS names: of Events (another object's name and a time), and of ClusterTrustBundles (the name of
   * a signer, up to 571 bytes, and a suffix of up to 253).
   */
  pathNameBytesMax: 1_024,
  labelLengthMax: 63,
  /**
   * Owner references of one object: the garbage collector looks up each. Objects in use have a handful, aggregates some
   * hundreds.
   */
  ownerReferencesMax: 500,
  /** Labels and finalizers of one object: the cache and the garbage collector process each. */
  labelsMax: 2_000,
  finalizersMax: 500,
  /**
   * Of one role: its rules, and the sum of all verbs, groups, resources, names and paths in them; subjects of one
   * binding.
   */
  roleRulesMax: 3_000,
  roleTermsMax: 25_000,
  bindingSubjectsMax: 7_500,
  /** Of one pod, init containers included; a pod on a real cluster cannot run more than some hundreds. */
  podContainersMax: 1_000,
  podVolumesMax: 1_000,
  /** Total items of such lists in the spec of one pod: variables, ports, mounts, volumes, tolerations, terms. */
  podPartsMax: 5_000,
  /** Name of a cron job: those of its jobs are longer. */
  cronJobNameLengthMax: 52,
  /** Rules of a job's policies, and patterns of one rule. */
  jobRulesMax: 20,
  jobExitCodesMax: 255,
  jobManagerBytesMax: 63,
  jobIndexesBytesMax: 64 * 1024,
  /** Pods at a time, and failed indexes, of an indexed job. */
  jobIndexesMax: 100_000,
  /** Beyond it, a job that counts failures for each index may have fewer pods at a time. */
  jobCompletionsSoftMax: 100_000,
  jobParallelismOfManyMax: 10_000,
  /** Of one EndpointSlice, and of one endpoint in it; published. */
  sliceEndpointsMax: 1_000,
  slicePortsMax: 20_000,
  endpointAddressesMax: 100,
  endpointZoneHintsMax: 8,
  /** Owners, dependents and listed objects that the garbage collector processes before it yields. */
  collectorStepsPerSlice: 50,
  /** Keys and values of all annotations of one object. */
  annotationBytesMax: 256 * 1024,
  /** Data of one Secret or ConfigMap. */
  dataBytesMax: 1024 * 1024,
  /** Parameters of one StorageClass or VolumeAttributesClass, and keys and values of all. */
  classParametersMax: 512,
  classParametersBytesMax: 256 * 1024,
  /** Metadata and messages in the status of a VolumeAttachment. */
  attachmentMetadataBytesMax: 256 * 1024,
  volumeErrorBytesMax: 1024,
  /** PEM text of one ClusterTrustBundle. */
  trustBundleBytesMax: 1024 * 1024,
  /**
   * DER of one certificate in a bundle or an issued chain, which is parsed in one go; values in it, in a bundle (public
   * authorities have 90); and what is parsed before yielding: each certificate is a step, and each further 2 KiB of it.
   */
  certificateBytesMax: 32 * 1024,
  certificateValuesMax: 2_000,
  certificateBytesPerStep: 2 * 1024,
  certificateStepsPerSlice: 8,
  /**
   * JSON of one stored object, including everything the server adds: as large as a body with its resourceVersion may
   * be, so that a client can send back what it reads. etcd accepts half of that unless its `--max-request-bytes` is
   * raised.
   */
  objectBytesMax: 3 * 1024 * 1024 - 64,
  continueTokenBytesMax: 4 * 1024,
  /** Stored objects converted to other API versions, in total. */
  versionFormsBytesMax: 32 * 1024 * 1024,
  /** How long a slice of sliced work runs before it yields: well below the limit of 20 ms for any work. */
  sliceMs: 5,
  /** Total time of all slices that begin in one turn of the event loop. */
  turnMs: 10,
  /** Events queued for one slow watcher; beyond this the watch is closed. */
  watcherBufferEventsMax: 1_000,
  /** Bytes of the objects of those events. */
  watcherQueueBytesMax: 8 * 1024 * 1024,
  /** How long one slow client may delay others that catch up from the store's history together with it. */
  catchUpPauseMsMax: 100,
  /** Bytes buffered in one watcher's connection before its events are queued. */
  watcherBufferBytesMax: 256 * 1024,
  /** A watch without `timeoutSeconds` ends at random between this and twice this, unless a flag overrides it. */
  watchMsDefault: 30 * 60_000,
  /** Time for requests in flight when the server stops. */
  drainMsMax: 30_000,
  /** Longest `timeoutSeconds` of a watch: a day. */
  watchTimeoutMsMax: 24 * 3600_000,
  /** Field managers with operation Update that an object keeps apart; beyond this the oldest are merged. */
  updateManagersMax: 10,
  /**
   * Field managers with operation Apply, which cannot be merged: the set of applied fields is needed to prune them.
   * Beyond their number, or the JSON of their entries, new ones are refused and existing ones keep working.
   */
  applyManagersMax: 1_000,
  applyManagersBytesMax: 1_536 * 1024,
  /** Path elements of field sets whose canonical text is cached. */
  pathElementsKept: 10_000,
  /** Concurrent deletions of one delete-collection request. */
  deleteCollectionParallel: 32,
  /** Interval of bookmarks for watches that requested them. */
  bookmarkMs: 60_000,
  /** How often the cache is compared with the store. */
  consistencyCheckMs: 5 * 60_000,
  /** Longest grace period of a pod, in seconds, whatever was requested: 68 years. */
  graceSecondsMax: 2 ** 31 - 1,
  /** Attempts to find an unused name for `generateName`. */
  generateNameAttemptsMax: 8,
  /** Retries after a conflict of a write that specified no resourceVersion. */
  writeAttemptsMax: 32,
  ...quotaLimits,
  /** Truncation of request data in the access log; for audit ids as in kube-apiserver. */
  accessLogUriCharactersMax: 2_048,
  accessLogAgentCharactersMax: 256,
  accessLogAuditIdCharactersMax: 64,
  /** Label combinations that one metric keeps apart; all others are counted together (CVE-2020-8552). */
  metricSeriesMax: 2_000,
  /** How long a server may be silent towards our own client; watches get a bookmark every minute. */
  clientSilenceMsMax: 180_000,
  /**
   * Results that an RBAC index caches until its roles or bindings change; each role named in a result counts as one
   * more.
   */
  rbacAnswersKept: 100_000,
  /** Longer requests are authorized, but the result is not cached. */
  rbacQuestionLengthKept: 512,
  /** Missing roles, referenced by bindings, that one response names. */
  rbacMissingRolesShown: 10,
  /** Comparisons of single permissions in the escalation check before it refuses. */
  rbacCoverStepsMax: 1_000_000,
  /** Missing permissions that a refusal of the escalation check names. */
  rbacMissingRulesShown: 1_000,
  /** Polling interval of watched files. */
  fileLookMs: 1_000,
  /** Interval of checks for certificates that are due for renewal. */
  certificateCheckMs: 3600_000,
  /** A file that looks unchanged is read again after this time (spec section 5.7: 60 s). */
  fileRereadMs: 60_000,
  /** Characters of a bearer token; longer ones identify nobody. */
  tokenLengthMax: 64 * 1024,
  ...auditLimits,
  ...connectLimits,
  ...flowLimits,
  ...storageLimits,
  ...expressionLimits,
  ...serviceLimits,
  ...webhookLimits,
  ...workloadLimits,
  ...deviceLimits,
  ...encryptionLimits,
  /** Results that a token cache keeps, and the total characters of their identities, or of their tokens. */
  tokenCacheEntriesMax: 32 * 1024,
  tokenCacheTextMax: 32 * 1024 * 1024,
  /** One SubjectAccessReview of a program that delegates authorization to the API server, as in kube-controller-manager. */
  delegatedReviewMsMax: 10_000,
  /** How long after the end of its lease a leader that neither renews nor ends counts as unhealthy. */
  overdueLeaderMs: 20_000,
  /** How long an unknown token is cached at most. */
  unknownTokenKeptMs: 10_000,
  /** Standard output of a credential plugin, and how long it may run: users may have to log in. */
  pluginOutputBytesMax: 1024 * 1024,
  pluginMsMax: 5 * 60_000,
  /** How long pending requests may continue on connections whose client certificate was replaced. */
  retiredConnectionsMs: 30_000,
  /** Client credential files are read again after this time: others renew them. */
  credentialFileMs: 60_000,
  /**
   * Service account tokens that controllers request, as in kube-controller-manager: requested lifetime, shortest
   * lifetime that servers grant, the part of it after which they are renewed; after a failed renewal, how long until
   * the next attempt.
   */
  accountTokenSeconds: 3_600,
  accountTokenMsMin: 10 * 60_000,
  accountTokenUsedPart: 0.8,
  accountTokenRetryMs: 10_000,
  /** Longest timer that controllers set for a time of day: meanwhile the clock may be set, or the machine sleep. */
  controllerTimerMsMax: 3600_000,
  jobBackOffMs: { first: 10_000, longest: 600_000 }, // Before a job replaces a pod that failed; doubles with each.
  uncountedPodsMax: 500, // Pods that the status of a job names because they are not in its counters yet.
  /**
   * Events of one controller, as in client-go: events about one object at once, and the time in which it may have one more;
   * messages for one reason from which on events are combined, and the pause after which they are not; tables of what was
   * reported. Bytes of a message; events waiting to be written; attempts of one, and the pause between them.
   */
  eventsPerObjectMax: 25,
  eventRefillMs: 5 * 60_000,
  eventsUncombinedMax: 10,
  eventsCombinedMs: 10 * 60_000,
  eventSeriesMax: 4_096,
  eventMessageBytesMax: 1_024,
  eventsWaitingMax: 1_000,
  eventAttemptsMax: 12,
  eventRetryMs: 10_000,
  /** A line of a policy file. */
  abacLineBytesMax: 64 * 1024,
  /** Bytes of the reason and the message of a condition (kube-apiserver: 1 kB; 32 kB). */
  conditionReasonMax: 1024,
  conditionMessageMax: 32 * 1024,
  /** Certificates in a client's chain, and signatures verified while building a path. */
  chainCertificatesMax: 10,
  chainSignatureChecksMax: 100,
  /** Nesting of certificates and certificate requests from outside. */
  derDepthMax: 16,
  /**
   * A certificate request from outside: PEM with all that is around it; then as DER bytes and values (alternative names are
   * counted apart). One is read in a single turn of the event loop, which takes 5 ms for the largest.
   * Bits of its RSA key: TLS peers refuse more.
   */
  certificateRequestTextMax: 128 * 1024,
  certificateRequestBytesMax: 64 * 1024,
  certificateRequestValuesMax: 500,
  certificateRequestRsaBitsMax: 8192,
  /** Requests that a controller works on in one turn of the event loop. */
  certificateRequestsPerSlice: 4,
  /** Readings that are kept, for those who read the same request next, and characters of a request that is kept. */
  certificateRequestsKeptMax: 1_024,
  certificateRequestKeptLengthMax: 4 * 1024,
  /** Begin markers and header lines of PEM that are skipped in search of one block, which takes 3 ms. */
  pemLinesSkippedMax: 10_000,
  /** Conditions of a certificate signing request. */
  requestConditionsMax: 1_000,
  /** One request to an OpenID Connect provider, and the size of its responses: discovery document, key set. */
  oidcFetchMsMax: 10_000,
  oidcDiscoveryBytesMax: 256 * 1024,
  oidcKeySetBytesMax: 1024 * 1024,
  /** Keys of one provider, usable or not. */
  oidcKeysMax: 64,
  /** After this time a provider's keys are fetched again, so that removed keys become invalid. */
  oidcKeysFreshMs: 5 * 60_000,
  /** Shortest interval between fetches triggered by tokens with unknown keys, also after a failure. */
  oidcKeysFetchMsMin: 5_000,
  /** Delay after a failed fetch; it doubles up to the second value (kube-apiserver: always 10 s). */
  oidcRetryMs: 1_000,
  oidcRetryMsMax: 10_000,
  /** Tokens waiting for the keys of one provider at once. */
  oidcWaitingMax: 1_000,
  /** Other issuers that one provider may reference for distributed claims. */
  oidcClaimIssuersMax: 8,
  /** How long verified tokens of a provider are cached (kube-apiserver: 10 s). */
  oidcTokenKeptMs: 10_000,
  /** How long the providers of a changed configuration may be unreachable before the reload counts as a failure. */
  oidcReloadMsMax: 60_000,
  /** Service account tokens cached as verified, and as forged; how long the latter are kept. */
  verifiedTokensKept: 10_000,
  forgedTokensKept: 1_000,
  forgedTokenMs: 10_000,
  /** How long a token that the store refused is refused from the cache alone. */
  refusedTokenMs: 1_000,
  /** Concurrent label updates of token Secrets. */
  legacyMarksUnderWayMax: 100,
  /** Audiences that an error names, and characters of each. */
  audiencesShown: 10,
  audienceLengthShown: 256,
  /** Providers in one AuthenticationConfiguration (spec section 8). */
  jwtAuthenticatorsMax: 64,
  /** Interval between searches for expired objects: 1/120 of their lifetime, within these bounds. */
  expiryStepMsMin: 100,
  expiryStepMsMax: 60_000,
  /** Concurrent removals of expired objects. */
  expiryParallel: 32,
  /** How long watches of a resource that was removed may take for its last events. */
  removedWatchMsMax: 2_000,
  /** How long a definition of a custom resource without objects stays for watches that do not know yet that they are gone. */
  laggingWatchMsMax: 10_000,
  /** Kinds whose definitions were removed that servers tell collectors; the latest. About 150 bytes each, in one object. */
  removedKindsMax: 300,
  /** A file that a flag names: configuration, keys, certificates, tokens, policies. */
  configurationFileBytesMax: 64 * 1024 * 1024,
  /** Parts of schemas of custom resources that are kept built, of about 2 kB each. A usual definition has 300. */
  schemaPartsBuiltMax: 30_000,
  /** The same on the thread for heavy work, where fewer kinds are written. */
  heavySchemaPartsMax: 10_000,
  /** OpenAPI documents of custom resources; larger ones are made for each who asks, that of version 2 as it is written. */
  recentDocumentsBytesMax: 16 * 1024 * 1024,
  /** Schemas of custom resources as OpenAPI documents have them; larger documents make them anew. */
  documentedSchemasBytesMax: 8 * 1024 * 1024,
  /** Documents that are written as they are made, at a time. Others wait. */
  streamedDocumentsMax: 4,
  /** Discovery and OpenAPI documents in forms other than JSON. */
  documentFormBytesMax: 16 * 1024 * 1024,
  /** Pods that are checked when a namespace enforces a stricter level, and how long that takes (kube-apiserver: the same). */
  podSecurityPodsMax: 3_000,
  podSecurityMsMax: 1_000,
  /** Pods of a budget whose evictions its controller has yet to confirm (kube-apiserver: the same). */
  disruptedPodsMax: 2_000,
  /** Lines of a log that are written together. */
  logChunkBytes: 1024 * 1024,
  /** How long the reader of a full pipe is waited for before the next attempt. */
  fullPipeMs: 10,
} as const;

/**
 * Every limit on what a client can make the server hold or do, in one object, so that an operator can read what the
 * server promises (design section 7). Sizes are bytes, durations milliseconds, everything else counts.
 *
 * A copy: V8 makes a literal of so many fields a dictionary, which is looked up at each use; a copy has places, and what
 * stands there goes into the compiled code.
 */
export const limits: typeof all = Object.freeze({ ...all });
