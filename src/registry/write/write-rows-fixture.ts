/** Test support: every way to write an object, for tables over all of them. */
import type { ApiObject } from '../../meta/api-object.ts';
import type { PatchFormat } from './patch-formats.ts';

export interface SentRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** PATCH only. */
  readonly patch?: PatchFormat;
  readonly body?: unknown;
}

/**
 * One way to write. Its objects are in the collection of `path` and have the label `row`, set to the name of their
 * place.
 */
export interface WriteRow {
  readonly what: string;
  readonly path: (namespace: string) => string;
  /** Requests that create the initial state, in order. */
  readonly before: (place: Place) => readonly SentRequest[];
  /** `found` is the initial object, if any. */
  readonly request: (place: Place, found: ApiObject | undefined) => SentRequest;
  /** Expected HTTP status. */
  /** How many writes it takes: an evicted pod says first why it goes. Default: 1. */
  readonly writes?: number;
  readonly status: number;
  /** The observable state, which distinguishes a request executed never, once and twice. */
  readonly seen: (objects: readonly ApiObject[]) => unknown;
  readonly undone: unknown;
  readonly done: unknown;
}

export interface Place {
  readonly namespace: string;
  readonly name: string;
  /** Path of the collection. */
  readonly collection: string;
}

/** A later write by another client: labels the existing object, or creates a removed object again. */
export const overwrite = (row: WriteRow, place: Place, objects: readonly ApiObject[]): readonly SentRequest[] => {
  if (objects.length > 0) {
    return objects.map(({ metadata }) => ({
      method: 'PATCH',
      path: `${place.collection}/${metadata.name}`,
      patch: 'merge',
      body: { metadata: { labels: { others: 'yes' } } },
    }));
  }
  return row
    .before(place)
    .slice(0, 1)
    .map((sent) => {
      const body = sent.body as ApiObject;
      const labels = { ...body.metadata.labels, others: 'yes' };
      return { ...sent, body: { ...body, metadata: { ...body.metadata, labels, finalizers: [] } } };
    });
};

export const isOverwritten = (objects: readonly ApiObject[]): boolean =>
  objects.length === 1 && objects[0]?.metadata.labels?.['others'] === 'yes';

const configMaps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const pods = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

const metadata = ({ name, namespace }: Place, more: object = {}): object => ({
  name,
  namespace,
  labels: { row: name },
  ...more,
});
const configMap = (place: Place, value: string, more?: object): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: metadata(place, more),
  data: { k: value },
});
const hold = { finalizers: ['example.com/hold'] };
const one = ({ collection, name }: Place): string => `${collection}/${name}`;
const post = (place: Place, body: unknown): SentRequest => ({ method: 'POST', path: place.collection, body });
const makeConfigMap = (place: Place): readonly SentRequest[] => [post(place, configMap(place, 'before'))];
const makeHeldConfigMap = (place: Place): readonly SentRequest[] => [post(place, configMap(place, 'before', hold))];
const deleted = (place: Place, options: object = {}): SentRequest => ({
  method: 'DELETE',
  path: one(place),
  body: { kind: 'DeleteOptions', apiVersion: 'v1', ...options },
});
const patched = (place: Place, patch: PatchFormat, body: unknown, subresource = ''): SentRequest => ({
  method: 'PATCH',
  path: one(place) + subresource,
  patch,
  body,
});

const pod = (place: Place, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: metadata(place),
  spec: { containers: [{ name: 'c', image: 'i' }], ...more },
});
const makePod = (place: Place): readonly SentRequest[] => [post(place, pod(place))];

const values = (objects: readonly ApiObject[]): unknown => objects.map(({ data }) => (data as { k?: string }).k);
const marked = (objects: readonly ApiObject[]): unknown =>
  objects.map((object) => object.metadata.deletionTimestamp !== undefined);
const specs = (field: string) => (objects: readonly ApiObject[]) =>
  objects.map(({ spec }) => (spec as Record<string, unknown>)[field]);
const phases = (objects: readonly ApiObject[]): unknown =>
  objects.map(({ status }) => (status as Record<string, unknown>)['reason']);

const onConfigMap = { path: configMaps, before: makeConfigMap, status: 200, seen: values };
const updates = { ...onConfigMap, undone: ['before'], done: ['mine'] };
const deletes = { ...onConfigMap, undone: ['before'], done: [] };
const marks = { ...onConfigMap, before: makeHeldConfigMap, seen: marked, undone: [false], done: [true] };
const onPod = { path: pods, before: makePod };

/** Adds `fieldManager` to the path, for rows in which the manager matters. */
const as = (sent: SentRequest, manager: string, more = ''): SentRequest => ({
  ...sent,
  path: `${sent.path}?fieldManager=${manager}${more}`,
});

