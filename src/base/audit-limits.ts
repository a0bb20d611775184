/** Limits of audit events and traces, part of `limits`: bytes, milliseconds, counts. */
export const auditLimits = {
  /** An `Audit-ID` sent by a client; longer ones are replaced. kube-apiserver accepts any length. */
  auditIdCharactersMax: 256,
  /** Annotations of a request's audit event, and bytes of their keys and values. */
  auditAnnotationsMax: 100,
  auditAnnotationsBytesMax: 256 * 1024,
  /** User agents of audit events whose JSON is cached, and the characters of each. */
  auditTextsKept: 1_000,
  auditTextLengthKept: 256,
  /** Memory in which an audit event is put together, unless it is longer. */
  auditScratchBytes: 16 * 1024,
  /** Characters of a user agent in an audit event; the rest is left out, as in kube-apiserver. */
  auditAgentCharactersMax: 1_024,
  /** Addresses of `X-Forwarded-For` in an audit event, the last ones. Over HTTP/2 a client repeats thousands in a byte. */
  auditForwardedMax: 64,
  /** An object in an audit event; a larger one is left out. */
  auditObjectBytesMax: 16 * 1024 * 1024,
  /** Objects that are being encoded for audit events, as they came; further ones are left out. */
  auditEncodingBytesMax: 128 * 1024 * 1024,
  /** Audit events that wait to be written or sent, for each backend; further ones are lost. */
  auditWaitingBytesMax: 256 * 1024 * 1024,
  /** Batches that are sent to an audit webhook at once. */
  auditBatchesMax: 20,
  /** Bytes of events in one request to an audit webhook; one with a single event may have more. */
  auditBatchBytesMax: 16 * 1024 * 1024,
  /** How long audit events for a file gather in mode `batch`. */
  auditGatherMs: 50,
  /** How long a server that stops tries to send audit events. */
  auditFlushMsMax: 30_000,
  /** One attempt to send audit events (kube-apiserver: the same). */
  auditWebhookMsMax: 30_000,
  /** Shortest interval between reports of lost audit events, for each backend. */
  auditLossReportMs: 10_000,
  /** Ended spans that wait for the collector, those under way included; further ones are lost (OpenTelemetry: the same). */
  traceSpansWaitingMax: 2_048,
  /** Spans of one message to the collector (OpenTelemetry: the same). */
  traceBatchSpansMax: 512,
  /** One message to the collector, repetitions included. */
  traceExportMsMax: 5_000,
  /** How long a server that stops tries to send spans. */
  traceFlushMsMax: 5_000,
  /** Shortest interval between reports of spans that could not be sent. */
  traceLossReportMs: 60_000,
  /** Characters of a text in a span (kube-apiserver: the same, of user agents). */
  traceTextCharactersMax: 1_024,
  /** Attributes of a span, and events of one. */
  traceAttributesMax: 32,
  traceEventsMax: 32,
} as const;
