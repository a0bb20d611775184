import { readPolicy } from '../../audit/policy-file.ts';
import { systemFiles } from '../../base/files.ts';
import type { Logger } from '../../base/logger.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { dialects } from '../../dialect/dialects.ts';
import { readKubeconfig } from '../../outbound/connection-files/kubeconfig.ts';
import type { AuditConfig, BackendConfig } from '../../server/wiring/audit.ts';
import { UsageError } from '../usage-error.ts';
import { named, readBytes } from './flag-files.ts';
import type { ServerFlagValues } from './server-flags.ts';

type Backend = 'log' | 'webhook';

/**
 * Reads the configuration of auditing. Undefined if requests are not recorded: there is no policy, or no place for
 * events. As in kube-apiserver, the flags of a backend are only checked if it is used.
 */
export function readAudit(values: ServerFlagValues): AuditConfig | undefined {
  const dialect = dialects[values.dialect];
  const path = values['audit-policy-file'];
  const policy =
    path === undefined ? undefined : named('audit-policy-file', () => readPolicy(readBytes(path), dialect));
  const [log, webhook] = [readLog(values, dialect), readWebhook(values, dialect)];
  return policy && (log || webhook) ? { policy, ...(log && { log }), ...(webhook && { webhook }) } : undefined;
}

/** Tells of flags that do not do what they seem to. */
export function warnOfAudit(values: ServerFlagValues, logger: Logger): void {
  const hasPolicy = values['audit-policy-file'] !== undefined;
  const backends = (['audit-log-path', 'audit-webhook-config-file'] as const).filter(
    (flag) => values[flag] !== undefined,
  );
  if (!hasPolicy) {
    for (const flag of backends)
      logger.warn('no requests are recorded without --audit-policy-file', { flag: `--${flag}` });
  } else if (backends.length === 0) {
    logger.warn('no requests are recorded without --audit-log-path or --audit-webhook-config-file');
  }
  const [former, current] = ['audit-webhook-batch-initial-backoff', 'audit-webhook-initial-backoff'] as const;
  if (values[former] !== undefined) logger.warn('a flag is deprecated', { flag: `--${former}`, use: `--${current}` });
}

function readLog(values: ServerFlagValues, dialect: Dialect): AuditConfig['log'] {
  const path = values['audit-log-path'];
  if (path === undefined) return undefined;
  const backend = readBackend('log', values, dialect);
  const [days, backupsMax, megabytes] = (['audit-log-maxage', 'audit-log-maxbackup', 'audit-log-maxsize'] as const).map(
    (flag) => notNegative(flag, values[flag]),
  ) as [number, number, number];
  const output =
    path === '-'
      ? ({ type: 'standardOutput' } as const)
      : ({
          type: 'file',
          path,
          bytesMax: (megabytes || megabytesDefault) * 1024 * 1024,
          backupsMax,
          ageMsMax: days * 24 * 3600_000,
          compress: values['audit-log-compress'],
        } as const);
  return { ...backend, output, format: values['audit-log-format'] };
}

const megabytesDefault = 100;

function notNegative(flag: string, value: number): number {
  if (value < 0) throw new UsageError(`--${flag} ${value} can't be a negative number`);
  return value;
}

function readWebhook(values: ServerFlagValues, dialect: Dialect): AuditConfig['webhook'] {
  const file = values['audit-webhook-config-file'];
  if (file === undefined) return undefined;
  named('audit-webhook-config-file', () => readKubeconfig(file, dialect, systemFiles, { allowsHttp: true }));
  const initialBackoffMs = values['audit-webhook-batch-initial-backoff'] ?? values['audit-webhook-initial-backoff'];
  return { ...readBackend('webhook', values, dialect), file, initialBackoffMs };
}

/** The checks of kube-apiserver, in its words. */
function readBackend(backend: Backend, values: ServerFlagValues, dialect: Dialect): BackendConfig {
  const version = values[`audit-${backend}-version`];
  const accepted = `${dialect.group('audit')}/v1`;
  if (version !== undefined && version !== accepted) {
    throw new UsageError(
      `--audit-${backend}-version: invalid group version, allowed versions are ${JSON.stringify([accepted])}`,
    );
  }
  return { mode: readMode(backend, values), truncate: readTruncate(backend, values) };
}

function readMode(backend: Backend, values: ServerFlagValues): BackendConfig['mode'] {
  const mode = values[`audit-${backend}-mode`];
  if (mode !== 'batch') return mode;
  const batch = `audit-${backend}-batch` as const;
  const invalid = (flag: string, what: string, value: number): UsageError =>
    new UsageError(`--${flag}: invalid audit batch ${backend} ${what} ${value}, must be a positive number`);
  const positive = (flag: 'buffer-size' | 'max-size' | 'throttle-qps' | 'throttle-burst', what: string): number => {
    const value = values[`${batch}-${flag}`];
    if (value <= 0) throw invalid(`${batch}-${flag}`, what, value);
    return value;
  };
  return {
    type: 'batch',
    bufferSize: positive('buffer-size', 'buffer size'),
    sizeMax: positive('max-size', 'max batch size'),
    waitMs: values[`${batch}-max-wait`],
    throttle: values[`${batch}-throttle-enable`]
      ? { perSecond: positive('throttle-qps', 'throttle QPS'), burst: positive('throttle-burst', 'throttle burst') }
      : undefined,
  };
}

function readTruncate(backend: Backend, values: ServerFlagValues): BackendConfig['truncate'] {
  const truncate = `audit-${backend}-truncate` as const;
  const [eventBytesMax, batchBytesMax] = [values[`${truncate}-max-event-size`], values[`${truncate}-max-batch-size`]];
  if (eventBytesMax <= 0) {
    throw new UsageError(
      `--${truncate}-max-event-size: invalid audit truncate ${backend} max event size ${eventBytesMax}, must be a positive number`,
    );
  }
  if (batchBytesMax < eventBytesMax) {
    throw new UsageError(
      `--${truncate}-max-batch-size: invalid audit truncate ${backend} max batch size ${batchBytesMax}, must be greater than max event size (${eventBytesMax})`,
    );
  }
  return values[`${truncate}-enabled`] ? { eventBytesMax, batchBytesMax } : undefined;
}
