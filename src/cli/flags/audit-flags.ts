import { boolean, choice, duration, type Flag, file, integer, optionalText, orUndefined } from './flags.ts';

const countMax = Number.MAX_SAFE_INTEGER;
const count = (value: number, help: string): Flag<number> =>
  integer({ min: -countMax, max: countMax, default: value, help });

const decimal = (value: number, help: string): Flag<number> => ({
  placeholder: 'NUMBER',
  isSwitch: false,
  help,
  default: value,
  defaultText: String(value),
  parse(text) {
    const parsed = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(parsed)) throw new Error(`${JSON.stringify(text)} is not a number`);
    return parsed;
  },
});

const modes = ['batch', 'blocking', 'blocking-strict'] as const;
const mode = (value: (typeof modes)[number]): Flag<(typeof modes)[number]> =>
  choice({
    of: modes,
    default: value,
    help: 'whether requests wait until their events are recorded; with blocking-strict they fail if they cannot be',
  });

const version = optionalText({
  placeholder: 'GROUP/VERSION',
  help: 'the version of the events; there is one: v1 of the group audit',
  defaultText: 'v1 of that group',
});

const bufferSize = count(10_000, 'mode batch: events that wait at most; further ones are lost');
const batchMaxSize = (value: number): Flag<number> => count(value, 'mode batch: events of a batch');
const burst = (value: number): Flag<number> => count(value, 'mode batch: batches at once, where fewer came before');
const perSecond = (value: number): Flag<number> => decimal(value, 'mode batch: batches per second, on average');
const throttle = (value: boolean): Flag<boolean> =>
  boolean({ default: value, help: 'mode batch: whether the number of batches per second is limited' });
const maxWait = (value: number, defaultText: string): Flag<number> =>
  duration({ default: value, defaultText, help: 'mode batch: how long an event waits for its batch to be full' });
const truncate = boolean({
  default: false,
  help: 'whether events that are too large lose their objects, or are dropped',
});
const eventBytes = count(102_400, 'with truncation: bytes of an event');
const batchBytes = count(10_485_760, 'with truncation: bytes of a batch, which is divided otherwise');
const backoff = duration({
  default: 10_000,
  defaultText: '10s',
  help: 'how long to wait before the second attempt to send a batch; each further wait is longer by half',
});

/** Audit flags. Defaults are those of kube-apiserver. */
export const auditFlags = {
  'audit-policy-file': file({
    help: 'a Policy of the group audit: what is recorded of which requests; without it nothing is',
  }),
  'audit-log-path': optionalText({
    placeholder: 'FILE',
    help: 'where events are written, one a line; -: standard output',
  }),
  'audit-log-format': choice({
    of: ['json', 'legacy'],
    default: 'json',
    help: 'what a line is: a JSON object, or text with a part of its fields',
  }),
  'audit-log-maxage': count(0, 'days after which renamed files are removed; 0: never'),
  'audit-log-maxbackup': count(0, 'renamed files that stay; 0: all'),
  'audit-log-maxsize': count(0, 'megabytes at which the file is renamed; 0: 100'),
  'audit-log-compress': boolean({ default: false, help: 'whether renamed files are compressed with gzip' }),
  'audit-log-version': version,
  'audit-log-mode': mode('blocking'),
  'audit-log-batch-buffer-size': bufferSize,
  'audit-log-batch-max-size': batchMaxSize(1),
  'audit-log-batch-max-wait': maxWait(0, '0s'),
  'audit-log-batch-throttle-burst': burst(0),
  'audit-log-batch-throttle-enable': throttle(false),
  'audit-log-batch-throttle-qps': perSecond(0),
  'audit-log-truncate-enabled': truncate,
  'audit-log-truncate-max-batch-size': batchBytes,
  'audit-log-truncate-max-event-size': eventBytes,
  'audit-webhook-config-file': file({
    help: 'how to reach the service that events are sent to, in the format of a kubeconfig',
  }),
  'audit-webhook-initial-backoff': backoff,
  'audit-webhook-batch-initial-backoff': orUndefined({
    ...backoff,
    help: 'deprecated: the former name of --audit-webhook-initial-backoff',
    defaultText: '',
  }),
  'audit-webhook-version': version,
  'audit-webhook-mode': mode('batch'),
  'audit-webhook-batch-buffer-size': bufferSize,
  'audit-webhook-batch-max-size': batchMaxSize(400),
  'audit-webhook-batch-max-wait': maxWait(30_000, '30s'),
  'audit-webhook-batch-throttle-burst': burst(15),
  'audit-webhook-batch-throttle-enable': throttle(true),
  'audit-webhook-batch-throttle-qps': perSecond(10),
  'audit-webhook-truncate-enabled': truncate,
  'audit-webhook-truncate-max-batch-size': batchBytes,
  'audit-webhook-truncate-max-event-size': eventBytes,
} as const;
