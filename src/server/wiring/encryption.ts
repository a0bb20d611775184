import type { Metrics } from '../../base/metrics.ts';
import { hashedLabel, type ReloadReports, reloadReports } from '../../base/reload-reports.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type FileContent, WatchedFile } from '../../base/watched-file.ts';
import type { ObjectCache } from '../../cache/cache.ts';
import { Encryption } from '../../store/encryption/encryption.ts';
import { encryptionMetrics } from '../../store/encryption/encryption-metrics.ts';
import type { ValueTransformer } from '../../store/value-transformer.ts';
import type { Basis } from './basis.ts';

/** Encryption at rest (`--encryption-provider-config`). */
export interface EncryptionConfig extends FileContent {
  /** Whether the file is watched for changes. */
  readonly reload: boolean;
}

interface OpenedEncryption {
  readonly transformer: ValueTransformer;
  /** Why a plugin cannot be used; undefined if all can. Absent where there is no plugin, and none can come. */
  readonly problem?: () => Promise<string | undefined>;
  /** Has the cache read again what becomes readable. */
  follow(cache: ObjectCache): void;
}

/** Opens encryption at rest, which closes with the server. Rejects with an error that names flag and file. */
export async function openEncryption(
  { path, content, reload }: EncryptionConfig,
  basis: Basis,
): Promise<OpenedEncryption> {
  const { clock, random, logger, dialect, metrics, files, held, environment } = basis;
  let cache: ObjectCache | undefined;
  let readable = false;
  let watched: WatchedFile | undefined;
  const opening = Encryption.open(content, {
    ...{ dialect, clock, random, reload, logger, file: path },
    metrics: encryptionMetrics(metrics),
    serverId: environment.hostname,
    connectKms: environment.connectKms,
    onReadable() {
      readable = true;
      if (cache) void readAgain(cache, basis);
    },
    reloaded: encryptionReloads(metrics, basis),
    look: reload ? () => watched?.check() : undefined,
  });
  const encryption = held.add(await opening.catch((error) => Promise.reject(named(path, error))));
  if (reload) {
    const failed = (error: unknown) => encryption.failed(error);
    const apply = (changed: Buffer) => void encryption.replace(changed);
    watched = held.add(new WatchedFile({ clock, files, path, apply, failed }, content));
  }
  return {
    transformer: encryption.transformer,
    ...(encryption.hasCheck && { problem: () => encryption.problem() }),
    follow(opened: ObjectCache) {
      cache = opened;
      if (readable) void readAgain(opened, basis);
    },
  };
}

/** Counts reloads, under the names of kube-apiserver and under those that it had before. */
export function encryptionReloads(
  metrics: Metrics,
  {
    clock,
    environment: { hostname: serverId },
  }: { readonly clock: Clock; readonly environment: { readonly hostname: string } },
): ReloadReports {
  const report = reloadReports({ of: 'encryption', metrics, clock, serverId });
  const definition = { labels: ['apiserver_id_hash'] as const, deprecatedIn: '1.30', common: true };
  const name = 'apiserver_encryption_config_controller_automatic_reload';
  const former = {
    failure: metrics.counter({
      ...{ ...definition, name: `${name}_failures_total`, help: 'Reloads that failed.' },
    }),
    success: metrics.counter({
      ...{ ...definition, name: `${name}_success_total`, help: 'Reloads that succeeded.' },
    }),
  };
  return (status) => {
    report(status);
    former[status].add({ apiserver_id_hash: hashedLabel(serverId) });
  };
}

const named = (path: string, error: unknown): Error =>
  new Error(`--encryption-provider-config: ${path}: ${error instanceof Error ? error.message : error}`, {
    cause: error,
  });

/** Reads those resources again of which a value could not be read. */
async function readAgain(cache: ObjectCache, { logger }: Pick<Basis, 'logger'>): Promise<void> {
  for (const collection of cache.collections()) {
    if (collection.snapshot().corrupt.size === 0) continue;
    try {
      await cache.reload(collection.prefix);
    } catch (error) {
      // The consistency checker tries again.
      logger.warn('values that may be readable again are not read yet', { prefix: collection.prefix, error });
    }
  }
}
