import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FlowRules, FlowSubject, PathRule, ResourceRule } from '../../../kinds/flowcontrol/flow-schemas.ts';
import { parseRequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { FlowClassifier, flowSchema } from './flow-schemas.ts';

const user = (username: string, ...groups: readonly string[]): UserInfo => ({ username, uid: '', groups, extra: {} });
const account = user('system:serviceaccount:team:bot', 'system:serviceaccounts', 'system:authenticated');
const jane = user('jane', 'dev', 'system:authenticated');

const anything: ResourceRule = {
  verbs: ['*'],
  apiGroups: ['*'],
  resources: ['*'],
  namespaces: ['*'],
  clusterScope: true,
};
const anywhere: PathRule = { verbs: ['*'], nonResourceURLs: ['*'] };
const everybody: FlowSubject = { kind: 'Group', group: { name: '*' } };

interface Wanted {
  readonly precedence?: number;
  readonly level?: string;
  readonly rules?: readonly FlowRules[];
}
const schemaOf = (name: string, { precedence = 500, level = 'l', rules = [] }: Wanted) =>
  flowSchema(
    name,
    {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      rules: rules.map((rule) => ({ subjects: [everybody], ...rule })),
    },
    { levels: new Map(), schemas: new Map() },
  );

interface Asked {
  readonly who?: UserInfo;
  readonly method?: string;
  readonly target?: string;
}
function found(
  schemas: readonly ReturnType<typeof schemaOf>[],
  { who = jane, method = 'GET', target = '/api/v1/namespaces/n/pods/p' }: Asked,
): string {
  const classifier = new FlowClassifier(schemas, ({ username }) => username !== 'stranger');
  const info = parseRequestInfo(method, target);
  const names = [1, 2].map(() => classifier.schemaOf(who, info, (level) => level !== 'gone').name);
  assert.equal(names[0], names[1], 'what is kept of a user changes nothing');
  return names[0] ?? '';
}

describe('subjects of a flow schema', () => {
  const rows: readonly [subject: FlowSubject, who: UserInfo, matches: boolean][] = [
    [{ kind: 'User', user: { name: 'jane' } }, jane, true],
    [{ kind: 'User', user: { name: 'kate' } }, jane, false],
    [{ kind: 'User', user: { name: '*' } }, jane, true],
    [{ kind: 'Group', group: { name: 'dev' } }, jane, true],
    [{ kind: 'Group', group: { name: 'ops' } }, jane, false],
    [{ kind: 'Group', group: { name: 'system:authenticated' } }, jane, true],
    [{ kind: 'Group', group: { name: 'system:unauthenticated' } }, jane, false],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: 'bot' } }, account, true],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: '*' } }, account, true],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'tea', name: '*' } }, account, false],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: 'other' } }, account, false],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: '*' } }, jane, false],
  ];
  for (const [subject, who, matches] of rows) {
    test(`${JSON.stringify(subject)} and ${who.username}`, () => {
      const schema = schemaOf('s', { rules: [{ subjects: [subject], resourceRules: [anything] }] });
      assert.equal(found([schema], { who }), matches ? 's' : 'catch-all');
    });
  }
});

describe('requests of a flow schema', () => {
  const pods: ResourceRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['n'] };
  const rows: readonly [what: string, rule: FlowRules, asked: Asked, matches: boolean][] = [
    ['a resource', { resourceRules: [pods] }, {}, true],
    ['another verb', { resourceRules: [{ ...pods, verbs: ['list'] }] }, {}, false],
    ['another group', { resourceRules: [{ ...pods, apiGroups: ['apps'] }] }, {}, false],
    ['another namespace', { resourceRules: [{ ...pods, namespaces: ['m'] }] }, {}, false],
    ['no namespace is named', { resourceRules: [{ ...pods, namespaces: [] }] }, {}, false],
    [
      'a subresource is another resource',
      { resourceRules: [pods] },
      { target: '/api/v1/namespaces/n/pods/p/log' },
      false,
    ],
    [
      'a subresource',
      { resourceRules: [{ ...pods, resources: ['pods/log'] }] },
      { target: '/api/v1/namespaces/n/pods/p/log' },
      true,
    ],
    [
      'all resources',
      { resourceRules: [{ ...pods, resources: ['*'] }] },
      { target: '/api/v1/namespaces/n/pods/p/log' },
      true,
    ],
    [
      'without a namespace',
      { resourceRules: [{ ...pods, resources: ['nodes'] }] },
      { target: '/api/v1/nodes/a' },
      false,
    ],
    [
      'in the cluster',
      { resourceRules: [{ ...pods, resources: ['nodes'], clusterScope: true }] },
      { target: '/api/v1/nodes/a' },
      true,
    ],
    ['one of several rules', { resourceRules: [{ ...pods, verbs: ['list'] }, pods] }, {}, true],
    ['a path', { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }] }, { target: '/healthz' }, true],
    [
      'below a path',
      { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz/*'] }] },
      { target: '/healthz/etcd' },
      true,
    ],
    [
      'beside a path',
      { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/health'] }] },
      { target: '/healthz' },
      false,
    ],
    [
      'another method',
      { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['*'] }] },
      { method: 'POST', target: '/healthz' },
      false,
    ],
    ['a rule for paths is not for resources', { nonResourceRules: [anywhere] }, {}, false],
    ['a rule for resources is not for paths', { resourceRules: [anything] }, { target: '/healthz' }, false],
  ];
  for (const [what, rule, asked, matches] of rows) {
    test(what, () => {
      assert.equal(
        found([schemaOf('s', { rules: [{ subjects: [everybody], ...rule }] })], asked),
        matches ? 's' : 'catch-all',
      );
    });
  }
});

describe('of several flow schemas', () => {
  const all = { rules: [{ subjects: [everybody], resourceRules: [anything] }] };
  const rows: readonly [what: string, schemas: readonly ReturnType<typeof schemaOf>[], asked: Asked, name: string][] = [
    [
      'the lowest precedence counts',
      [schemaOf('a', { ...all, precedence: 2 }), schemaOf('b', { ...all, precedence: 1 })],
      {},
      'b',
    ],
    ['then the name', [schemaOf('b', all), schemaOf('a', all)], {}, 'a'],
    [
      'those of a level that is not there do not count',
      [schemaOf('a', { ...all, level: 'gone' }), schemaOf('b', all)],
      {},
      'b',
    ],
    [
      'for strangers those that are for everybody do not count',
      [schemaOf('a', all)],
      { who: user('stranger', 'system:authenticated') },
      'catch-all',
    ],
    [
      'for strangers one that names them counts',
      [
        schemaOf('a', all),
        schemaOf('b', {
          rules: [{ subjects: [{ kind: 'User', user: { name: 'stranger' } }], resourceRules: [anything] }],
        }),
      ],
      { who: user('stranger', 'system:authenticated') },
      'b',
    ],
  ];
  for (const [what, schemas, asked, name] of rows) {
    test(what, () => assert.equal(found(schemas, asked), name));
  }
});
