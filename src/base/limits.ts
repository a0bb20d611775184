/**
 * Every bound on what a client can make the server hold or do. One file, so that an operator can read what the
 * server promises (design section 7). Sizes are bytes, durations milliseconds, the rest counts.
 */
export const limits = {
  /** A request body as it is sent, and as it is after decompression. */
  bodyBytesMax: 3 * 1024 * 1024,
  /** Nesting of arrays and objects in JSON, YAML and CBOR. */
  depthMax: 64,
  /** Alias expansions in one YAML document. */
  yamlAliasesMax: 100,
  /** Words and signs of one YAML document; reading them takes about a microsecond each. */
  yamlTokensMax: 150_000,
  /**
   * Bodies, and stored objects, that are small enough for the event loop whatever is in them; larger ones are as long as
   * they have no more fields and elements than that, up to a size. All else is for the thread for heavy work.
   */
  lightBytesMax: 4 * 1024,
  inlineBytesMax: 128 * 1024,
  inlinePartsMax: 1_000,
  /** The body of what is answered and not stored (reviews, token requests, evictions, options): done on the event loop. */
  unstoredBytesMax: 512 * 1024,
  unstoredPartsMax: 4_000,
  /** Heavy requests that wait for the thread; that are under way at once, and the bytes that these work on. */
  heavyJobsWaitingMax: 200,
  heavyJobsAtOnceMax: 8,
  /** Kinds that were added at run time and are kept there. */
  heavyKindsMax: 500,
  heavyBytesAtOnceMax: 8 * 1024 * 1024,
  /** Heap of the thread for heavy work; how long it may be silent with work to do; how long it stays with none. */
  heavyHeapMiB: 512,
  heavySilenceMsMax: 10_000,
  heavyIdleMs: 5 * 60_000,
  /** Directives (`%YAML`, `%TAG`) of one YAML document: the parser takes time in the square of their number. */
  yamlDirectivesMax: 64,
  /** Errors, and unknown and duplicate fields, that are reported of one object. */
  findingsMax: 1_000,
  /** `Warning` headers of one answer, their bytes in all, and the characters of each where these are not enough. */
  warningsMax: 50,
  warningBytesMax: 4 * 1024,
  warningCharactersMax: 256,
  /** Text of a quantity, and the power of ten that may stand behind it. */
  quantityLengthMax: 128,
  quantityExponentMax: 128,
  /** Operations of one JSON Patch. */
  jsonPatchOperationsMax: 10_000,
  /** JSON text of all values that one JSON Patch copies (CVE-2019-1002100). */
  jsonPatchCopyBytesMax: 3 * 1024 * 1024,
  /** Fields and elements that applying one patch may look at; no patch of an honest client comes near. */
  patchStepsMax: 5_000_000,
  /** Requests in flight that read; watches and health checks don't count. */
  readsInFlightMax: 400,
  /** Requests in flight that write; as many reviews, which write nothing, have places of their own. */
  writesInFlightMax: 200,
  /** Requests of one priority level that wait for a place; of one tenant, no more than there is room for others. */
  waitingPerLevelMax: 1_000,
  /** What a request may wait for a place, of the time it may take in all (published: a quarter). */
  waitingPart: 0.25,
  /** No write has ended for this long while others wait: the server says that it is not ready. */
  writesStalledMsMax: 10_000,
  /** Requests under way of all tenants, until their answers are read; watches don't count. */
  requestsUnderWayMax: 20_000,
  /** Requests whose authorizer must wait, of all tenants: fewer than may wait for one webhook. */
  authorizationsWaitingMax: 800,
  /** Bodies that are being received at once, of all tenants. */
  bodiesReceivedAtOnceMax: 4_096,
  /** Bytes of bodies, of all tenants: from when they come until their request is answered. */
  bodyBytesHeldMax: 128 * 1024 * 1024,
  /** A body of which less than this rate came for this long is given up. */
  bodyBytesPerSecondMin: 240,
  bodyGraceMs: 5_000,
  /** Bytes of answers, of all tenants, that clients have asked for and do not take. */
  unreadBytesMax: 256 * 1024 * 1024,
  /** Tenants that are remembered although nothing is under way for them. */
  idleTenantsKept: 1_000,
  /** What a request may take, watches excepted. */
  requestMsMax: 60_000,
  /** What a client may take to send the headers of a request. */
  headersMsMax: 10_000,
  /** What a client may take for a TLS handshake. */
  handshakeMsMax: 10_000,
  /** A connection without a request on it. */
  idleMsMax: 120_000,
  /** Silence on a connection before the system asks whether the other side is still there. */
  tcpKeepAliveMs: 60_000,
  /** How often a client is asked over a WebSocket whether it is still there; one that does not answer until the next time is cut off. */
  webSocketPingMs: 30_000,
  /** How often it is told that requests fail because the store is full. */
  fullStoreLogMs: 60_000,
  /** A message of a client over a WebSocket on which only the server has something to say. */
  webSocketMessageBytesMax: 4 * 1024,
  /** HTTP/2 streams at once on one connection. */
  streamsPerConnectionMax: 100,
  /** Streams that a client may reset within a second before its connection is closed (CVE-2023-44487). */
  streamResetsPerSecondMax: 200,
  /** HTTP/2 frames within a second that ask for nothing: PING, SETTINGS, empty DATA, windows of nothing that was sent. */
  controlFramesPerSecondMax: 1_000,
  /** Settings in one frame. */
  settingsMax: 32,
  /** Connections at once; further ones are dropped before their handshake. */
  connectionsMax: 20_000,
  /** What a client may send of one stream's body before it was read. */
  streamWindowBytes: 256 * 1024,
  /** What a client may send of all bodies of a connection before it is told that it arrived. */
  connectionWindowBytes: 1024 * 1024,
  /** The payload of an HTTP/2 frame that a client may send. */
  framePayloadBytesMax: 16 * 1024,
  /** Frames that the headers of one request may be cut into (CVE-2024-27316). */
  headerFramesMax: 64,
  /** Header fields that the two sides of an HTTP/2 connection remember (RFC 7541 section 4.2). */
  headerTableBytes: 4 * 1024,
  /** Streams that are over for us whose frames, still on their way, are dropped. */
  finishedStreamsMax: 1_000,
  /** What waits for the socket of an HTTP/2 connection before its client must read; also what goes out at once. */
  outputBytesMax: 256 * 1024,
  /** Buffers of each size for that which are kept when they were sent: of many connections that are written to at once. */
  outputBytesKept: 8 * 1024 * 1024,
  /** What waits of one response over HTTP/2 before whoever writes it should wait. */
  responseBufferBytes: 64 * 1024,
  /** How long requests of one HTTP/2 connection are read before others have their turn. */
  readSliceMs: 10,
  /** How long a client may take to hear that its connection is to end, until requests that it still sends are refused. */
  goawayMs: 1_000,
  /** How long, and in HTTP/1.1 how many bytes, a client may go on sending after it was answered, so that it sees the answer. */
  lingerMs: 1_000,
  lingerBytesMax: 1024 * 1024,
  /** Objects that are often read compressed, with their compressed forms. */
  gzipKeptBytesMax: 8 * 1024 * 1024,
  /** Elements of all lists and objects of a body in JSON or protobuf, where the smallest take two bytes and cost hundreds. */
  elementsMax: 250_000,
  /** Longer lists in protobuf are encoded twice instead of being kept while they are sent. */
  protobufListKeptBytes: 4 * 1024 * 1024,
  /** Buffers of 256 KiB that are kept to be filled with the next lists. */
  listChunksKept: 16,
  headerBytesMax: 64 * 1024,
  /** The path and query of a request. */
  targetBytesMax: 16 * 1024,
  /** A label or field selector. */
  selectorBytesMax: 8 * 1024,
  selectorRequirementsMax: 1_000,
  nameLengthMax: 253,
  /** Names that need not be DNS names, such as those of Events: a name of another object with a time behind it. */
  pathNameBytesMax: 512,
  labelLengthMax: 63,
  /** Owners of one object: the garbage collector asks for each. Objects in use have a handful, aggregates some hundreds. */
  ownerReferencesMax: 500,
  /** Labels and finalizers of one object: each is looked at by the cache and by the garbage collector. */
  labelsMax: 2_000,
  finalizersMax: 500,
  /** Of one role: its rules, and all verbs, groups, resources, names and paths in them; subjects of one binding. */
  roleRulesMax: 3_000,
  roleTermsMax: 25_000,
  bindingSubjectsMax: 7_500,
  /** Of one pod, init containers included; published servers can run no more than some hundreds. */
  podContainersMax: 1_000,
  podVolumesMax: 1_000,
  /** All that such lists in the spec of one pod hold: variables, ports, mounts, volumes, tolerations, terms. */
  podPartsMax: 5_000,
  /** Owners, dependents and listed objects that the garbage collector looks at before others run. */
  collectorStepsPerSlice: 50,
  /** Keys and values of all annotations of one object. */
  annotationBytesMax: 256 * 1024,
  /** Data of one Secret or ConfigMap. */
  dataBytesMax: 1024 * 1024,
  /**
   * JSON of one stored object with all that the server keeps in it: as much as a body may have once its resourceVersion is
   * put in, so that a client can send back what it reads. etcd takes half of that unless its `--max-request-bytes` is raised.
   */
  objectBytesMax: 3 * 1024 * 1024 - 64,
  continueTokenBytesMax: 4 * 1024,
  /** Pages are cut here when a client asks for no limit of its own in a chunked read of the store. */
  storePageMax: 10_000,
  /** History of the store that watches, exact reads and continue tokens can use (spec section 8). */
  historyMs: 5 * 60_000,
  /** Of it, what the store keeps at most: beyond, the oldest goes before its time. */
  historyBytesMax: 1024 * 1024 * 1024,
  /** How long a read may wait for a version that is not there yet (spec section 4.5). */
  futureRevisionWaitMs: 3_000,
  /** Changes, and bytes of their values, that a store keeps in memory for its feeds; slower feeds read its history. */
  storeRecentChangesMax: 10_000,
  storeRecentBytesMax: 8 * 1024 * 1024,
  /**
   * Room on the disk that SQLite keeps for deletions: enough to move the write-ahead log, 16 MiB, into a file that cannot grow
   * otherwise. It is set aside so long after the start, and looked for so often where there is none.
   */
  sqliteReserveBytes: 20 * 1024 * 1024,
  sqliteReserveDelayMs: 5_000,
  sqliteReserveRetryMs: 60_000,
  /** How often a full store looks whether there is room again. */
  sqliteFullRetryMs: 1_000,
  /** Added to the revision of a copied store, which then is above any that a client of the original has seen. */
  copyRevisionStep: 1_000_000_000,
  /** Change events that the cache keeps per resource to start watches from. */
  cacheHistoryEventsMax: 10_000,
  /** Bytes of objects that those events keep alive, per resource. */
  cacheHistoryBytesMax: 32 * 1024 * 1024,
  /** The same, for all resources together: the largest give way. */
  cacheHistoriesBytesMax: 128 * 1024 * 1024,
  /** What those events were encoded to for watchers, all together. */
  cacheEncodingsBytesMax: 32 * 1024 * 1024,
  /** What stored objects were converted to for clients of other versions, all together. */
  versionFormsBytesMax: 32 * 1024 * 1024,
  /** How often history and snapshots that nobody adds to are looked through for what is too old. */
  cacheSweepMs: 60_000,
  /** Entries of a resource that may stand apart from their neighbours in memory before they are looked at. */
  cacheScatteredMin: 256,
  /** How long work that is cut in slices runs before others get their turn: well below the 20 ms that nothing may take. */
  sliceMs: 5,
  /** What all slices that begin in one turn of the event loop may take together. */
  turnMs: 10,
  /** Changes that wait to be told to watchers before the cache stops taking in more. */
  cacheFanOutMax: 10_000,
  /** Snapshots per resource that the cache keeps for exact reads; the store answers for older ones. */
  cacheSnapshotsMax: 256,
  /** Events that wait for one watcher whose client reads slowly; past it the watch is closed. */
  watcherBufferEventsMax: 1_000,
  /** Bytes of the objects of those events. */
  watcherQueueBytesMax: 8 * 1024 * 1024,
  /** How long one slow client may hold up the others that catch up from the store's history together with it. */
  catchUpPauseMsMax: 100,
  /** Bytes that wait in one watcher's connection before its events queue. */
  watcherBufferBytesMax: 256 * 1024,
  /** A watch without `timeoutSeconds` ends at random between this and twice this, unless a flag says otherwise. */
  watchMsDefault: 30 * 60_000,
  /** Health checks of the store share an answer for this long. */
  storeHealthMs: 1_000,
  /** A store that takes longer to say where it stands is not healthy. */
  storeHealthWaitMs: 2_000,
  /** What requests in flight may take when the server stops. */
  drainMsMax: 30_000,
  /** A client may ask for no longer watch than a day. */
  watchTimeoutMsMax: 24 * 3600_000,
  /** Owners by update that an object keeps apart; of more, the oldest are joined. */
  updateManagersMax: 10,
  /**
   * Owners by apply, who cannot be joined: what each applied is needed to prune it. Above their number, or the JSON of their
   * entries, further ones are refused and those that are there go on.
   */
  applyManagersMax: 1_000,
  applyManagersBytesMax: 1_536 * 1024,
  /** Path elements of field sets whose canonical text is kept. */
  pathElementsKept: 10_000,
  /** Deletions of one delete-collection request under way at once. */
  deleteCollectionParallel: 32,
  /** How often watches that asked for bookmarks get one. */
  bookmarkMs: 60_000,
  /** How often the cache is compared with the store. */
  consistencyCheckMs: 5 * 60_000,
  /** Records that the cache reads from the store at once, to load or to compare. */
  cacheLoadPageMax: 1_000,
  /** First wait after the store's feed broke; doubled up to the longest. */
  changeStreamRetryMsMin: 100,
  changeStreamRetryMsMax: 5_000,
  /** How long the deletion of a pod may wait, in seconds, whatever was asked for: 68 years. */
  graceSecondsMax: 2 ** 31 - 1,
  /** Attempts to find a free name for `generateName`. */
  generateNameAttemptsMax: 8,
  /** Re-reads after a lost race of a write that named no resourceVersion. */
  writeAttemptsMax: 32,
  /** An id that a client gives its request; a longer one is not taken. Published servers take any. */
  auditIdCharactersMax: 256,
  /** What is written of a request into the access log. Of ids as much as published. */
  accessLogUriCharactersMax: 2_048,
  accessLogAgentCharactersMax: 256,
  accessLogAuditIdCharactersMax: 64,
  /** Sets of label values that one metric keeps apart; all others are counted together (CVE-2020-8552). */
  metricSeriesMax: 2_000,
  /** An answer of etcd; its own limit for a request is 1.5 MiB (`--max-request-bytes`). */
  etcdMessageBytesMax: 64 * 1024 * 1024,
  /** What a page of a list read from etcd should weigh, guessed from the page before it. */
  etcdPageBytes: 4 * 1024 * 1024,
  /** Records in the first page of a list, where nothing is known of their size, and in any page. */
  etcdFirstPageMax: 500,
  etcdPageMax: 10_000,
  /** One attempt of a read; one write. etcd itself gives up after 7 s. */
  etcdReadMsMax: 5_000,
  etcdWriteMsMax: 10_000,
  /** How long a write without an answer is looked for, once etcd can be read; what reached etcd is done in milliseconds. */
  etcdSettleMsMax: 2_000,
  /** How long a read that fails for a passing reason is tried again, at every endpoint. */
  etcdRetryMsMax: 15_000,
  /** How long a server may be silent towards our own client; watches get a bookmark every minute. */
  clientSilenceMsMax: 180_000,
  /** Pauses between attempts grow to this. */
  etcdBackoffMsMax: 2_000,
  /** How long a broken change feed tries to reconnect before its reader is told. */
  etcdWatchBrokenMsMax: 60_000,
  /** How often a change feed that hears nothing asks etcd for its head. */
  etcdHeadPollMs: 5_000,
  /** A reader of a change feed that takes longer for a batch is slow: etcd may compact what it has not read. */
  etcdSlowReaderMs: 1_000,
  /** Answers that an index of roles keeps until what they stand on changes; each name in one counts as one more. */
  rbacAnswersKept: 100_000,
  /** Longer questions are answered, and the answer is not kept. */
  rbacQuestionLengthKept: 512,
  /** Role references to nothing that one answer names. */
  rbacMissingRolesShown: 10,
  /** Comparisons of single permissions that the check for escalation makes before it refuses. */
  rbacCoverStepsMax: 1_000_000,
  /** Missing permissions that a refusal of the check for escalation names. */
  rbacMissingRulesShown: 1_000,
  /** Between two looks at a file that may change. */
  fileLookMs: 1_000,
  /** Between two looks at certificates that may have to be renewed. */
  certificateCheckMs: 3600_000,
  /** A file that looks unchanged is read again after this time (spec section 5.7: 60 s). */
  fileRereadMs: 60_000,
  /** Characters of a bearer token; longer ones are nobody's. */
  tokenLengthMax: 64 * 1024,
  /** Characters of one expression in the Common Expression Language, and how deep it may be (published: 100,000; 250). */
  celSourceLengthMax: 100_000,
  celDepthMax: 250,
  /** Characters of a regular expression, and how many of those that stand in expressions are kept compiled. */
  celPatternLengthMax: 4_096,
  celPatternsKept: 1_000,
  /** Digits behind the point that `format` writes. */
  celPrecisionMax: 100,
  /** What evaluating one expression may cost, and a set of them for one request (published: about 0.1 s and 1 s). */
  celCostMax: 1_000_000,
  celBudget: 10_000_000,
  /** Results that a cache of tokens keeps, and the characters of all identities, or of all tokens, among them. */
  tokenCacheEntriesMax: 32 * 1024,
  tokenCacheTextMax: 32 * 1024 * 1024,
  /** All attempts to ask a webhook whose a token is, together. */
  webhookTokenMsMax: 30_000,
  /** How long it is remembered at most that nobody knows a token. */
  unknownTokenKeptMs: 10_000,
  /** What a webhook may answer, connections to it, and questions that wait for it before more are refused. */
  webhookAnswerBytesMax: 1024 * 1024,
  webhookConnectionsMax: 100,
  webhookQuestionsMax: 1_000,
  /** Characters that are shown of an error that a webhook reports. */
  webhookErrorLengthMax: 1_024,
  /** What a credential plugin may write to its standard output, and how long it may run: people may have to log in. */
  pluginOutputBytesMax: 1024 * 1024,
  pluginMsMax: 5 * 60_000,
  /** How long the requests on connections with a certificate that has been replaced may go on. */
  retiredConnectionsMs: 30_000,
  /** Files with a client's credential are read again after this time: others renew them. */
  credentialFileMs: 60_000,
  /**
   * Tokens of service accounts that controllers ask for, as published: how long they are to be valid, the shortest life
   * that servers give them, and the part of it after which they are replaced; after a failure they are used on for a while.
   */
  accountTokenSeconds: 3_600,
  accountTokenMsMin: 10 * 60_000,
  accountTokenUsedPart: 0.8,
  accountTokenRetryMs: 10_000,
  /** A line of a policy file. */
  abacLineBytesMax: 64 * 1024,
  /** Conditions under which an authorization webhook is asked (spec section 8). */
  matchConditionsMax: 64,
  /** What an authorization webhook may take for one answer (spec section 8). */
  authorizationWebhookMsMax: 30_000,
  /** Answers that an authorization webhook's cache holds; questions whose attributes are longer are not kept. */
  authorizationAnswersKept: 8_192,
  authorizationQuestionLengthKept: 10_000,
  /** Characters of a reason that an authorization webhook gives; the rest is cut off. */
  authorizationReasonLengthMax: 1_024,
  /** An authorization webhook that fails again and again is reported no more often than this. */
  authorizationFailureReportMs: 10_000,
  /** How often a webhook is asked before it has failed, and the pause before the second attempt; it grows by half. */
  webhookAttemptsMax: 5,
  webhookRetryMs: 500,
  /** Certificates that a client may send with its own, and signatures that are checked to find a way among them. */
  chainCertificatesMax: 10,
  chainSignatureChecksMax: 100,
  /** One request to an OpenID Connect provider, and what it may answer: its description, its keys. */
  oidcFetchMsMax: 10_000,
  oidcDiscoveryBytesMax: 256 * 1024,
  oidcKeySetBytesMax: 1024 * 1024,
  /** Keys of one provider, usable or not. */
  oidcKeysMax: 64,
  /** After this time a provider's keys are fetched again, so that removed ones stop working. */
  oidcKeysFreshMs: 5 * 60_000,
  /** Between two fetches that tokens with unknown keys ask for, also after one that failed. */
  oidcKeysFetchMsMin: 5_000,
  /** The pause after a failed fetch; it doubles up to the second (published: always 10 s). */
  oidcRetryMs: 1_000,
  oidcRetryMsMax: 10_000,
  /** Tokens that wait for the keys of one provider at one time. */
  oidcWaitingMax: 1_000,
  /** Other issuers that one provider may send for claims. */
  oidcClaimIssuersMax: 8,
  /** How long tokens of a provider that have been found good are remembered (published: 10 s). */
  oidcTokenKeptMs: 10_000,
  /** How long the providers of a changed configuration may take to be reached until that counts as a failure. */
  oidcReloadMsMax: 60_000,
  /** Tokens of service accounts whose signature is not looked at again, and those known to be forged, for a while. */
  verifiedTokensKept: 10_000,
  forgedTokensKept: 1_000,
  forgedTokenMs: 10_000,
  /** A token that the store refused is refused from the cache alone for this long. */
  refusedTokenMs: 1_000,
  /** Labels on token Secrets that are being written at once. */
  legacyMarksUnderWayMax: 100,
  /** Audiences that an error names, and characters of each. */
  audiencesShown: 10,
  audienceLengthShown: 256,
  /** Providers in one AuthenticationConfiguration (spec section 8). */
  jwtAuthenticatorsMax: 64,
  /** Between two searches for objects whose time is over: a 120th of that time, but no less and no more. */
  expiryStepMsMin: 100,
  expiryStepMsMax: 60_000,
  /** Removals of such objects under way at once. */
  expiryParallel: 32,
  /** Documents of discovery and OpenAPI in forms other than JSON. */
  documentFormBytesMax: 16 * 1024 * 1024,
  /** Annotations that a request's audit event may have, and bytes of their keys and values. */
  auditAnnotationsMax: 100,
  auditAnnotationsBytesMax: 256 * 1024,
  /** Writes of one batch, and bytes of their keys and values. etcd takes less: see `Store.batch`. */
  storeBatchWritesMax: 1_000,
  storeBatchBytesMax: 16 * 1024 * 1024,
} as const;
