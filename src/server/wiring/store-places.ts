import type { Logger } from '../../base/logger.ts';
import { type Kind, storesObjects } from '../../kinds/kind.ts';
import { defaultScope } from '../../meta/scope.ts';
import { qualifiedResource } from '../../meta/status-error.ts';
import { keyPrefix } from '../../resources/resource.ts';
import type { EtcdOverride, StorageConfig } from './storage-config.ts';

/** A store besides the main one. */
export interface OtherStore {
  readonly storage: StorageConfig;
  /** Those of its resources (`folderOf`). */
  readonly folders: ReadonlySet<string>;
}

/** Every resource of a group, as kube-apiserver has it. */
const allResources = '*';

/**
 * The stores besides the main one, by `--etcd-servers-overrides`: one for each set of servers, in their order. As published, an
 * override of a resource counts before that of its group, and a later one before an earlier one; one of what is not built in has
 * no effect. Throws for resources that are written together with others.
 */
export function otherStores(
  kinds: readonly Kind[],
  storage: StorageConfig,
  logger: Pick<Logger, 'warn'>,
): readonly OtherStore[] {
  if (storage.backend !== 'etcd3' || !storage.overrides) return [];
  const { overrides, ...main } = storage;
  const stored = kinds.filter((kind) => storesObjects(kind) && !kind.storedAs);
  for (const override of overrides) {
    if (stored.some((kind) => concerns(override, kind))) continue;
    const resource = `${override.group}/${override.resource}`;
    logger.warn('--etcd-servers-overrides names a resource that is not built in: it has no effect', { resource });
  }
  const others = new Map<string, { readonly storage: StorageConfig; readonly folders: Set<string> }>();
  for (const kind of stored) {
    const { endpoints } = overrideOf(kind, overrides) ?? main;
    const servers = serversOf(endpoints);
    if (servers === serversOf(main.endpoints)) continue;
    if (isWrittenWithOthers(kind, stored)) throw new Error(`--etcd-servers-overrides: ${togetherText(kind)}`);
    const other = others.get(servers) ?? { storage: { ...main, endpoints }, folders: new Set<string>() };
    others.set(servers, other);
    other.folders.add(keyPrefix(defaultScope, kind));
  }
  const order = overrides.map(({ endpoints }) => serversOf(endpoints));
  return [...others].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)).map(([, other]) => other);
}

const concerns = ({ group, resource }: EtcdOverride, kind: Kind): boolean =>
  group === kind.group && (resource === allResources || resource === kind.resource);

function overrideOf(kind: Kind, overrides: readonly EtcdOverride[]): EtcdOverride | undefined {
  const concerning = overrides.filter((override) => concerns(override, kind));
  return concerning.findLast(({ resource }) => resource !== allResources) ?? concerning.at(-1);
}

/** The same text for the same servers. */
const serversOf = (endpoints: readonly string[]): string =>
  [...new Set(endpoints.map((endpoint) => endpoint.replace(/\/$/, '')))].sort().join(' ');

/** No transaction spans two stores, and claims are in the main one. */
const isWrittenWithOthers = (kind: Kind, kinds: readonly Kind[]): boolean =>
  kind.claims !== undefined ||
  kind.showsClaims === true ||
  kinds.some(({ group, takesAlong = [] }) => group === kind.group && takesAlong.includes(kind.resource));

const togetherText = (kind: Kind): string =>
  `${qualifiedResource(kind)} cannot be in another etcd: they are written in one transaction with what --etcd-servers has`;
