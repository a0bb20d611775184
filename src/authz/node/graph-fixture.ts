import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { GraphResource } from './graph-sources.ts';
import { NodeGraph } from './node-graph.ts';

/** Builders for graph objects in tests. */

interface PodShape {
  readonly node?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly status?: object;
}

/** `namespace/name`. */
function split(path: string): { namespace: string; name: string } {
  const [namespace = '', name = ''] = path.split('/');
  return { namespace, name };
}

export const makePod = (path: string, { node, annotations, spec, status }: PodShape = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...split(path), uid: `uid-${path}`, ...(annotations && { annotations }) },
  spec: { containers: [{ name: 'c' }], ...(node !== undefined && { nodeName: node }), ...spec },
  ...(status && { status }),
});

/** A persistent volume; `claim` is `namespace/name`. */
export const makeVolume = (name: string, claim: string | undefined, source: object = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: { ...(claim !== undefined && { claimRef: split(claim) }), ...source },
});

/** An object whose spec names a node: a volume attachment or a resource slice. */
export const makeNodeNamed = (name: string, nodeName?: string): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Any',
  metadata: { name },
  spec: { ...(nodeName !== undefined && { nodeName }) },
});

export function graphOf(dialect: Dialect, objects: Readonly<Partial<Record<GraphResource, readonly ApiObject[]>>>) {
  const graph = new NodeGraph(dialect);
  for (const [resource, list] of Object.entries(objects)) {
    for (const object of list) graph.put(resource as GraphResource, object);
  }
  return graph;
}
