import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { parseFieldSelector, parseLabelSelector } from '../../meta/selectors.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { makeUser, readQuestion } from '../rbac/rbac-objects-fixture.ts';
import { type ReviewVersion, reviewBody, reviewPath, reviewSpec } from './review.ts';

const anything = (): readonly string[] => [];

const jane: UserInfo = {
  username: 'jane',
  uid: '7',
  groups: ['dev', 'ops'],
  extra: { 'example.org/scopes': ['a', 'b'], none: [] },
};

const sent = (version: ReviewVersion, question: Parameters<typeof reviewSpec>[0], user: UserInfo): unknown =>
  JSON.parse(reviewBody(reviewSpec(question, user), { apiVersion: `authorization.orch.io/${version}`, version }));

describe('a review', () => {
  it('describes a resource request', () => {
    assert.deepEqual(sent('v1', readQuestion('update deployments/scale@apps team web'), jane), {
      apiVersion: 'authorization.orch.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        resourceAttributes: {
          namespace: 'team',
          verb: 'update',
          group: 'apps',
          version: 'v1',
          resource: 'deployments',
          subresource: 'scale',
          name: 'web',
        },
        user: 'jane',
        groups: ['dev', 'ops'],
        extra: { 'example.org/scopes': ['a', 'b'], none: [] },
        uid: '7',
      },
    });
  });

  it('describes a path request', () => {
    assert.deepEqual(sent('v1', readQuestion('get /healthz'), jane), {
      apiVersion: 'authorization.orch.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        nonResourceAttributes: { path: '/healthz', verb: 'get' },
        user: 'jane',
        groups: ['dev', 'ops'],
        extra: { 'example.org/scopes': ['a', 'b'], none: [] },
        uid: '7',
      },
    });
  });

  it('omits empty fields', () => {
    assert.deepEqual(sent('v1', readQuestion('list pods'), makeUser('x')), {
      apiVersion: 'authorization.orch.io/v1',
      kind: 'SubjectAccessReview',
      spec: { resourceAttributes: { verb: 'list', version: 'v1', resource: 'pods' }, user: 'x' },
    });
  });

  it('calls groups `group` in v1beta1', () => {
    assert.deepEqual(sent('v1beta1', readQuestion('get /x'), makeUser('x', 'dev')), {
      apiVersion: 'authorization.orch.io/v1beta1',
      kind: 'SubjectAccessReview',
      spec: { nonResourceAttributes: { path: '/x', verb: 'get' }, user: 'x', group: ['dev'] },
    });
  });

  it('carries selectors', () => {
    const question = {
      ...readQuestion('list pods team'),
      fieldSelector: parseFieldSelector('spec.nodeName=a,metadata.name!=b'),
      labelSelector: parseLabelSelector('a=1,b!=2,c in (3,4),d notin (5),e,!f,g>6,h<7', anything, anything),
    };
    const { spec } = sent('v1', question, makeUser('x')) as {
      readonly spec: { readonly resourceAttributes: Readonly<Record<string, unknown>> };
    };
    assert.deepEqual(spec.resourceAttributes['fieldSelector'], {
      requirements: [
        { key: 'spec.nodeName', operator: 'In', values: ['a'] },
        { key: 'metadata.name', operator: 'NotIn', values: ['b'] },
      ],
    });
    assert.deepEqual(spec.resourceAttributes['labelSelector'], {
      requirements: [
        { key: 'a', operator: 'In', values: ['1'] },
        { key: 'b', operator: 'NotIn', values: ['2'] },
        { key: 'c', operator: 'In', values: ['3', '4'] },
        { key: 'd', operator: 'NotIn', values: ['5'] },
        { key: 'e', operator: 'Exists' },
        { key: 'f', operator: 'DoesNotExist' },
      ],
    });
  });

  it('has no selector if none of its requirements can be expressed', () => {
    const question = { ...readQuestion('list pods'), labelSelector: parseLabelSelector('g>6', anything, anything) };
    assert.equal(reviewSpec(question, jane).resourceAttributes?.labelSelector, undefined);
  });

  it('keeps extra keys that are names of prototype properties', () => {
    const extra = Object.defineProperty({}, '__proto__', { value: ['x'], enumerable: true }) as UserInfo['extra'];
    const spec = reviewSpec(readQuestion('get /x'), { ...jane, extra });
    assert.match(reviewBody(spec, { apiVersion: 'a/v1', version: 'v1' }), /"extra":\{"__proto__":\["x"\]\}/);
  });

  it('is served at the path of its version', () => {
    assert.equal(reviewPath(orch, 'v1'), '/apis/authorization.orch.io/v1/subjectaccessreviews');
    assert.equal(reviewPath(kubernetes, 'v1beta1'), '/apis/authorization.k8s.io/v1beta1/subjectaccessreviews');
  });
});
