import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { makeNodeNamed, makePod, makeVolume } from './graph-fixture.ts';
import type { GraphResource } from './graph-sources.ts';
import { NodeGraph } from './node-graph.ts';

/** Few of each, so that objects share references. */
const nodes = ['n1', 'n2', 'n3'];
const namespaces = ['a', 'b'];
const names = ['x', 'y', 'z'];

interface PodState {
  readonly type: 'pods';
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly mirror: boolean;
  readonly account: string;
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
  readonly claims: readonly string[];
  readonly resourceClaims: readonly string[];
}

interface VolumeState {
  readonly type: 'persistentvolumes';
  readonly namespace: '';
  readonly name: string;
  /** `namespace/name`; empty: none. */
  readonly claim: string;
  /** `namespace/name`. */
  readonly secrets: readonly [stage: string, publish: string];
}

interface AttachmentState {
  readonly type: 'volumeattachments' | 'resourceslices';
  readonly namespace: '';
  readonly name: string;
  readonly node: string;
}

type State = PodState | VolumeState | AttachmentState;

const reference = (path: string): object => {
  const [namespace, name] = path.split('/');
  return { namespace, name };
};

/** The API object, with its references in the various places where they may occur. */
function objectOf(state: State): ApiObject {
  switch (state.type) {
    case 'pods':
      return makePod(`${state.namespace}/${state.name}`, {
        node: state.node,
        ...(state.mirror && { annotations: { 'orch.io/config.mirror': 'x' } }),
        spec: {
          serviceAccountName: state.account,
          imagePullSecrets: state.secrets.slice(0, 1).map((name) => ({ name })),
          containers: [{ name: 'c', envFrom: state.secrets.slice(1).map((name) => ({ secretRef: { name } })) }],
          volumes: [
            // Referenced twice: still one reference.
            ...state.secrets.map((secretName) => ({ name: 's', secret: { secretName } })),
            ...state.configMaps.map((name) => ({ name: 'c', configMap: { name } })),
            ...state.claims.map((claimName) => ({ name: 'p', persistentVolumeClaim: { claimName } })),
          ],
          resourceClaims: state.resourceClaims.map((name) => ({ name, resourceClaimName: name })),
        },
      });
    case 'persistentvolumes':
      return makeVolume(state.name, state.claim === '' ? undefined : state.claim, {
        csi: {
          nodeStageSecretRef: reference(state.secrets[0]),
          nodePublishSecretRef: reference(state.secrets[1]),
        },
      });
    default:
      return makeNodeNamed(state.name, state.node);
  }
}

/** The specified rules, evaluated from scratch for each query. */
function isEntitled(world: readonly State[], node: string, resource: string, path: string): boolean {
  const volumes = world.filter((each) => each.type === 'persistentvolumes');
  switch (resource) {
    case 'pods':
      return world.some((each) => each.type === 'pods' && each.node === node && pathOf(each) === path);
    case 'volumeattachments':
    case 'resourceslices':
      return world.some((each) => each.type === resource && each.node === node && pathOf(each) === path);
    case 'persistentvolumes':
      return volumes.some(
        (each) =>
          pathOf(each) === path && each.claim !== '' && isEntitled(world, node, 'persistentvolumeclaims', each.claim),
      );
    case 'secrets':
      return (
        namedByPod(world, node, path, ({ secrets }) => secrets) ||
        volumes.some(
          (each) => each.secrets.includes(path) && isEntitled(world, node, 'persistentvolumes', pathOf(each)),
        )
      );
    case 'configmaps':
      return namedByPod(world, node, path, ({ configMaps }) => configMaps);
    case 'persistentvolumeclaims':
      return namedByPod(world, node, path, ({ claims }) => claims);
    case 'resourceclaims':
      return namedByPod(world, node, path, ({ resourceClaims }) => resourceClaims);
    case 'serviceaccounts':
      return namedByPod(world, node, path, ({ account }) => (account === '' ? [] : [account]));
    default:
      return false;
  }
}

const pathOf = ({ namespace, name }: State): string => `${namespace}/${name}`;

const namedByPod = (
  world: readonly State[],
  node: string,
  path: string,
  namesOf: (pod: PodState) => readonly string[],
): boolean =>
  world.some(
    (each) =>
      each.type === 'pods' &&
      each.node === node &&
      !each.mirror &&
      namesOf(each).some((name) => `${each.namespace}/${name}` === path),
  );

const namespaced = ['pods', 'secrets', 'configmaps', 'persistentvolumeclaims', 'resourceclaims', 'serviceaccounts'];
const clusterWide = ['persistentvolumes', 'volumeattachments', 'resourceslices'];

function* questions(): Generator<{ node: string; resource: string; namespace: string; name: string }> {
  for (const node of [...nodes, 'stranger']) {
    for (const name of names) {
      for (const resource of clusterWide) yield { node, resource, namespace: '', name };
      for (const namespace of namespaces) {
        for (const resource of namespaced) yield { node, resource, namespace, name };
      }
    }
  }
}

