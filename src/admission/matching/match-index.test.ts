import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { AdmissionAttributes, AdmissionOperation } from '../../request/admission.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { MatchIndex } from './match-index.ts';
import { type MatchRule, matchesRule, ruledRequest } from './match-rules.ts';

const every: MatchRule = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] };

/** Requests by what they are. */
const requests: Readonly<Record<string, AdmissionAttributes>> = {
  'create configmaps': attributesOf({ namespace: 'n' }),
  'update pods': attributesOf({ operation: 'update', resource: 'pods', namespace: 'n' }),
  'update pods/status': attributesOf({ operation: 'update', resource: 'pods/status', namespace: 'n' }),
  'delete leases': attributesOf({
    operation: 'delete',
    group: 'coordination.orch.io',
    resource: 'leases',
    namespace: 'n',
  }),
  'create nodes': attributesOf({ resource: 'nodes' }),
  'update namespaces': attributesOf({ operation: 'update', resource: 'namespaces', namespace: 'x' }),
  'create gadgets': { ...attributesOf({ group: 'example.com', resource: 'gadgets', namespace: 'n' }) },
};
const all = Object.keys(requests);
const inNamespaces = all.filter((each) => !/nodes|namespaces/.test(each));

describe('rules match', () => {
  const rows: readonly (readonly [what: string, rule: MatchRule, wanted: readonly string[]])[] = [
    ['everything', every, all],
    ['nothing without operations', { ...every, operations: [] }, []],
    ['nothing without groups', { ...every, apiGroups: [] }, []],
    ['nothing without versions', { ...every, apiVersions: [] }, []],
    ['nothing without resources', { ...every, resources: [] }, []],
    ['no subresources by *', { ...every, resources: ['*'] }, all.filter((each) => !each.includes('/'))],
    ['one subresource of all', { ...every, resources: ['*/status'] }, ['update pods/status']],
    [
      'a resource with all its subresources',
      { ...every, resources: ['pods/*'] },
      ['update pods', 'update pods/status'],
    ],
    ['a resource without them', { ...every, resources: ['pods'] }, ['update pods']],
    ['a subresource', { ...every, resources: ['pods/status'] }, ['update pods/status']],
    ['one of several', { ...every, resources: ['nodes', 'leases'] }, ['delete leases', 'create nodes']],
    ['an operation', { ...every, operations: ['DELETE'] }, ['delete leases']],
    ['operations in capitals only', { ...every, operations: ['delete'] }, []],
    ['a group', { ...every, apiGroups: ['example.com'] }, ['create gadgets']],
    ['the core group', { ...every, apiGroups: [''] }, all.filter((each) => !/leases|gadgets/.test(each))],
    ['a version', { ...every, apiVersions: ['v2'] }, []],
    ['a scope: Namespaced', { ...every, scope: 'Namespaced' }, inNamespaces],
    ['a scope: Cluster, namespaces too', { ...every, scope: 'Cluster' }, ['create nodes', 'update namespaces']],
    ['any scope', { ...every, scope: '*' }, all],
  ];
  for (const [what, rule, wanted] of rows) {
    it(what, () => {
      const index = new MatchIndex([{ rules: [rule], matchPolicy: 'Exact' as const }]);
      // Twice: what was found is remembered.
      for (let round = 0; round < 2; round++) {
        assert.deepEqual(
          all.filter((each) => index.find(requests[each] as AdmissionAttributes).length > 0),
          wanted,
        );
      }
    });
  }
});

describe('other versions of the resource', () => {
  const gadget = (version: string) => ({ group: 'example.com', version, kind: 'Gadget', resource: 'gadgets' });
  const request: AdmissionAttributes = {
    ...attributesOf({ group: 'example.com', resource: 'gadgets', namespace: 'n' }),
    requested: gadget('v1'),
    equivalents: [gadget('v2'), gadget('v3')],
  };
  const rule = (...apiVersions: readonly string[]): MatchRule => ({ ...every, apiVersions });
  const versionFound = (rules: readonly MatchRule[], matchPolicy: 'Exact' | 'Equivalent'): string | undefined =>
    new MatchIndex([{ rules, matchPolicy }]).find(request)[0]?.as.version;

  for (const [what, rules, exact, equivalent] of [
    ['a rule for the version of the request', [rule('v1')], 'v1', 'v1'],
    ['a rule for another one', [rule('v2')], undefined, 'v2'],
    ['a rule for none of them', [rule('v4')], undefined, undefined],
    ['the first rule that matches decides', [rule('v3'), rule('v2')], undefined, 'v3'],
    ['the version of the request wins, wherever its rule stands', [rule('v3'), rule('v1')], 'v1', 'v1'],
    ['a rule for several', [rule('v4', 'v3', 'v2')], undefined, 'v2'],
  ] as const) {
    it(what, () => {
      assert.equal(versionFound(rules, 'Exact'), exact);
      assert.equal(versionFound(rules, 'Equivalent'), equivalent);
    });
  }
});

it('finds what a walk over all finds, in their order', () => {
  const some = (...values: readonly string[]) => fc.uniqueArray(fc.constantFrom(...values), { maxLength: 2 });
  const rules = fc.record({
    operations: some('*', 'CREATE', 'UPDATE'),
    apiGroups: some('*', '', 'a'),
    apiVersions: some('*', 'v1'),
    resources: some('*', '*/*', 'pods', 'pods/status', '*/status', 'nodes'),
    scope: fc.constantFrom('*', 'Cluster', 'Namespaced'),
  });
  const item = fc.record({ rules: fc.array(rules, { maxLength: 3 }), matchPolicy: fc.constant('Exact' as const) });
  const writes = fc.record({
    operation: fc.constantFrom<AdmissionOperation>('create', 'update', 'delete'),
    group: fc.constantFrom('', 'a'),
    resource: fc.constantFrom('pods', 'pods/status', 'nodes', 'namespaces'),
    namespace: fc.constantFrom('', 'n'),
  });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 20 }), fc.array(writes, { minLength: 1, maxLength: 10 }), (items, sent) => {
      const index = new MatchIndex(items);
      for (const write of sent) {
        const attributes = attributesOf(write);
        const walked = items.filter((each) => each.rules.some((rule) => matchesRule(rule, ruledRequest(attributes))));
        assert.deepEqual(
          index.find(attributes).map((found) => items.indexOf(found.item)),
          walked.map((each) => items.indexOf(each)),
        );
      }
    }),
  );
});
