import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OwnerReference } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { admissionChain } from '../chain.ts';
import { ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts';

const owner = (uid: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: `owner-${uid}`,
  uid,
  ...more,
});
const blocking = (uid: string, more: Partial<OwnerReference> = {}): OwnerReference =>
  owner(uid, { blockOwnerDeletion: true, ...more });
const node = { kind: 'Node' };

interface Case {
  readonly now: readonly OwnerReference[];
  readonly before?: readonly OwnerReference[];
  readonly operation?: 'create' | 'update' | 'delete';
  readonly resource?: string;
  /** Permissions that are denied. */
  readonly denied?: readonly string[];
  /** Expected authorization queries in order: `verb namespace/resource/subresource name`. */
  readonly asked: readonly string[];
  readonly refused?: RegExp;
}

const deleteSelf = 'delete ns/configmaps/ x';

const cases: Readonly<Record<string, Case>> = {
  'no owners': { now: [], asked: [] },
  'an owner on create': { now: [owner('a')], asked: [deleteSelf] },
  'an owner on create, not permitted': {
    now: [owner('a')],
    denied: [deleteSelf],
    asked: [deleteSelf],
    refused: /^configmaps "x" is forbidden: cannot set an ownerRef on a resource you can't delete: says who, <nil>$/,
  },
  'owners that stay as they are': { now: [blocking('a')], before: [blocking('a')], operation: 'update', asked: [] },
  'an owner more': { now: [owner('a'), owner('b')], before: [owner('a')], operation: 'update', asked: [deleteSelf] },
  'an owner less': { now: [], before: [owner('a')], operation: 'update', asked: [deleteSelf] },
  'another order': {
    now: [owner('b'), owner('a')],
    before: [owner('a'), owner('b')],
    operation: 'update',
    asked: [deleteSelf],
  },
  'another controller': {
    now: [owner('a', { controller: true })],
    before: [owner('a')],
    operation: 'update',
    asked: [deleteSelf],
  },
  'a blocking owner': {
    now: [blocking('a')],
    asked: [deleteSelf, 'update ns/configmaps/finalizers owner-a'],
  },
  'a blocking owner, not permitted': {
    now: [blocking('a')],
    denied: ['update ns/configmaps/finalizers owner-a'],
    asked: [deleteSelf, 'update ns/configmaps/finalizers owner-a'],
    refused:
      /cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: says who, <nil>$/,
  },
  'an owner that begins to block': {
    now: [blocking('a')],
    before: [owner('a')],
    operation: 'update',
    asked: [deleteSelf, 'update ns/configmaps/finalizers owner-a'],
  },
  'an owner that blocked before, beside a new one': {
    now: [blocking('a'), owner('b')],
    before: [blocking('a')],
    operation: 'update',
    asked: [deleteSelf],
  },
  'an owner without a namespace': {
    now: [blocking('a', node)],
    asked: [deleteSelf, 'update /nodes/finalizers owner-a'],
  },
  'a blocking owner of a kind that is not served': {
    now: [blocking('a', { kind: 'Widget', apiVersion: 'example.com/v1' })],
    asked: [deleteSelf],
    refused: /cannot find RESTMapping for APIVersion example\.com\/v1 Kind Widget$/,
  },
  'the status of a pod': { now: [owner('a')], operation: 'update', resource: 'pods/status', asked: [] },
  'another subresource': {
    now: [owner('a')],
    before: [],
    operation: 'update',
    resource: 'configmaps/scale',
    asked: ['delete ns/configmaps/scale x'],
  },
  'a deletion': { now: [], before: [owner('a')], operation: 'delete', asked: [] },
};

describe('who may name owners', () => {
  for (const [what, { now, before, operation = 'create', resource = 'configmaps', ...expected }] of Object.entries(
    cases,
  )) {
    it(what, async () => {
      const asked: string[] = [];
      const chain = admissionChain([
        ownerReferencesPermissionEnforcement({
          authorize: ({ verb, namespace, resource, subresource, name }, user) => {
            assert.equal(user.username, 'jane');
            const question = `${verb} ${namespace}/${resource}/${subresource} ${name}`;
            asked.push(question);
            return { allowed: !(expected.denied ?? []).includes(question), reason: 'says who' };
          },
          resourcesOf: (apiVersion, kind) =>
            apiVersion === 'v1'
              ? [{ group: '', version: 'v1', resource: `${kind.toLowerCase()}s`, namespaced: kind !== 'Node' }]
              : [],
        }),
      ]);
      const attributes = attributesOf({
        namespace: 'ns',
        operation,
        resource,
        object: { metadata: { name: 'x', ownerReferences: now } },
        ...(before && { old: { metadata: { name: 'x', ownerReferences: before } } }),
      });
      const refused = await Promise.resolve(chain.validate(attributes)).then(
        () => undefined,
        (error: unknown) => error,
      );
      assert.deepEqual(asked, expected.asked);
      if (!expected.refused) return assert.equal(refused, undefined);
      assert.ok(refused instanceof StatusError);
      assert.equal(refused.code, 403);
      assert.match(refused.message, expected.refused);
    });
  }
});
