import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { allAtOnce } from '../../base/time/in-slices.ts';
import type { GroupVersionKind } from '../kind.ts';
import { groupsNamed, type ServedTypes, typesNamed, typeText } from './matched-types.ts';
import type { MatchResources } from './policy-schema.ts';

type Rule = NonNullable<MatchResources['resourceRules']>[number];

/** Resources that are served: group, version, plural, singular, kind. */
const resources = [
  ['', 'v1', 'pods', 'pod', 'Pod'],
  ['', 'v1', 'events', 'event', 'Event'],
  ['events.example.com', 'v1', 'events', 'event', 'Event'],
  ['apps', 'v1', 'deployments', 'deployment', 'Deployment'],
  ['apps', 'v1', 'daemonsets', 'daemonset', 'DaemonSet'],
  ['apps', 'v1beta1', 'deployments', 'deployment', 'Deployment'],
  ...Array.from(
    { length: 15 },
    (_, index) => ['many', 'v1', `r${index + 10}s`, `r${index + 10}`, `K${index + 10}`] as const,
  ),
] as const;

function servedTypes(): ServedTypes {
  const served = new Map<string, Map<string, Map<string, GroupVersionKind>>>();
  for (const [group, version, plural, singular, kind] of resources) {
    const versions = served.get(group) ?? new Map<string, Map<string, GroupVersionKind>>();
    const types = versions.get(version) ?? new Map<string, GroupVersionKind>();
    for (const name of [plural, singular]) types.set(name, { group, version, kind });
    served.set(group, versions.set(version, types));
  }
  return served;
}

const rule = (groups: string, versions: string, names: string): Rule => ({
  apiGroups: groups.split(' ').map((group) => (group === 'core' ? '' : group)),
  apiVersions: versions.split(' '),
  resources: names.split(' '),
  operations: ['*'],
});
const typesOf = (...resourceRules: readonly Rule[]): readonly string[] =>
  allAtOnce(typesNamed({ resourceRules: [...resourceRules] }, servedTypes())).map(typeText);

const pod = '/v1, Kind=Pod';
const deployment = 'apps/v1, Kind=Deployment';

describe('types that the rules of a policy name', () => {
  const many = Array.from({ length: 15 }, (_, index) => `r${index + 10}s`).join(' ');
  const first = Array.from({ length: limits.policyTypesMax }, (_, index) => `many/v1, Kind=K${index + 10}`);
  const rows: readonly (readonly [what: string, rules: readonly Rule[], types: readonly string[]])[] = [
    ['no rules', [], []],
    ['one', [rule('apps', 'v1', 'deployments')], [deployment]],
    [
      'by group, version and kind',
      [rule('apps', 'v1beta1 v1', 'deployments daemonsets'), rule('core', 'v1', 'pods')],
      [pod, 'apps/v1, Kind=DaemonSet', deployment, 'apps/v1beta1, Kind=Deployment'],
    ],
    ['each once', [rule('apps', 'v1', 'deployments'), rule('apps', 'v1', 'deployments deployment')], [deployment]],
    ['all resources', [rule('apps', 'v1', '*')], []],
    ['subresources', [rule('core', 'v1', 'pods/* pods/status */scale */*')], []],
    ['a wildcard beside names', [rule('core', 'v1', 'pods pods/status *')], [pod]],
    ['all groups', [rule('apps *', 'v1', 'deployments')], []],
    ['all versions', [rule('apps', 'v1 *', 'deployments')], []],
    ['rules with and without wildcards', [rule('apps', '*', 'deployments'), rule('core', 'v1', 'pods')], [pod]],
    ['what is not served', [rule('apps core nope', 'v1 v2', 'pods nothing')], [pod]],
    ['singular and upper case', [rule('core', 'v1', 'Pod')], [pod]],
    ['the core group is no other one', [rule('core', 'v1', 'events')], ['/v1, Kind=Event']],
    ['ten of more', [rule('many', 'v1', many)], first],
    ['rules behind one with ten are not looked at', [rule('many', 'v1', many), rule('core', 'v1', 'pods')], first],
    ['rules before it are', [rule('core', 'v1', 'pods'), rule('many', 'v1', many)], [pod, ...first]],
  ];
  for (const [what, rules, types] of rows) test(what, () => assert.deepEqual(typesOf(...rules), types));

  test('groups are those of rules without wildcards', () => {
    const resourceRules = [
      rule('apps core', 'v1', 'pods'),
      rule('many *', 'v1', 'x'),
      rule('nope', '*', 'x'),
      rule('batch', 'v1', 'jobs'),
    ];
    assert.deepEqual([...allAtOnce(groupsNamed({ resourceRules }))], ['apps', '', 'batch']);
  });

  test('a product of many names that are not served costs their number', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `n${index}`);
    const large = { apiGroups: [...names, ''], apiVersions: [...names, 'v1'], resources: [...names, 'pods'] };
    assert.deepEqual(typesOf(large), [pod]);
  });
});
