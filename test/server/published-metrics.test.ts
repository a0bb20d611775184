import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { admissionMetrics } from '../../src/admission/admission-metrics.ts';
import { conditionMetrics } from '../../src/admission/matching/condition-metrics.ts';
import { podSecurityMetrics } from '../../src/admission/plugins/pod-security/pod-security-metrics.ts';
import { policyMetrics } from '../../src/admission/policies/policy-metrics.ts';
import { webhookMetrics } from '../../src/admission/webhooks/webhook-metrics.ts';
import { auditMetrics } from '../../src/audit/audit-metrics.ts';
import { certificateLifetimes } from '../../src/authn/client-certificate.ts';
import { oidcMetrics } from '../../src/authn/oidc/oidc-metrics.ts';
import { registerTokenMetrics } from '../../src/authn/service-account/token-metrics.ts';
import { tokenCacheCounts } from '../../src/authn/token-cache.ts';
import { webhookTokenMetrics } from '../../src/authn/webhook/webhook-metrics.ts';
import { authorizationMetrics } from '../../src/authz/authorization-metrics.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { monitorEventLoop, readProcessUsage } from '../../src/base/process-usage.ts';
import { reloadReports } from '../../src/base/reload-reports.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { collectionMetrics, showRevisions } from '../../src/cache/collection-metrics.ts';
import { requestMetrics } from '../../src/client/counted-transport.ts';
import { ControllerMetrics } from '../../src/controllers/controller-metrics.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { honoredDurations, requestedDurations } from '../../src/kinds/certificates/requested-duration.ts';
import { addressMetrics, portMetrics } from '../../src/kinds/core/service/service-metrics.ts';
import { ruleTimes } from '../../src/registry/rule-times.ts';
import { conversionMetrics } from '../../src/server/definitions/conversion-metrics.ts';
import { documentMetrics } from '../../src/server/definitions/document-metrics.ts';
import { accessMetrics } from '../../src/server/serving/access-metrics.ts';
import { logMetrics } from '../../src/server/serving/connect/log-metrics.ts';
import { flowMetrics, observeLevels, observePools } from '../../src/server/serving/flow-control/flow-metrics.ts';
import { observeHandshakes } from '../../src/server/serving/observe/connection-metrics.ts';
import { DeprecatedApis } from '../../src/server/serving/observe/deprecated-apis.ts';
import { discoveryMetrics } from '../../src/server/serving/observe/discovery-metrics.ts';
import { observeEventLoop } from '../../src/server/serving/observe/event-loop-lag.ts';
import { observeProcess } from '../../src/server/serving/observe/process-metrics.ts';
import { RequestMetrics, workAfterTimeout } from '../../src/server/serving/observe/request-metrics.ts';
import { WatchMetrics } from '../../src/server/serving/observe/watch-metrics.ts';
import { buildInfo } from '../../src/server/serving/version-info.ts';
import { storageMetrics } from '../../src/server/upkeep/storage-metrics.ts';
import { encryptionReloads } from '../../src/server/wiring/encryption.ts';
import { defaultFeatures, featureMetrics } from '../../src/server/wiring/features.ts';
import { encryptionMetrics } from '../../src/store/encryption/encryption-metrics.ts';
import { storeMetrics } from '../../src/store/measured-store.ts';
import { OrchProcess } from '../support/orch-process.ts';

type Stability = 'ALPHA' | 'BETA' | 'STABLE';
interface Described {
  /** The release that deprecated it. */
  readonly deprecatedIn?: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly stability: Stability;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

const place = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'];
const request = [...place, 'component'];
const webhook = ['name', 'result'];
const condition = ['type', 'name'];
const level = ['priority_level', 'flow_schema'];
const kind = ['group', 'version', 'kind'];
const reload = ['status', 'apiserver_id_hash'];
const keyId = ['transformation_type', 'provider_name', 'key_id_hash', 'apiserver_id_hash'];
const doubled = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, power) => Number((first * 2 ** power).toPrecision(10)));
const fromHundredth = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const accessBuckets = Array.from({ length: 15 }, (_, power) => 2 ** power / 1000);
const publishBuckets = Array.from({ length: 15 }, (_, power) => 2 ** power / 1000);
const clientSizes = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];
/** Those of kube-apiserver 1.32.13, with its errors of rounding. */
const queueBuckets = [1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 0.001, 0.01, 0.1, 1, 10];

