import { publishedFlagNames as names } from '../../dialect/published-flag-names.ts';
import { forms, off, type PublishedFlags } from './published-flags.ts';

const { duration, float, integer, oneOf, size, text } = forms;

/** Entries for flags of the same form. */
const all = (form: (typeof forms)['text'], ...flags: readonly string[]) =>
  Object.fromEntries(flags.map((name) => [name, form] as const));

/** Flags of kube-controller-manager 1.32 that `controller-manager` does not implement. */
export const controllerManagerPublishedFlags: PublishedFlags = {
  ignored: [
    {
      because: 'callers of the port are known by certificates of --client-ca-file and by --authentication-kubeconfig',
      flags: {
        ...all(
          text,
          'requestheader-allowed-names',
          'requestheader-client-ca-file',
          'requestheader-extra-headers-prefix',
          'requestheader-group-headers',
          'requestheader-uid-headers',
          'requestheader-username-headers',
        ),
        ...all(forms.switch, 'authentication-skip-lookup', 'authentication-tolerate-lookup-failure'),
      },
    },
    {
      because: 'the port belongs to one program, and speaks HTTP/2',
      flags: all(forms.switch, 'disable-http2-serving', 'permit-address-sharing', 'permit-port-sharing'),
    },
    {
      because: 'the controller that reads it is not here yet',
      flags: {
        ...all(
          integer,
          'concurrent-ephemeralvolume-syncs',
          'concurrent-horizontal-pod-autoscaler-syncs',
          'concurrent-service-syncs',
          'deleting-pods-burst',
          'large-cluster-size-threshold',
          'mirroring-concurrent-service-endpoint-syncs',
          'mirroring-max-endpoints-per-subset',
          'node-cidr-mask-size',
          'node-cidr-mask-size-ipv4',
          'node-cidr-mask-size-ipv6',
          'pv-recycler-increment-timeout-nfs',
          'pv-recycler-minimum-timeout-hostpath',
          'pv-recycler-minimum-timeout-nfs',
          'pv-recycler-timeout-increment-hostpath',
          'register-retry-count',
        ),
        ...all(
          duration,
          'attach-detach-reconcile-sync-period',
          'horizontal-pod-autoscaler-cpu-initialization-period',
          'horizontal-pod-autoscaler-downscale-delay',
          'horizontal-pod-autoscaler-downscale-stabilization',
          'horizontal-pod-autoscaler-initial-readiness-delay',
          'horizontal-pod-autoscaler-sync-period',
          'horizontal-pod-autoscaler-upscale-delay',
          'legacy-service-account-token-clean-up-period',
          'mirroring-endpointslice-updates-batch-period',
          'node-monitor-grace-period',
          'node-monitor-period',
          'node-startup-grace-period',
          'node-sync-period',
          'pvclaimbinder-sync-period',
          'route-reconciliation-period',
        ),
        ...all(
          float,
          'deleting-pods-qps',
          'horizontal-pod-autoscaler-tolerance',
          'node-eviction-rate',
          'secondary-node-eviction-rate',
          'unhealthy-zone-threshold',
        ),
        ...all(
          forms.switch,
          'allocate-node-cidrs',
          'configure-cloud-routes',
          'disable-attach-detach-reconcile-sync',
          'disable-force-detach-on-timeout',
          'enable-dynamic-provisioning',
          'enable-hostpath-provisioner',
        ),
        ...all(
          text,
          'cidr-allocator-type',
          'flex-volume-plugin-dir',
          'pv-recycler-pod-template-filepath-hostpath',
          'pv-recycler-pod-template-filepath-nfs',
        ),
        ...all(forms.networks, 'cluster-cidr', 'service-cluster-ip-range'),
      },
    },
    {
      because: 'how much a controller does at once, and how often, is fixed',
      flags: {
        ...all(
          integer,
          'concurrent-cron-job-syncs',
          'concurrent-job-syncs',
          'concurrent-statefulset-syncs',
          'concurrent-deployment-syncs',
          'concurrent-endpoint-syncs',
          'concurrent-gc-syncs',
          'concurrent-namespace-syncs',
          'concurrent-rc-syncs',
          'concurrent-replicaset-syncs',
          'concurrent-resource-quota-syncs',
          'concurrent-service-endpoint-syncs',
          'concurrent-serviceaccount-token-syncs',
          'concurrent-ttl-after-finished-syncs',
          'concurrent-validating-admission-policy-status-syncs',
          'max-endpoints-per-slice',
          'terminated-pod-gc-threshold',
        ),
        ...all(
          duration,
          'endpoint-updates-batch-period',
          'endpointslice-updates-batch-period',
          'controller-start-interval',
          'min-resync-period',
          'namespace-sync-period',
          'resource-quota-sync-period',
        ),
      },
    },
    {
      because: 'the server bounds what its clients ask for; objects travel as JSON',
      flags: { [names.clientBurst]: integer, [names.clientContentType]: text, [names.clientRate]: float },
    },
    {
      because: 'garbage is collected by garbage-collector-controller, which --controllers chooses',
      flags: { 'enable-garbage-collector': forms.switch },
    },
    {
      because: 'all controllers are led by one Lease',
      flags: {
        'enable-leader-migration': forms.switch,
        'leader-elect-resource-lock': oneOf('leases'),
        'leader-migration-config': text,
      },
    },
    {
      because: 'the controllers have no versions to choose from',
      flags: { 'emulated-version': forms.versions },
    },
    {
      because: 'there are no cloud providers',
      flags: {
        ...all(text, 'cloud-config', 'cloud-provider', 'cluster-name', 'external-cloud-volume-plugin'),
        'allow-untagged-cloud': forms.switch,
      },
    },
    {
      because: 'profiles are not served',
      flags: { ...all(forms.switch, 'contention-profiling', 'profiling') },
    },
    {
      because: 'the log goes to standard error, a line at a time, with one level for all',
      flags: {
        'log-flush-frequency': duration,
        ...all(size, 'log-json-info-buffer-size', 'log-text-info-buffer-size'),
        ...all(forms.switch, 'log-json-split-stream', 'log-text-split-stream'),
        vmodule: forms.levels,
      },
    },
  ],
  refused: [
    { because: 'the connection file says where the server is: see --kubeconfig', flags: { master: forms.text } },
    {
      because: 'leave garbage-collector-controller out of --controllers: --controllers=*,-garbage-collector-controller',
      values: { 'enable-garbage-collector': off },
    },
  ],
};
