/**
 * Limits on webhooks and policies, and on what is asked of them: part of `limits`. Sizes are bytes, durations milliseconds,
 * everything else counts.
 */
export const webhookLimits = {
  /** Response of a webhook; connections to it; calls that may wait for it before more are refused. */
  webhookAnswerBytesMax: 1024 * 1024,
  webhookConnectionsMax: 100,
  webhookQuestionsMax: 1_000,
  /** Connections to webhooks: until they are open; HTTP/2 without a request; for an answer to a ping; idle TCP until it is probed. */
  tlsConnectMsMax: 10_000,
  http2IdleMs: 60_000,
  http2PongMsMax: 5_000,
  keepAliveProbeMs: 30_000,
  /** Megabytes that wait on one HTTP/2 connection: above what `webhookConnectionsMax` calls send, or the runtime refuses some. */
  http2SessionMegabytesMax: 1_024,
  /** Objects in one question to a conversion webhook, and their bytes (one object may have more). */
  conversionObjectsMax: 500,
  conversionBytesMax: 512 * 1024,
  /** One question to a conversion webhook: time; bytes and elements of its answer, which may be larger than what was asked. */
  conversionMsMax: 30_000,
  conversionAnswerBytesMax: 8 * 1024 * 1024,
  conversionElementsMax: 1_000_000,
  /** Bytes of an answer that is read on the event loop: about one object; about several, which are read one after the other. */
  conversionInlineBytesMax: 256 * 1024,
  conversionsInlineBytesMax: 768 * 1024,
  /** Pause before a default role or binding is written again that webhooks or policies refused. */
  defaultPolicyRetryMs: 10_000,
  /** Admission webhooks whose connections are kept; calls that may wait for one of them. */
  admissionConnectionsKept: 1_000,
  admissionCallsMax: 1_000,
  /** Kinds of requests for which it is remembered which admission webhooks, or policies, are for them. */
  matchedRequestsKept: 10_000,
  /** Namespaces that admission keeps as objects, and the bytes of one that it keeps. */
  parsedNamespacesKept: 1_000,
  parsedNamespaceBytesMax: 16 * 1024,
  /** Warnings, audit annotations and causes in the answer of an admission webhook that count. */
  reviewListMax: 100,
  /** Characters shown of an error that a webhook reports. */
  webhookErrorLengthMax: 1_024,
  /** Bytes of the value of an audit annotation of a policy, as in kube-apiserver. The rest is cut off. */
  policyAnnotationValueMax: 10 * 1024,
  /** Variables of a policy that are evaluated within each other. */
  variableDepthMax: 16,
  /** Match conditions of a webhook or policy (spec section 8). */
  matchConditionsMax: 64,
  /** Time for one response of an authorization webhook (spec section 8). */
  authorizationWebhookMsMax: 30_000,
  /** Responses in an authorization webhook's cache; requests with longer attributes are not cached. */
  authorizationAnswersKept: 8_192,
  authorizationQuestionLengthKept: 10_000,
  /** Characters of a reason given by an authorization webhook; the rest is truncated. */
  authorizationReasonLengthMax: 1_024,
  /** Shortest interval between reports of a repeatedly failing authorization webhook. */
  authorizationFailureReportMs: 10_000,
  /** Attempts of a webhook call, and the delay before the second attempt; it grows by half. */
  webhookAttemptsMax: 5,
  webhookRetryMs: 500,
  /** All attempts of one TokenReview webhook call, together. */
  webhookTokenMsMax: 30_000,
} as const;
