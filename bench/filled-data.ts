import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '../src/store/drivers/sqlite/sqlite-store.ts';
import type { Store } from '../src/store/store.ts';
import { claimKey, formatClaim } from '../src/store/store-claim.ts';
import { storedConfigMap, storedPod } from './objects.ts';
import { sizes } from './scale.ts';

/** The namespace with `sizes.listedObjects`; all others are in `default`. */
export const listedNamespace = 'listed';

/** Writes under way at once: as many as the store commits together. */
const parallel = 1_000;
/** Different sets of labels: as in a cluster, fewer than objects. */
const labelSets = 1_000;

interface FillOptions {
  readonly objects?: number;
  /** Of the ConfigMap of that number. */
  readonly namespaceOf?: (index: number) => string;
}

/** Fills a data directory as the product would, without its server: through its store, in the form that it stores. */
export async function fillDataDirectory(
  directory: string,
  what: 'ConfigMaps' | 'Pods',
  { objects = sizes.filledObjects, namespaceOf = usualNamespace }: FillOptions = {},
): Promise<void> {
  const record = what === 'Pods' ? podRecord : (index: number) => configMapRecord(index, namespaceOf(index));
  const store = await newDataFile(directory);
  try {
    for (let from = 0; from < objects; from += parallel) {
      const count = Math.min(parallel, objects - from);
      await Promise.all(
        Array.from({ length: count }, (_, offset) => {
          const { key, value } = record(from + offset);
          return store.create(key, value);
        }),
      );
    }
  } finally {
    await store.close();
  }
}

interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
}

function podRecord(index: number): StoredRecord {
  const name = `pod-${String(index).padStart(6, '0')}`;
  return { key: `/core/pods/default/${name}`, value: storedPod(name, index) };
}

const usualNamespace = (index: number): string => (index < sizes.listedObjects ? listedNamespace : 'default');

function configMapRecord(index: number, namespace: string): StoredRecord {
  const name = `object-${String(index).padStart(6, '0')}`;
  const labels = { app: `app-${index % labelSets}`, tier: index % 2 === 0 ? 'front' : 'back' };
  return {
    key: `/core/configmaps/${namespace}/${name}`,
    value: storedConfigMap({ name, namespace, labels }, index),
  };
}

/** Makes a directory with a data file that the product takes for its own. */
export async function newDataFile(directory: string): Promise<Store> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const store = await openSqliteStore({ file: join(directory, 'orch.db') });
  await store.create(claimKey, formatClaim({ type: 'served', dialect: 'orch', moved: undefined }));
  return store;
}