const some = (values: readonly string[]) => fc.uniqueArray(fc.constantFrom(...values), { maxLength: 3 });
const paths = namespaces.flatMap((namespace) => names.map((name) => `${namespace}/${name}`));
const nodeOrNone = fc.constantFrom('', ...nodes);

const podState: fc.Arbitrary<State> = fc.record({
  type: fc.constant('pods' as const),
  namespace: fc.constantFrom(...namespaces),
  name: fc.constantFrom(...names),
  node: nodeOrNone,
  mirror: fc.integer({ min: 0, max: 4 }).map((drawn) => drawn === 0),
  account: fc.constantFrom('', ...names),
  secrets: some(names),
  configMaps: some(names),
  claims: some(names),
  resourceClaims: some(names),
});

const volumeState: fc.Arbitrary<State> = fc.record({
  type: fc.constant('persistentvolumes' as const),
  namespace: fc.constant('' as const),
  name: fc.constantFrom(...names),
  claim: fc.constantFrom('', ...paths),
  secrets: fc.tuple(fc.constantFrom(...paths), fc.constantFrom(...paths)),
});

const attachmentState: fc.Arbitrary<State> = fc.record({
  type: fc.constantFrom('volumeattachments' as const, 'resourceslices' as const),
  namespace: fc.constant('' as const),
  name: fc.constantFrom(...names),
  node: nodeOrNone,
});

const step = fc.record({
  state: fc.oneof(
    { arbitrary: podState, weight: 4 },
    { arbitrary: volumeState, weight: 2 },
    { arbitrary: attachmentState, weight: 1 },
  ),
  remove: fc.integer({ min: 0, max: 2 }).map((drawn) => drawn === 0),
});

test('the graph agrees with a scan of all objects after every change', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }), (steps) => {
      const graph = new NodeGraph(orch);
      const world = new Map<string, State>();
      for (const { state, remove } of steps) {
        const key = `${state.type}/${pathOf(state)}`;
        if (remove) {
          world.delete(key);
          graph.remove(state.type, state.namespace, state.name);
        } else {
          world.set(key, state);
          graph.put(state.type, objectOf(state));
        }
        compare(graph, [...world.values()]);
      }
      for (const { type, namespace, name } of world.values()) graph.remove(type, namespace, name);
      assert.equal(graph.size, 0, 'nothing is kept of what is gone');
    }),
    { numRuns: 300, seed: 1 },
  );
});

function compare(graph: NodeGraph, world: readonly State[]): void {
  for (const { node, resource, namespace, name } of questions()) {
    assert.equal(
      graph.isEntitled(node, { resource, namespace, name }),
      isEntitled(world, node, resource, `${namespace}/${name}`),
      `${node} ${resource} ${namespace}/${name}`,
    );
  }
}

test('the order of changes does not matter', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(step, { maxLength: 20, size: 'max', selector: ({ state }) => `${state.type}/${pathOf(state)}` }),
      (steps) => {
        const [forth, back] = [new NodeGraph(orch), new NodeGraph(orch)];
        for (const { state } of steps) forth.put(state.type, objectOf(state));
        for (const { state } of steps.toReversed()) back.put(state.type, objectOf(state));
        for (const { node, ...object } of questions()) {
          assert.equal(forth.isEntitled(node, object), back.isEntitled(node, object));
        }
        assert.equal(forth.size, back.size);
      },
    ),
    { numRuns: 100, seed: 2 },
  );
});

const resources: readonly GraphResource[] = ['pods', 'persistentvolumes', 'volumeattachments', 'resourceslices'];

test('removing an unknown object has no effect', () => {
  const graph = new NodeGraph(orch);
  for (const resource of resources) graph.remove(resource, 'a', 'x');
  graph.put('pods', makePod('a/x', { node: 'n1', spec: { volumes: [{ name: 's', secret: { secretName: 'y' } }] } }));
  graph.remove('pods', 'a', 'y');
  graph.remove('persistentvolumes', 'a', 'x');
  assert.equal(graph.isEntitled('n1', { resource: 'secrets', namespace: 'a', name: 'y' }), true);
});

test('names that could be ambiguous', () => {
  const graph = new NodeGraph(orch);
  const secretName = '__proto__';
  graph.put(
    'pods',
    makePod('a/x', { node: 'constructor', spec: { volumes: [{ name: 's', secret: { secretName } }] } }),
  );
  graph.put('pods', makePod('a/y', { node: 'n1', spec: { volumes: [{ name: 's', secret: { secretName: 'b/c' } }] } }));
  const asked = (node: string, namespace: string, name: string): boolean =>
    graph.isEntitled(node, { resource: 'secrets', namespace, name });
  assert.equal(asked('constructor', 'a', '__proto__'), true);
  assert.equal(asked('n1', 'a', '__proto__'), false);
  assert.equal(asked('toString', 'a', '__proto__'), false);
  assert.equal(asked('n1', 'a', 'b/c'), true);
  assert.equal(asked('n1', 'a/b', 'c'), false);
});
