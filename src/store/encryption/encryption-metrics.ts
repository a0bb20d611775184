import type { Counter, Gauge, Histogram, Metrics } from '../../base/metrics.ts';

/** Metrics of encryption at rest, with the names of kube-apiserver. */
export interface EncryptionMetrics {
  readonly operations: Counter<'resource' | 'transformation_type' | 'transformer_prefix' | 'status'>;
  readonly durations: Histogram<'transformation_type' | 'transformer_prefix'>;
  readonly seedMisses: { inc(): void };
  readonly seedFailures: { inc(): void };
  readonly seedDurations: Histogram<never>;
  readonly calls: Histogram<'provider_name' | 'method_name' | 'grpc_status_code'>;
  readonly keyIds: Counter<KeyIdLabel>;
  readonly keyIdTimes: Gauge<KeyIdLabel>;
  readonly statusTimes: Gauge<'provider_name' | 'key_id_hash' | 'apiserver_id_hash'>;
  readonly invalidKeyIds: Counter<'provider_name' | 'error'>;
  readonly seeds: Gauge<'provider_name'>;
}

type KeyIdLabel = 'transformation_type' | 'provider_name' | 'key_id_hash' | 'apiserver_id_hash';

const doubling = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, power) => Number((first * 2 ** power).toPrecision(10)));

const keyIdLabels = ['transformation_type', 'provider_name', 'key_id_hash', 'apiserver_id_hash'] as const;

/** Defines the metrics. Series of encrypted values appear with the first of them. */
export function encryptionMetrics(metrics: Metrics): EncryptionMetrics {
  return { ...valueMetrics(metrics), ...envelopeMetrics(metrics) };
}

function valueMetrics(metrics: Metrics) {
  const prefix = 'apiserver_storage';
  return {
    operations: metrics.counter({
      name: `${prefix}_transformation_operations_total`,
      help: 'Values encrypted for the store and decrypted from it, by resource, direction, provider and outcome.',
      labels: ['resource', 'transformation_type', 'transformer_prefix', 'status'],
    }),
    durations: metrics.histogram({
      name: `${prefix}_transformation_duration_seconds`,
      help: 'Durations of encryption and decryption of single values.',
      labels: ['transformation_type', 'transformer_prefix'],
      buckets: doubling(5e-6, 25),
    }),
    seedMisses: metrics.count({
      name: `${prefix}_envelope_transformation_cache_misses_total`,
      help: 'Values whose data encryption key a plugin had to be asked for.',
    }),
    seedDurations: metrics.histogram({
      name: `${prefix}_data_key_generation_duration_seconds`,
      help: 'Durations of the generation of data encryption keys.',
      labels: [],
      buckets: doubling(5e-6, 14),
    }),
    seedFailures: metrics.count({
      name: `${prefix}_data_key_generation_failures_total`,
      help: 'Data encryption keys that could not be generated.',
    }),
  };
}

function envelopeMetrics(metrics: Metrics) {
  const prefix = 'apiserver_envelope_encryption';
  return {
    calls: metrics.histogram({
      name: `${prefix}_kms_operations_latency_seconds`,
      help: 'Durations of calls to KMS plugins, by gRPC status.',
      labels: ['provider_name', 'method_name', 'grpc_status_code'],
      buckets: doubling(1e-4, 20),
    }),
    keyIds: metrics.counter({
      name: `${prefix}_key_id_hash_total`,
      help: 'How often the key of a plugin was used, by direction.',
      labels: keyIdLabels,
    }),
    keyIdTimes: metrics.gauge({
      name: `${prefix}_key_id_hash_last_timestamp_seconds`,
      common: true,
      help: 'When the key of a plugin was last used, by direction.',
      labels: keyIdLabels,
    }),
    statusTimes: metrics.gauge({
      name: `${prefix}_key_id_hash_status_last_timestamp_seconds`,
      common: true,
      help: 'When the status of a plugin last named the key.',
      labels: ['provider_name', 'key_id_hash', 'apiserver_id_hash'],
    }),
    invalidKeyIds: metrics.counter({
      name: `${prefix}_invalid_key_id_from_status_total`,
      help: 'Statuses of plugins with an invalid key id, by what is wrong with it.',
      labels: ['provider_name', 'error'],
    }),
    seeds: metrics.gauge({
      name: `${prefix}_dek_source_cache_size`,
      help: 'Decrypted sources of data encryption keys that are kept, by plugin.',
      labels: ['provider_name'],
    }),
  };
}
