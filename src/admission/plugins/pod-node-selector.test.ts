import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { type PodNodeSelectors, podNodeSelector } from './pod-node-selector.ts';

interface Case {
  /** The annotation of the namespace; null: there is no such namespace. */
  readonly annotation?: string | null;
  readonly selectors?: PodNodeSelectors;
  readonly pod?: Readonly<Record<string, string>>;
}

async function admit({ annotation, selectors = {}, pod }: Case): Promise<unknown> {
  const annotations = { 'scheduler.alpha.kubernetes.io/node-selector': annotation };
  const plugin = podNodeSelector({
    dialect: kubernetes,
    selectors,
    namespace: (name) =>
      annotation === null
        ? undefined
        : ({ metadata: { name, ...(annotation !== undefined && { annotations }) } } as unknown as ApiObject),
  });
  const object = { spec: { ...(pod && { nodeSelector: pod }) } };
  const attributes = attributesOf({ resource: 'pods', namespace: 'n', object });
  try {
    assert.ok(plugin.concerns(attributes));
    await plugin.mutate?.(attributes);
    await plugin.validate?.(attributes);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.code} ${error.message}`;
  }
  return (attributes.object as unknown as { readonly spec: { readonly nodeSelector?: unknown } }).spec.nodeSelector;
}

const conflict = '403 pods "x" is forbidden: pod node label selector conflicts with its namespace node label selector';
const notAllowed = '403 pods "x" is forbidden: pod node label selector labels conflict with its namespace whitelist';

describe('PodNodeSelector', () => {
  const cases: readonly (readonly [title: string, Case, result: unknown])[] = [
    ['nothing is said', {}, undefined],
    ['the pod alone', { pod: { a: 'b' } }, { a: 'b' }],
    ['the annotation', { annotation: 'a=b, c = d' }, { a: 'b', c: 'd' }],
    ['both', { annotation: 'a=b', pod: { a: 'b', e: 'f' } }, { a: 'b', e: 'f' }],
    ['they conflict', { annotation: 'a=b', pod: { a: 'c' } }, conflict],
    ['the default', { selectors: { clusterDefaultNodeSelector: 'a=b' } }, { a: 'b' }],
    [
      'the annotation wins over the default',
      { annotation: '', selectors: { clusterDefaultNodeSelector: 'a=b' } },
      undefined,
    ],
    ['within what is allowed', { selectors: { n: 'a=b,c=d' }, pod: { a: 'b' } }, { a: 'b' }],
    ['not allowed', { selectors: { n: 'a=b' }, pod: { a: 'c' } }, notAllowed],
    ['another label', { selectors: { n: 'a=b' }, pod: { e: 'f' } }, notAllowed],
    ['what the annotation adds must be allowed', { selectors: { n: 'a=b' }, annotation: 'e=f' }, notAllowed],
    ['other namespaces', { selectors: { m: 'a=b' }, pod: { e: 'f' } }, { e: 'f' }],
    ['an annotation that cannot be read', { annotation: 'a' }, '500 Internal error occurred: invalid selector: [a]'],
    ['no namespace', { annotation: null }, '500 Internal error occurred: namespace n does not exist'],
  ];
  for (const [title, written, result] of cases) {
    it(title, async () => assert.deepEqual(await admit(written), result));
  }
});
