import { createHash } from 'node:crypto';
import { getOrAdd } from '../../base/collections/get-or-add.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { subresourceKind } from '../../kinds/body-kind.ts';
import { type GroupVersionKind, type Kind, type Subresource, storesObjects } from '../../kinds/kind.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import type { ResourceVerb } from '../../request/request-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { compareVersions } from '../../resources/version-priority.ts';
import { allowedVerbs } from '../registry.ts';

/** The versions of one API group and their resources, in order of preference. */
export interface GroupDiscovery {
  /** Full name; '' for core. */
  readonly group: string;
  readonly versions: readonly { readonly version: string; readonly resources: readonly ServedResource[] }[];
}

/** The groups of the resources, in order of first appearance. */
export function groupNames(served: Iterable<ServedResource>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { kind } of served) names.add(kind.group);
  return names;
}

/** Groups the resources; core first, the others by name. */
export function groupResources(resources: Iterable<ServedResource>): readonly GroupDiscovery[] {
  const groups = new Map<string, Map<string, ServedResource[]>>();
  for (const served of resources) {
    const { group, version } = served.kind;
    const versions = getOrAdd(groups, group, () => new Map<string, ServedResource[]>());
    getOrAdd(versions, version, () => []).push(served);
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, versions]) => ({
      group,
      versions: [...versions]
        .sort(([a], [b]) => compareVersions(a, b))
        .map(([version, list]) => ({
          version,
          resources: list.sort((a, b) => (a.kind.resource < b.kind.resource ? -1 : 1)),
        })),
    }));
}

/** `GET /api`. */
export const coreVersions = (groups: readonly GroupDiscovery[], serverAddress: string): unknown => ({
  kind: 'APIVersions',
  versions: groups.find(({ group }) => group === '')?.versions.map(({ version }) => version) ?? [],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
});

/** `GET /apis`. */
export const groupList = (groups: readonly GroupDiscovery[]): unknown => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups.filter(({ group }) => group !== '').map(groupFields),
});

/** `GET /apis/<group>`. */
export const groupDocument = (group: GroupDiscovery): unknown => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  ...groupFields(group),
});

function groupFields({ group, versions }: GroupDiscovery) {
  const entries = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group, version }), version }));
  return { name: group, versions: entries, preferredVersion: entries[0] };
}

/** `GET /api/v1` and `GET /apis/<group>/<version>`. As in kube-apiserver, that of the core group has no `apiVersion`. */
export const resourceList = (group: string, version: string, resources: readonly ServedResource[]): unknown => ({
  kind: 'APIResourceList',
  ...(group !== '' && { apiVersion: 'v1' }),
  groupVersion: apiVersionOf({ group, version }),
  resources: resources.flatMap((served) => [
    resourceEntry(served),
    ...subresourcesOf(served.kind).map((subresource) => subresourceEntry(served, subresource)),
  ]),
});

function resourceEntry(served: ServedResource) {
  const { kind } = served;
  return {
    name: kind.resource,
    singularName: kind.singular,
    namespaced: kind.scope === 'Namespaced',
    kind: kind.kind,
    verbs: resourceVerbs(served),
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(storesObjects(kind) && {
      storageVersionHash: storageVersionHash({ ...served.resource.kind, version: hashedVersion(served.resource.kind) }),
    }),
  };
}

const hashedVersion = ({ hashedVersion: hashed, version }: Kind): string => hashed ?? version;

/** As published servers compute it: eight bytes of a hash. The core group is the empty string before a slash. */
const storageVersionHash = ({ group, version, kind }: GroupVersionKind): string =>
  createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');

function subresourceEntry(served: ServedResource, subresource: Subresource) {
  const { kind } = served;
  const answered = subresourceKind(kind, subresource);
  const foreign = answered.group !== kind.group || answered.version !== kind.version;
  return {
    name: `${kind.resource}/${subresource.name}`,
    singularName: '',
    namespaced: kind.scope === 'Namespaced',
    ...(foreign && { group: answered.group, version: answered.version }),
    kind: answered.kind,
    verbs: sorted(allowedVerbs(served, subresource.name, true)),
  };
}

const sorted = (verbs: Iterable<ResourceVerb>): readonly ResourceVerb[] => [...new Set(verbs)].sort();

function resourceVerbs(served: ServedResource): readonly ResourceVerb[] {
  const verbs = [...allowedVerbs(served, '', true), ...allowedVerbs(served, '', false)];
  return sorted(served.kind.terminating ? verbs.filter((verb) => !writingVerbs.has(verb)) : verbs);
}

/** Hidden of a kind that is being removed, although objects are updated: their finalizers must go. */
const writingVerbs: ReadonlySet<ResourceVerb> = new Set(['create', 'patch', 'update']);

/** Versions of aggregated discovery, newest first; the content is the same in both. */
export const aggregatedVersions = ['v2', 'v2beta1'] as const;

export type AggregatedVersion = (typeof aggregatedVersions)[number];

/**
 * `GET /api` and `GET /apis` for clients that accept aggregated discovery (KEP-3352). JSON, piece by piece: a change of one of
 * thousands of resources makes the piece of that one anew.
 */
export function* aggregated(
  groups: readonly GroupDiscovery[],
  dialect: Dialect,
  version: AggregatedVersion,
): Generator<string, void> {
  const head = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `${dialect.group('apidiscovery')}/${version}`,
    metadata: {},
  };
  yield `${JSON.stringify(head).slice(0, -1)},"items":[`;
  for (const [index, { group, versions }] of groups.entries()) {
    const metadata = JSON.stringify({ ...(group !== '' && { name: group }), creationTimestamp: null });
    yield `${index > 0 ? ',' : ''}{"metadata":${metadata},"versions":[`;
    for (const [at, { version: each, resources }] of versions.entries()) {
      yield `${at > 0 ? ',' : ''}{"version":${JSON.stringify(each)},"resources":[`;
      for (const [first, served] of resources.entries()) yield `${first > 0 ? ',' : ''}${textOfResource(served)}`;
      yield '],"freshness":"Current"}';
    }
    yield ']}';
  }
  yield ']}';
}

const texts = new WeakMap<ServedResource, string>();

function textOfResource(served: ServedResource): string {
  let text = texts.get(served);
  if (text === undefined) {
    text = JSON.stringify(aggregatedResource(served));
    texts.set(served, text);
  }
  return text;
}

function aggregatedResource(served: ServedResource) {
  const { kind } = served;
  return {
    resource: kind.resource,
    responseKind: answerOf(kind, kind),
    scope: kind.scope,
    singularResource: kind.singular,
    verbs: resourceVerbs(served),
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(kind.subresources.length > 0 && {
      subresources: subresourcesOf(kind).map((subresource) => ({
        subresource: subresource.name,
        responseKind: answerOf(kind, subresourceKind(kind, subresource)),
        verbs: sorted(allowedVerbs(served, subresource.name, true)),
      })),
    }),
  };
}

/** Those of built-in kinds by name, those of custom ones as they are defined. */
const subresourcesOf = ({ subresources, schema }: Kind): readonly Subresource[] =>
  schema.structural ? subresources : [...subresources].sort((one, other) => (one.name < other.name ? -1 : 1));

/** What a resource answers. As in kube-apiserver, group and version are empty where they are those of a built-in resource. */
function answerOf(of: Kind, { group, version, kind }: GroupVersionKind): GroupVersionKind {
  const isOwn = !of.schema.structural && group === of.group && version === of.version;
  return isOwn ? { group: '', version: '', kind } : { group, version, kind };
}
