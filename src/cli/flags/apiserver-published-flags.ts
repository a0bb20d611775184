import { publishedFlagNames as names } from '../../dialect/published-flag-names.ts';
import { forms, off, on, type PublishedFlags } from './published-flags.ts';

const { duration, integer, size, text, unsigned } = forms;

/** The versions in a text such as `1.32,COMPONENT=1.32`. */
const versionsIn = (text: string): readonly string[] => text.match(/\d+\.\d+(?=\s*(?:,|$))/g) ?? [];

/** Flags of kube-apiserver 1.32 that `up` and `apiserver` do not implement. */
export const apiserverPublishedFlags: PublishedFlags = {
  ignored: [
    {
      because: 'the port of agents that needs no credentials is never used',
      flags: { [names.agentReadOnlyPort]: unsigned },
    },
    {
      because: 'servers that share a store find each other by leases',
      flags: { 'apiserver-count': integer },
    },
    {
      because: 'all reads come from one cache that holds every object',
      flags: { 'default-watch-cache-size': integer, 'watch-cache': forms.switch, 'watch-cache-sizes': forms.sizes },
    },
    { because: 'objects are stored as JSON', flags: { 'storage-media-type': text } },
    {
      because: 'objects have no leases of etcd, and the start waits for the store as long as for any call',
      flags: { 'lease-reuse-duration-seconds': integer, 'storage-initialization-timeout': duration },
    },
    { because: 'pods may always have privileged containers', flags: { 'allow-privileged': forms.switch } },
    {
      because: 'garbage is collected by garbage-collector-controller, wherever it runs',
      flags: { 'enable-garbage-collector': forms.switch },
    },
    {
      because: 'how many objects of a collection are deleted at once is fixed',
      flags: { 'delete-collection-workers': integer },
    },
    {
      because: 'the behavior that is served is fixed',
      flags: { 'emulated-version': forms.versions },
    },
    {
      because: 'APIs of other servers are not joined to this one yet',
      flags: {
        'aggregator-reject-forwarding-redirect': forms.switch,
        'enable-aggregator-routing': forms.switch,
        'peer-advertise-ip': text,
        'peer-advertise-port': text,
        'peer-ca-file': text,
        'proxy-client-cert-file': text,
        'proxy-client-key-file': text,
      },
    },
    {
      because: 'those who compete for a lease settle it among themselves',
      flags: {
        'coordinated-leadership-lease-duration': duration,
        'coordinated-leadership-renew-deadline': duration,
        'coordinated-leadership-retry-period': duration,
      },
    },
    {
      because: 'seats are always shared out by priority and user',
      flags: { 'enable-priority-and-fairness': forms.switch },
    },
    {
      because: 'connections are bounded by what they have in flight, not by speed',
      flags: { 'max-connection-bytes-per-sec': integer },
    },
    {
      because: 'a stop always ends watches and lets other requests finish',
      flags: { 'shutdown-send-retry-after': forms.switch, 'shutdown-watch-termination-grace-period': duration },
    },
    {
      because: 'both versions of HTTP are served on a port of this process alone',
      flags: {
        'disable-http2-serving': forms.switch,
        'permit-address-sharing': forms.switch,
        'permit-port-sharing': forms.switch,
      },
    },
    {
      because: 'profiles are not served',
      flags: { 'contention-profiling': forms.switch, 'debug-socket-path': text, profiling: forms.switch },
    },
    {
      because: 'the log goes to standard error, a line at a time, with one level for all',
      flags: {
        'enable-logs-handler': forms.switch,
        'log-flush-frequency': duration,
        'log-json-info-buffer-size': size,
        'log-json-split-stream': forms.switch,
        'log-text-info-buffer-size': size,
        'log-text-split-stream': forms.switch,
        vmodule: forms.levels,
      },
    },
    { because: 'there are no cloud providers', flags: { 'cloud-config': text, 'cloud-provider': text } },
  ],
  refused: [
    {
      because: 'use --enable-admission-plugins and --disable-admission-plugins',
      flags: { 'admission-control': text },
    },
    {
      because: 'this server always connects directly: leave it out where that is allowed',
      flags: { 'egress-selector-config-file': text },
    },
    {
      because: 'keys are read from files only: see --service-account-signing-key-file',
      flags: { 'service-account-signing-endpoint': text },
    },
    {
      because: 'privileged containers cannot be forbidden by a flag: leave it out',
      values: { 'allow-privileged': off },
    },
    { because: 'HTTP/2 cannot be switched off: put a proxy in front', values: { 'disable-http2-serving': on } },
    {
      because: 'leave garbage-collector-controller out of --controllers, wherever controllers run',
      values: { 'enable-garbage-collector': off },
    },
    {
      because: 'the behavior of 1.32 is served, and no other',
      values: {
        'emulated-version': {
          shown: '1.31',
          test: (value) => versionsIn(String(value)).some((version) => version !== '1.32'),
        },
      },
    },
  ],
};