/** `rbac` is the group of Roles, a kind that is created on update. */
export const writeRows = (rbac: string): readonly WriteRow[] => {
  const roles = (namespace: string): string => `/apis/${rbac}/v1/namespaces/${namespace}/roles`;
  const rule = (name: string) => ({ apiGroups: [''], resources: ['pods'], verbs: [name] });
  const role = (place: Place): object => ({
    apiVersion: `${rbac}/v1`,
    kind: 'Role',
    metadata: metadata(place),
    rules: [rule('get')],
  });
  const verbs = (objects: readonly ApiObject[]): unknown =>
    objects.map(({ rules }) =>
      (rules as readonly { readonly verbs: readonly string[] }[]).map((each) => each.verbs[0]),
    );
  return [
    {
      what: 'create',
      ...onConfigMap,
      before: () => [],
      request: (place) => post(place, configMap(place, 'mine')),
      status: 201,
      undone: [],
      done: ['mine'],
    },
    {
      what: 'create with a generated name',
      ...onConfigMap,
      before: () => [],
      request: (place) => post(place, configMap(place, 'mine', { name: undefined, generateName: `${place.name}-` })),
      status: 201,
      undone: [],
      done: ['mine'],
    },
    {
      what: 'PUT with a resourceVersion',
      ...updates,
      request: (place, found) => ({
        method: 'PUT',
        path: one(place),
        body: configMap(place, 'mine', { resourceVersion: found?.metadata.resourceVersion }),
      }),
    },
    {
      what: 'PUT without a resourceVersion',
      ...updates,
      request: (place) => ({ method: 'PUT', path: one(place), body: configMap(place, 'mine') }),
    },
    {
      what: 'PUT that creates',
      path: roles,
      before: () => [],
      request: (place) => ({ method: 'PUT', path: one(place), body: role(place) }),
      status: 201,
      seen: verbs,
      undone: [],
      done: [['get']],
    },
    {
      what: 'JSON patch that appends',
      path: roles,
      before: (place) => [post(place, role(place))],
      request: (place) => patched(place, 'json', [{ op: 'add', path: '/rules/-', value: rule('list') }]),
      status: 200,
      seen: verbs,
      undone: [['get']],
      done: [['get', 'list']],
    },
    { what: 'merge patch', ...updates, request: (place) => patched(place, 'merge', { data: { k: 'mine' } }) },
    {
      what: 'strategic merge patch',
      ...updates,
      request: (place) => patched(place, 'strategic', { data: { k: 'mine' } }),
    },
    {
      what: 'apply that creates',
      ...updates,
      before: () => [],
      request: (place) => as(patched(place, 'apply', configMap(place, 'mine')), 'me'),
      status: 201,
      undone: [],
    },
    {
      what: 'apply',
      ...updates,
      before: (place) => [as(patched(place, 'apply', configMap(place, 'before')), 'me')],
      request: (place) => as(patched(place, 'apply', configMap(place, 'mine')), 'me'),
    },
    {
      what: 'apply by force',
      ...updates,
      before: (place) => [as(patched(place, 'apply', configMap(place, 'before')), 'them')],
      request: (place) => as(patched(place, 'apply', configMap(place, 'mine')), 'me', '&force=true'),
    },
    { what: 'DELETE', ...deletes, request: (place) => deleted(place) },
    {
      what: 'DELETE with preconditions',
      ...deletes,
      request: (place, found) => {
        const { uid, resourceVersion } = found?.metadata ?? {};
        return deleted(place, { preconditions: { uid, resourceVersion } });
      },
    },
    { what: 'DELETE that finalizers hold', ...marks, request: (place) => deleted(place) },
    {
      what: 'DELETE in the foreground',
      ...marks,
      request: (place) => deleted(place, { propagationPolicy: 'Foreground' }),
    },
    {
      what: 'DELETE that asks for the dependents as well',
      ...marks,
      status: 202,
      request: (place) => deleted(place, { orphanDependents: false }),
    },
    { what: 'DELETE that orphans', ...marks, request: (place) => deleted(place, { propagationPolicy: 'Orphan' }) },
    {
      what: 'PUT that takes the last finalizer away',
      ...marks,
      before: (place) => [...makeHeldConfigMap(place), deleted(place)],
      request: (place) => ({ method: 'PUT', path: one(place), body: configMap(place, 'mine') }),
      undone: [true],
      done: [],
    },
    {
      what: 'merge patch that takes the last finalizer away',
      ...marks,
      before: (place) => [...makeHeldConfigMap(place), deleted(place)],
      request: (place) => patched(place, 'merge', { metadata: { finalizers: null } }),
      undone: [true],
      done: [],
    },
    {
      what: 'DELETE of a collection',
      ...deletes,
      request: (place) => ({ method: 'DELETE', path: `${place.collection}?labelSelector=row%3D${place.name}` }),
    },
    {
      what: 'binding',
      ...onPod,
      request: (place) => ({
        method: 'POST',
        path: `${one(place)}/binding`,
        body: {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { name: place.name },
          target: { kind: 'Node', name: 'x' },
        },
      }),
      status: 201,
      seen: specs('nodeName'),
      undone: [undefined],
      done: ['x'],
    },
    {
      what: 'eviction',
      ...onPod,
      writes: 2,
      request: (place) => ({
        method: 'POST',
        path: `${one(place)}/eviction`,
        body: { metadata: { name: place.name } },
      }),
      status: 201,
      seen: (objects) => objects.length,
      undone: 1,
      done: 0,
    },
    {
      what: 'PUT of the status',
      ...onPod,
      request: (place) => ({
        method: 'PUT',
        path: `${one(place)}/status`,
        body: { ...pod(place), status: { reason: 'mine' } },
      }),
      status: 200,
      seen: phases,
      undone: [undefined],
      done: ['mine'],
    },
    {
      what: 'merge patch of the status',
      ...onPod,
      request: (place) => patched(place, 'merge', { status: { reason: 'mine' } }, '/status'),
      status: 200,
      seen: phases,
      undone: [undefined],
      done: ['mine'],
    },
    {
      what: 'patch of the ephemeral containers',
      ...onPod,
      request: (place) =>
        patched(
          place,
          'strategic',
          { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } },
          '/ephemeralcontainers',
        ),
      status: 200,
      seen: (objects) =>
        objects.map(({ spec }) => (spec as { ephemeralContainers?: unknown[] }).ephemeralContainers?.length),
      undone: [undefined],
      done: [1],
    },
  ];
};