const counter = (labels: readonly string[], stability: Stability = 'ALPHA'): Described => ({
  type: 'counter',
  stability,
  labels,
});
const gauge = (labels: readonly string[], stability: Stability = 'ALPHA'): Described => ({
  type: 'gauge',
  stability,
  labels,
});
const histogram = (
  labels: readonly string[],
  buckets: readonly number[],
  stability: Stability = 'ALPHA',
): Described => ({ type: 'histogram', stability, labels, buckets });

/** Version 1.32 of kube-apiserver, as its sources and its published list of metrics have them. */
const published: Readonly<Record<string, Described>> = {
  apiserver_request_total: counter([...request, 'dry_run', 'code'], 'STABLE'),
  apiserver_request_duration_seconds: histogram([...request, 'dry_run'], [0.005, 0.025, ...fromHundredth], 'STABLE'),
  apiserver_request_sli_duration_seconds: histogram(request, fromHundredth),
  apiserver_response_sizes: histogram(request, [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9], 'STABLE'),
  apiserver_request_aborts_total: counter(place),
  apiserver_request_terminations_total: counter([...request, 'code']),
  apiserver_requested_deprecated_apis: gauge(
    ['group', 'version', 'resource', 'subresource', 'removed_release'],
    'STABLE',
  ),
  apiserver_longrunning_requests: gauge(request, 'STABLE'),
  apiserver_current_inflight_requests: gauge(['request_kind'], 'STABLE'),
  apiserver_current_inqueue_requests: gauge(['request_kind']),
  apiserver_watch_events_total: counter(kind),
  apiserver_watch_list_duration_seconds: histogram(
    ['group', 'version', 'resource', 'scope'],
    [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60],
  ),
  apiserver_request_slo_duration_seconds: { ...histogram(request, fromHundredth), deprecatedIn: '1.27' },
  apiserver_request_body_size_bytes: histogram(
    ['resource', 'verb'],
    Array.from({ length: 31 }, (_, at) => 50_000 + at * 100_000),
  ),
  apiserver_selfrequest_total: counter(['verb', 'resource', 'subresource']),
  apiserver_request_post_timeout_total: counter(['source', 'status']),
  apiserver_tls_handshake_errors_total: counter([]),
  field_validation_request_duration_seconds: histogram(['field_validation'], fromHundredth),
  apiserver_client_certificate_expiration_seconds: histogram(
    [],
    [
      ...[0, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800],
      ...[2_592_000, 7_776_000, 15_552_000, 31_104_000],
    ],
  ),
  apiserver_watch_events_sizes: histogram(kind, [1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072]),
  apiserver_flowcontrol_rejected_requests_total: counter([...level, 'reason'], 'BETA'),
  apiserver_flowcontrol_request_wait_duration_seconds: histogram(
    [...level, 'execute'],
    [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
    'BETA',
  ),
  apiserver_flowcontrol_request_queue_length_after_enqueue: histogram(level, [0, 10, 25, 50, 100, 250, 500, 1000]),
  apiserver_flowcontrol_dispatched_requests_total: counter(level, 'BETA'),
  apiserver_flowcontrol_current_executing_requests: gauge(level, 'BETA'),
  apiserver_cel_compilation_duration_seconds: histogram([], seconds, 'BETA'),
  apiserver_cel_evaluation_duration_seconds: histogram([], seconds, 'BETA'),
  apiserver_flowcontrol_request_concurrency_limit: { ...gauge(['priority_level']), deprecatedIn: '1.30' },
  apiserver_flowcontrol_request_concurrency_in_use: { ...gauge(level), deprecatedIn: '1.31' },
  kube_apiserver_pod_logs_pods_logs_insecure_backend_total: { ...counter(['usage']), deprecatedIn: '1.27' },
  kube_apiserver_pod_logs_pods_logs_backend_tls_failure_total: { ...counter([]), deprecatedIn: '1.27' },
  apiserver_flowcontrol_current_executing_seats: gauge(level, 'BETA'),
  apiserver_flowcontrol_current_inqueue_requests: gauge(level, 'BETA'),
  apiserver_flowcontrol_current_inqueue_seats: gauge(level),
  apiserver_flowcontrol_nominal_limit_seats: gauge(['priority_level'], 'BETA'),
  apiserver_flowcontrol_lower_limit_seats: gauge(['priority_level']),
  apiserver_flowcontrol_upper_limit_seats: gauge(['priority_level']),
  apiextensions_openapi_v2_regeneration_count: counter(['crd', 'reason']),
  apiextensions_openapi_v3_regeneration_count: counter(['crd', 'group', 'reason', 'version']),
  aggregator_discovery_aggregation_count_total: counter([]),
  apiserver_conversion_webhook_request_total: counter(['result', 'failure_type']),
  apiserver_conversion_webhook_duration_seconds: histogram(
    ['result', 'failure_type'],
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60],
  ),
  apiserver_crd_conversion_webhook_duration_seconds: histogram(
    ['crd_name', 'from_version', 'to_version', 'succeeded'],
    Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power),
  ),
  apiserver_validating_admission_policy_check_total: counter(
    ['policy', 'policy_binding', 'error_type', 'enforcement_action'],
    'BETA',
  ),
  apiserver_validating_admission_policy_check_duration_seconds: histogram(
    ['policy', 'policy_binding', 'error_type', 'enforcement_action'],
    [0.000_000_5, 0.001, 0.01, 0.1, 1],
    'BETA',
  ),
  apiserver_admission_webhook_request_total: counter(['name', 'type', 'operation', 'code', 'rejected']),
  apiserver_admission_webhook_admission_duration_seconds: histogram(
    ['name', 'type', 'operation', 'rejected'],
    [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
    'STABLE',
  ),
  apiserver_admission_webhook_rejection_count: counter(['name', 'type', 'operation', 'error_type', 'rejection_code']),
  apiserver_admission_webhook_fail_open_count: counter(['name', 'type']),
  apiserver_admission_match_condition_evaluation_seconds: histogram(
    ['name', 'kind', 'type', 'operation'],
    [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
  ),
  apiserver_admission_match_condition_evaluation_errors_total: counter(['name', 'kind', 'type', 'operation']),
  apiserver_admission_match_condition_exclusions_total: counter(['name', 'kind', 'type', 'operation']),
  apiserver_admission_controller_admission_duration_seconds: histogram(
    ['name', 'type', 'operation', 'rejected'],
    [0.005, 0.025, 0.1, 0.5, 1, 2.5],
    'STABLE',
  ),
  apiserver_admission_step_admission_duration_seconds: histogram(
    ['type', 'operation', 'rejected'],
    [0.005, 0.025, 0.1, 0.5, 1, 2.5],
    'STABLE',
  ),
  apiserver_audit_event_total: counter([]),
  apiserver_audit_error_total: counter(['plugin']),
  apiserver_audit_level_total: counter(['level']),
  apiserver_audit_requests_rejected_total: counter([]),
  apiserver_storage_objects: gauge(['resource'], 'STABLE'),
  apiserver_storage_size_bytes: gauge(['storage_cluster_id'], 'STABLE'),
  apiserver_storage_db_total_size_in_bytes: { ...gauge(['endpoint']), deprecatedIn: '1.28' },
  // Of the library for processes.
  process_cpu_seconds_total: counter([]),
  process_start_time_seconds: gauge([]),
  process_resident_memory_bytes: gauge([]),
  process_virtual_memory_bytes: gauge([]),
  process_virtual_memory_max_bytes: gauge([]),
  process_open_fds: gauge([]),
  process_max_fds: gauge([]),
  registered_metrics_total: counter(['stability_level', 'deprecated_version'], 'BETA'),
  disabled_metrics_total: counter([], 'BETA'),
  hidden_metrics_total: counter([], 'BETA'),
  cardinality_enforcement_unexpected_categorizations_total: counter([]),
  kubernetes_build_info: gauge([
    ...['major', 'minor', 'git_version', 'git_commit', 'git_tree_state', 'build_date', 'go_version'],
    ...['compiler', 'platform'],
  ]),
  kubernetes_feature_enabled: gauge(['name', 'stage'], 'BETA'),
  authentication_attempts: counter(['result']),
  authentication_duration_seconds: histogram(['result'], accessBuckets),
  authenticated_user_requests: counter(['username']),
  authorization_attempts_total: counter(['result']),
  authorization_duration_seconds: histogram(['result'], accessBuckets),
  apiserver_request_filter_duration_seconds: histogram(
    ['filter'],
    [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30],
  ),
  pod_security_evaluations_total: counter([
    ...['decision', 'policy_level', 'policy_version', 'mode'],
    ...['request_operation', 'resource', 'subresource'],
  ]),
  pod_security_exemptions_total: counter(['request_operation', 'resource', 'subresource']),
  pod_security_errors_total: counter(['fatal', 'request_operation', 'resource', 'subresource']),
  authentication_token_cache_request_total: counter(['status']),
  authentication_token_cache_request_duration_seconds: histogram(['status'], seconds),
  authentication_token_cache_fetch_total: counter(['status']),
  authentication_token_cache_active_fetch_count: gauge(['status']),
  apiserver_delegated_authn_request_total: counter(['code']),
  apiserver_delegated_authn_request_duration_seconds: histogram(['code'], [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10]),
  apiserver_authentication_jwt_authenticator_latency_seconds: histogram(
    ['result', 'jwt_issuer_hash'],
    [0.001, ...seconds],
  ),
  apiserver_authentication_config_controller_automatic_reloads_total: counter(reload),
  apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds: gauge(reload),
  apiserver_encryption_config_controller_automatic_reloads_total: counter(reload),
  apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds: gauge(reload),
  apiserver_encryption_config_controller_automatic_reload_failures_total: {
    ...counter(['apiserver_id_hash']),
    deprecatedIn: '1.30',
  },
  apiserver_encryption_config_controller_automatic_reload_success_total: {
    ...counter(['apiserver_id_hash']),
    deprecatedIn: '1.30',
  },
  apiserver_storage_transformation_operations_total: counter([
    ...['resource', 'transformation_type', 'transformer_prefix', 'status'],
  ]),
  apiserver_storage_transformation_duration_seconds: histogram(
    ['transformation_type', 'transformer_prefix'],
    doubled(5e-6, 25),
  ),
  apiserver_storage_envelope_transformation_cache_misses_total: counter([]),
  apiserver_storage_data_key_generation_duration_seconds: histogram([], doubled(5e-6, 14)),
  apiserver_storage_data_key_generation_failures_total: counter([]),
  apiserver_envelope_encryption_kms_operations_latency_seconds: histogram(
    ['provider_name', 'method_name', 'grpc_status_code'],
    doubled(1e-4, 20),
  ),
  apiserver_envelope_encryption_key_id_hash_total: counter(keyId),
  apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds: gauge(keyId),
  apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds: gauge([
    ...['provider_name', 'key_id_hash', 'apiserver_id_hash'],
  ]),
  apiserver_envelope_encryption_invalid_key_id_from_status_total: counter(['provider_name', 'error']),
  apiserver_envelope_encryption_dek_source_cache_size: gauge(['provider_name']),
  apiserver_authorization_config_controller_automatic_reloads_total: counter(reload),
  apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds: gauge(reload),
  apiserver_authorization_decisions_total: counter([...condition, 'decision']),
  apiserver_authorization_webhook_evaluations_total: counter(webhook),
  apiserver_authorization_webhook_duration_seconds: histogram(webhook, seconds),
  apiserver_authorization_webhook_evaluations_fail_open_total: counter(webhook),
  apiserver_authorization_match_condition_evaluation_seconds: histogram(
    condition,
    [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
  ),
  apiserver_authorization_match_condition_evaluation_errors_total: counter(condition),
  apiserver_authorization_match_condition_exclusions_total: counter(condition),
  serviceaccount_legacy_tokens_total: counter([]),
  serviceaccount_stale_tokens_total: counter([]),
  serviceaccount_valid_tokens_total: counter([]),
  serviceaccount_legacy_manual_token_uses_total: counter([]),
  serviceaccount_legacy_auto_token_uses_total: counter([]),
  serviceaccount_invalid_legacy_auto_token_uses_total: counter([]),
  // Of kube-controller-manager, and those of its work queues.
  workqueue_adds_total: counter(['name']),
  workqueue_depth: gauge(['name']),
  workqueue_longest_running_processor_seconds: gauge(['name']),
  workqueue_queue_duration_seconds: histogram(['name'], queueBuckets),
  workqueue_retries_total: counter(['name']),
  workqueue_unfinished_work_seconds: gauge(['name']),
  workqueue_work_duration_seconds: histogram(['name'], queueBuckets),
  running_managed_controllers: gauge(['manager', 'name']),
  leader_election_master_status: gauge(['name']),
  apiserver_certificates_registry_csr_requested_duration_total: counter(['signerName']),
  apiserver_certificates_registry_csr_honored_duration_total: counter(['signerName']),
  kube_apiserver_clusterip_allocator_allocation_total: counter(['cidr', 'scope']),
  kube_apiserver_clusterip_allocator_allocation_errors_total: counter(['cidr', 'scope']),
  kube_apiserver_clusterip_allocator_allocated_ips: gauge(['cidr']),
  kube_apiserver_clusterip_allocator_available_ips: gauge(['cidr']),
  kube_apiserver_nodeport_allocator_allocation_total: counter(['scope']),
  kube_apiserver_nodeport_allocator_allocation_errors_total: counter(['scope']),
  kube_apiserver_nodeport_allocator_allocated_ports: gauge([]),
  kube_apiserver_nodeport_allocator_available_ports: gauge([]),
  kube_apiserver_pod_logs_insecure_backend_total: counter(['usage']),
  kube_apiserver_pod_logs_backend_tls_failure_total: counter([]),
  job_controller_job_syncs_total: counter(['completion_mode', 'result', 'action'], 'STABLE'),
  job_controller_job_sync_duration_seconds: histogram(
    ['completion_mode', 'result', 'action'],
    [0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384, 32.768, 65.536],
    'STABLE',
  ),
  job_controller_jobs_finished_total: counter(['completion_mode', 'result', 'reason'], 'STABLE'),
  job_controller_job_pods_finished_total: counter(['completion_mode', 'result'], 'STABLE'),
  job_controller_job_finished_indexes_total: counter(['status', 'backoffLimit']),
  job_controller_job_pods_creation_total: counter(['reason', 'status']),
  job_controller_pod_failures_handled_by_failure_policy_total: counter(['action']),
  job_controller_terminated_pods_tracking_finalizer_total: counter(['event']),
  cronjob_controller_job_creation_skew_duration_seconds: histogram(
    [],
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    'STABLE',
  ),
  root_ca_cert_publisher_sync_total: counter(['code']),
  root_ca_cert_publisher_sync_duration_seconds: histogram(['code'], publishBuckets),
  clustertrustbundle_publisher_sync_total: counter(['code']),
  clustertrustbundle_publisher_sync_duration_seconds: histogram(['code'], publishBuckets),
  rest_client_requests_total: counter(['code', 'host', 'method']),
  rest_client_request_duration_seconds: histogram(
    ['verb', 'host'],
    [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  ),
  rest_client_request_size_bytes: histogram(['verb', 'host'], clientSizes),
  rest_client_response_size_bytes: histogram(['verb', 'host'], clientSizes),
  apiserver_cache_list_total: counter(['resource_prefix', 'index']),
  apiserver_cache_list_fetched_objects_total: counter(['resource_prefix', 'index']),
  apiserver_cache_list_returned_objects_total: counter(['resource_prefix']),
  apiserver_init_events_total: counter(['resource']),
  apiserver_terminated_watchers_total: counter(['resource']),
  apiserver_watch_cache_events_received_total: counter(['resource']),
  apiserver_watch_cache_events_dispatched_total: counter(['resource']),
  apiserver_watch_cache_resource_version: gauge(['resource']),
  apiserver_watch_cache_initializations_total: counter(['resource']),
  apiserver_watch_cache_read_wait_seconds: histogram(
    ['resource'],
    [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3],
  ),
  apiserver_watch_cache_consistent_read_total: counter(['resource', 'success', 'fallback']),
  apiserver_storage_events_received_total: counter(['resource']),
  apiserver_storage_list_total: counter(['resource']),
  apiserver_storage_list_fetched_objects_total: counter(['resource']),
  apiserver_storage_list_evaluated_objects_total: counter(['resource']),
  apiserver_storage_list_returned_objects_total: counter(['resource']),
  apiserver_storage_decode_errors_total: counter(['resource']),
  etcd_request_duration_seconds: histogram(['operation', 'type'], [0.005, 0.025, ...fromHundredth]),
  etcd_requests_total: counter(['operation', 'type']),
  etcd_request_errors_total: counter(['operation', 'type']),
};

/** What is defined, beside the series. */
class DescribedMetrics extends Metrics {
  readonly described: Record<string, Described> = {};

  #note(type: Described['type'], definition: Parameters<Metrics['counter']>[0], buckets?: readonly number[]): void {
    const { name, labels, stability = 'ALPHA', deprecatedIn } = definition;
    const more = { ...(deprecatedIn && { deprecatedIn }), ...(buckets && { buckets: [...buckets] }) };
    this.described[name] = { type, stability, labels: labels.toSorted(), ...more };
  }

  override counter: Metrics['counter'] = (definition) => {
    this.#note('counter', definition);
    return super.counter(definition);
  };

  override gauge: Metrics['gauge'] = (definition) => {
    this.#note('gauge', definition);
    return super.gauge(definition);
  };

  override formerName: Metrics['formerName'] = (former) => {
    const { name, deprecatedIn, of } = former;
    const { stability = this.described[of]?.stability } = former;
    this.described[name] = { ...(this.described[of] as Described), deprecatedIn, ...(stability && { stability }) };
    super.formerName(former);
  };

  override histogram: Metrics['histogram'] = (definition) => {
    this.#note('histogram', definition, definition.buckets);
    return super.histogram(definition);
  };
}

describe('metrics of published servers', () => {
  const metrics = new DescribedMetrics();
  metrics.countThemselves();
  featureMetrics(metrics, kubernetes, { features: defaultFeatures, whole: new Set() });
  collectionMetrics(metrics);
  showRevisions(metrics, { collections: () => [] });
  new RequestMetrics(metrics, () => undefined);
  new WatchMetrics(metrics);
  new DeprecatedApis(metrics);
  flowMetrics(metrics);
  observePools(metrics, {});
  observeLevels(metrics, {});
  admissionMetrics(metrics, systemClock);
  accessMetrics(metrics, kubernetes);
  buildInfo(metrics, kubernetes);
  observeHandshakes(metrics, () => 0);
  workAfterTimeout(metrics);
  certificateLifetimes(metrics, systemClock);
  observeProcess(metrics, readProcessUsage);
  observeEventLoop(metrics, monitorEventLoop).close();
  tokenCacheCounts(metrics);
  webhookTokenMetrics(metrics);
  oidcMetrics({ metrics, clock: systemClock, serverId: '' });
  logMetrics(metrics);
  ruleTimes(metrics, systemClock);
  metrics.counter(requestedDurations);
  metrics.counter(honoredDurations);
  for (const { allocations, failures, held, free } of [addressMetrics, portMetrics]) {
    for (const each of [allocations, failures]) metrics.counter(each);
    for (const each of [held, free]) metrics.gauge(each);
  }
  registerTokenMetrics(metrics);
  auditMetrics(metrics);
  authorizationMetrics(metrics);
  new ControllerMetrics(metrics, 'manager');
  requestMetrics(metrics, systemClock);
  storeMetrics(metrics, systemClock);
  conversionMetrics(metrics);
  documentMetrics(metrics);
  discoveryMetrics(metrics);
  webhookMetrics(metrics);
  policyMetrics(metrics);
  podSecurityMetrics(metrics);
  conditionMetrics(metrics);
  reloadReports({ of: 'authorization', metrics, clock: systemClock, serverId: '' });
  encryptionMetrics(metrics);
  encryptionReloads(metrics, { clock: systemClock, environment: { hostname: 'here' } });
  storageMetrics({
    metrics,
    clock: systemClock,
    stores: [{ store: { size: async () => 0 }, clusterId: '' }],
    historyBytes: () => 0,
    tables: { all: () => [] },
  });
  for (const [name, described] of Object.entries(published)) {
    test(`${name} is as published`, () => {
      assert.deepEqual(metrics.described[name], { ...described, labels: described.labels.toSorted() });
    });
  }
});

test('a server shows the published ones, its own, and no others', async () => {
  await using server = await OrchProcess.start();
  const { text } = await server.get('/metrics');
  const helps = new Map(
    [...text.matchAll(/^# HELP (\S+) \[(ALPHA|BETA|STABLE)\] ./gm)].map((match) => [match[1], match[2]]),
  );
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  assert.ok(types.length > 20);
  for (const [, name = '', type] of types) {
    if (/^(orch|nodejs)_/.test(name)) continue;
    assert.deepEqual([helps.get(name), type], [published[name]?.stability, published[name]?.type], name);
  }
});

describe('flags of metrics (spec section 9)', { timeout: 120_000 }, () => {
  const former = 'apiserver_storage_db_total_size_in_bytes';
  const sampleOf = (text: string, series: string): string | undefined =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1);

  test('without flags, metrics deprecated long ago are hidden', async () => {
    await using server = await OrchProcess.start();
    const { text } = await server.get('/metrics');
    assert.ok(!text.includes(former));
    assert.match(text, /^nodejs_gc_duration_seconds_count\{kind="minor"\} [1-9]/m);
    assert.equal(sampleOf(text, 'hidden_metrics_total'), '6');
    assert.equal(sampleOf(text, 'disabled_metrics_total'), '0');
  });

  test('hidden ones can be shown, others switched off, and values of labels bounded', async () => {
    const flags = [
      '--dialect=kubernetes',
      '--show-hidden-metrics-for-version=1.31',
      '--disabled-metrics=apiserver_storage_objects,nodejs_eventloop_lag_seconds',
      '--allow-metric-labels=apiserver_request_total,verb=GET',
    ];
    await using server = await OrchProcess.start({ flags });
    const body = { metadata: { name: 'a' } };
    assert.equal((await server.post('/api/v1/namespaces/default/configmaps', body)).status, 201);
    assert.equal((await server.get('/api/v1/namespaces/default/configmaps/a')).status, 200);
    const { text } = await server.get('/metrics');
    assert.match(text, new RegExp(`^# HELP ${former} \\[ALPHA\\] \\(Deprecated from 1\\.28\\) `, 'm'));
    assert.match(text, new RegExp(`^${former}\\{endpoint="sqlite-0"\\} [1-9]`, 'm'));
    for (const name of ['request_concurrency_limit', 'request_concurrency_in_use']) {
      assert.match(text, new RegExp(`^apiserver_flowcontrol_${name}\\{priority_level="[^}]*\\} \\d+$`, 'm'));
    }
    assert.match(text, /^# TYPE kube_apiserver_pod_logs_pods_logs_insecure_backend_total counter$/m);
    assert.doesNotMatch(text, /apiserver_storage_objects|nodejs_eventloop_lag_seconds/);
    assert.equal(sampleOf(text, 'disabled_metrics_total'), '2');
    assert.equal(sampleOf(text, 'hidden_metrics_total'), '0');
    const verbs = new Set([...text.matchAll(/^apiserver_request_total\{verb="([^"]*)"/gm)].map((match) => match[1]));
    assert.deepEqual([...verbs].sort(), ['GET', 'unexpected']);
    assert.match(text, /^apiserver_request_duration_seconds_count\{verb="POST"/m);
    assert.ok(Number(sampleOf(text, 'cardinality_enforcement_unexpected_categorizations_total')) > 0);
    assert.equal(sampleOf(text, 'kubernetes_feature_enabled{name="ServerSideApply",stage=""}'), '1');
  });

  test('health checks are metrics of their own, for those who monitor', async () => {
    await using server = await OrchProcess.start();
    assert.equal((await server.get('/healthz')).status, 200);
    assert.equal((await server.get('/metrics/slis', { as: 'anonymous' })).status, 403);
    const { status, text, headers } = await server.get('/metrics/slis');
    assert.deepEqual([status, headers['content-type']], [200, 'text/plain; version=0.0.4; charset=utf-8']);
    assert.equal(sampleOf(text, 'orch_healthcheck{name="ping",type="healthz"}'), '1');
    assert.ok(Number(sampleOf(text, 'orch_healthchecks_total{name="ping",type="healthz",status="success"}')) > 0);
    assert.doesNotMatch((await server.get('/metrics')).text, /healthcheck/);
    const { json } = await server.get<{ readonly paths: readonly string[] }>('/');
    assert.ok(json.paths.includes('/metrics/slis'));
  });
});
