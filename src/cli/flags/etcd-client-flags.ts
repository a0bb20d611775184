import { duration, type FlagValues, file, list, text } from './flags.ts';

const seconds = ({ help }: { readonly help: string }, value: number, defaultText: string) =>
  duration({ help, default: value, defaultText });

/** How the server uses etcd, by the flags of kube-apiserver. */
export const etcdClientFlags = {
  'etcd-cafile': file({ help: "authorities (PEM) for etcd's certificates; otherwise those of the system" }),
  'etcd-certfile': file({ help: 'client certificate (PEM) for etcd' }),
  'etcd-compaction-interval': seconds(
    { help: 'how long history stays in etcd; 0 if another program compacts it' },
    5 * 60_000,
    '5m0s',
  ),
  'etcd-count-metric-poll-period': seconds(
    { help: 'counts of objects are metrics, as of the moment when metrics are read; 0 for none' },
    60_000,
    '1m0s',
  ),
  'etcd-db-metric-poll-interval': seconds(
    { help: 'the size of the store is a metric, as of the moment when metrics are read; 0 for none' },
    30_000,
    '30s',
  ),
  'etcd-healthcheck-timeout': seconds({ help: 'how long /healthz waits for the store' }, 2_000, '2s'),
  'etcd-keyfile': file({ help: 'key (PEM) of --etcd-certfile' }),
  'etcd-prefix': text({ default: '/registry', help: 'what all keys in etcd begin with' }),
  'etcd-readycheck-timeout': seconds({ help: 'how long /readyz waits for the store' }, 2_000, '2s'),
  'etcd-servers': list({ placeholder: 'URL,...', default: [], help: 'etcd members; the store is then etcd' }),
  'etcd-servers-overrides': list({
    placeholder: 'GROUP/RESOURCE#URL;URL,...',
    default: [],
    help: 'etcd members for single built-in resources, in the place of --etcd-servers: /events#https://a:2379;https://b:2379',
  }),
} as const;

type Values = FlagValues<typeof etcdClientFlags>;

/** What the flags say about health checks and metrics of the store. As published, a timeout of 0 is the default. */
export const readStoreChecks = (values: Values) => ({
  storeChecks: {
    healthMs: values['etcd-healthcheck-timeout'] || 2_000,
    readyMs: values['etcd-readycheck-timeout'] || 2_000,
  },
  storageMetricsOff: {
    objects: values['etcd-count-metric-poll-period'] === 0,
    size: values['etcd-db-metric-poll-interval'] === 0,
  },
});
