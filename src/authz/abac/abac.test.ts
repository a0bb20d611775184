import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { anonymousUser } from '../../request/user-info.ts';
import { makeUser, readQuestion } from '../rbac/rbac-objects-fixture.ts';
import { abacAuthorizer } from './abac-authorizer.ts';
import { PolicyFileError, parsePolicyFile } from './policy-file.ts';

const parse = (text: string) => parsePolicyFile(Buffer.from(text), '/etc/policy.jsonl', orch);

const line = (spec: object): string =>
  JSON.stringify({ apiVersion: 'abac.authorization.orch.io/v1beta1', kind: 'Policy', spec });

const all = 'system:authenticated';
const users = {
  alice: makeUser('alice', 'dev', all),
  bob: makeUser('bob', 'ops', all),
  star: makeUser('*', '*', all),
  none: makeUser('', all),
  anonymous: anonymousUser,
};

/** The initials of the users that are allowed, in order. */
const marks = (text: string, question: string): string => {
  const authorizer = abacAuthorizer(parse(text).policies);
  return Object.entries(users)
    .filter(([, user]) => {
      const decision = authorizer.authorize(readQuestion(question), user);
      assert.ok(!(decision instanceof Promise));
      const { verdict, reason } = decision;
      assert.equal(reason, verdict === 'allow' ? '' : 'No policy matched.');
      assert.notEqual(verdict, 'deny');
      return verdict === 'allow';
    })
    .map(([name]) => name)
    .join(' ');
};

const pods = { resource: 'pods', namespace: 'team' };
const everybody = 'alice bob star none';

const decisions: readonly (readonly [policy: string, question: string, allowed: string])[] = [
  // Subjects
  [line({ user: 'alice', ...pods }), 'get pods team x', 'alice'],
  [line({ user: 'Alice', ...pods }), 'get pods team x', ''],
  [line({ user: '*', ...pods }), 'get pods team x', everybody],
  [line({ group: 'dev', ...pods }), 'get pods team x', 'alice'],
  [line({ group: '*', ...pods }), 'get pods team x', everybody],
  [line({ group: all, ...pods }), 'get pods team x', everybody],
  [line({ group: 'system:unauthenticated', ...pods }), 'get pods team x', 'anonymous'],
  [line({ user: 'alice', group: 'dev', ...pods }), 'get pods team x', 'alice'],
  [line({ user: 'alice', group: 'ops', ...pods }), 'get pods team x', ''],
  [line({ user: 'alice', group: '*', ...pods }), 'get pods team x', 'alice'],
  [line({ user: '*', group: 'ops', ...pods }), 'get pods team x', 'bob'],
  [line({ user: 'system:anonymous', ...pods }), 'get pods team x', 'anonymous'],
  [line({ user: 'system:anonymous', group: '*', ...pods }), 'get pods team x', ''],
  [line({ ...pods }), 'get pods team x', ''],
  [line({ user: '', group: '', ...pods }), 'get pods team x', ''],
  [line({}), 'get pods team x', ''],
  // Resources and verbs
  [line({ user: 'alice', ...pods }), 'delete pods team x', 'alice'],
  [line({ user: 'alice', ...pods }), 'deletecollection pods team', 'alice'],
  [line({ user: 'alice', ...pods }), 'get pods/log team x', 'alice'],
  [line({ user: 'alice', ...pods }), 'get pods other x', ''],
  [line({ user: 'alice', ...pods }), 'list pods', ''],
  [line({ user: 'alice', ...pods }), 'get secrets team x', ''],
  [line({ user: 'alice', ...pods }), 'get pods@apps team x', ''],
  [line({ user: 'alice', ...pods, apiGroup: 'apps' }), 'get pods@apps team x', 'alice'],
  [line({ user: 'alice', ...pods, apiGroup: 'apps' }), 'get pods team x', ''],
  [line({ user: 'alice', ...pods, apiGroup: '*' }), 'get pods@apps team x', 'alice'],
  [line({ user: 'alice', ...pods, apiGroup: '*' }), 'get pods team x', 'alice'],
  [line({ user: 'alice', resource: '*', namespace: 'team' }), 'get secrets team x', 'alice'],
  [line({ user: 'alice', resource: '*', namespace: 'team' }), 'get secrets other x', ''],
  [line({ user: 'alice', resource: 'nodes' }), 'get nodes - x', 'alice'],
  [line({ user: 'alice', resource: 'pods' }), 'get pods team x', ''],
  [line({ user: 'alice', resource: 'pods', namespace: '*' }), 'get pods team x', 'alice'],
  [line({ user: 'alice', resource: 'pods', namespace: '*' }), 'list pods', 'alice'],
  [line({ user: 'alice', namespace: '*', apiGroup: '*' }), 'get pods team x', ''],
  [line({ user: 'alice', resource: '*', namespace: '*', apiGroup: '*' }), 'get /healthz', ''],
  // readonly
  ...['get', 'list', 'watch'].map(
    (verb) => [line({ user: 'alice', ...pods, readonly: true }), `${verb} pods team`, 'alice'] as const,
  ),
  ...['create', 'update', 'patch', 'delete', 'deletecollection', 'GET', 'bind', ''].map(
    (verb) => [line({ user: 'alice', ...pods, readonly: true }), `${verb || 'x'} pods team`, ''] as const,
  ),
  [line({ user: 'alice', ...pods, readonly: false }), 'create pods team', 'alice'],
  [line({ user: 'alice', nonResourcePath: '*', readonly: true }), 'get /x', 'alice'],
  [line({ user: 'alice', nonResourcePath: '*', readonly: true }), 'head /x', ''],
  [line({ user: 'alice', nonResourcePath: '*', readonly: true }), 'post /x', ''],
  // Paths
  [line({ user: 'alice', nonResourcePath: '*' }), 'post /x', 'alice'],
  [line({ user: 'alice', nonResourcePath: '/healthz' }), 'get /healthz', 'alice'],
  [line({ user: 'alice', nonResourcePath: '/healthz' }), 'get /healthz/etcd', ''],
  [line({ user: 'alice', nonResourcePath: '/healthz' }), 'get /health', ''],
  [line({ user: 'alice', nonResourcePath: '/healthz/*' }), 'get /healthz/etcd', 'alice'],
  [line({ user: 'alice', nonResourcePath: '/healthz/*' }), 'get /healthz', ''],
  [line({ user: 'alice', nonResourcePath: '/healthz*' }), 'get /healthzz', 'alice'],
  [line({ user: 'alice', nonResourcePath: '/a**' }), 'get /abc', 'alice'],
  [line({ user: 'alice', nonResourcePath: '/*/x' }), 'get /a/x', ''],
  [line({ user: 'alice', nonResourcePath: '*' }), 'get pods team x', ''],
  [line({ user: 'alice' }), 'get /', ''],
  // Version v0
  ['{}', 'delete secrets team x', everybody],
  ['{}', 'post /x', everybody],
  ['{"user":"alice"}', 'delete secrets@apps team x', 'alice'],
  ['{"user":"alice"}', 'get /x', 'alice'],
  ['{"user":"*"}', 'get /x', everybody],
  ['{"group":"ops"}', 'get /x', 'bob'],
  ['{"user":"alice","readonly":true}', 'get pods team', 'alice'],
  ['{"user":"alice","readonly":true}', 'create pods team', ''],
  ['{"user":"alice","resource":"pods"}', 'create pods@any team', 'alice'],
  ['{"user":"alice","resource":"pods"}', 'create secrets team', ''],
  ['{"user":"alice","resource":"pods"}', 'get /x', ''],
  ['{"user":"alice","namespace":"team"}', 'create secrets team', 'alice'],
  ['{"user":"alice","namespace":"team"}', 'create secrets other', ''],
  ['{"user":"alice","namespace":"team"}', 'get /x', ''],
  ['{"kind":"Policy","user":"alice"}', 'get /x', 'alice'],
  ['{"apiVersion":"abac.authorization.orch.io/v0","kind":"Policy","user":"alice"}', 'get /x', 'alice'],
  // Several policies
  [`${line({ user: 'bob', ...pods })}\n${line({ group: 'dev', ...pods })}`, 'get pods team x', 'alice bob'],
  ['', 'get pods team x', ''],
];

describe('ABAC policies', () => {
  for (const [policy, question, allowed] of decisions) {
    it(`${policy.replaceAll(/"(apiVersion|kind)":"[^"]*",?/g, '')} ${question}`, () => {
      assert.equal(marks(policy, question), allowed);
    });
  }

  it('are listed as rules', () => {
    const text = [
      line({ user: 'alice', ...pods, readonly: true }),
      line({ group: 'dev', resource: '*', namespace: '*', apiGroup: '*' }),
      line({ user: 'alice', resource: 'pods', namespace: 'other' }),
      line({ user: 'alice', resource: 'nodes' }),
      line({ user: 'bob', ...pods }),
      line({ group: '*', nonResourcePath: '/x/*', readonly: true }),
    ].join('\n');
    const authorizer = abacAuthorizer(parse(text).policies);
    const rule = (verbs: readonly string[], group: string, resource: string) => ({
      verbs,
      apiGroups: [group],
      resources: [resource],
      resourceNames: [],
    });
    const read = ['get', 'list', 'watch'];
    assert.deepEqual(authorizer.rulesFor(users.alice, 'team'), {
      resourceRules: [rule(read, '', 'pods'), rule(['*'], '*', '*'), rule(['*'], '', 'nodes')],
      pathRules: [{ verbs: read, nonResourceURLs: ['/x/*'] }],
      incomplete: false,
      errors: [],
    });
    assert.deepEqual(authorizer.rulesFor(users.anonymous, 'team'), {
      resourceRules: [],
      pathRules: [],
      incomplete: false,
      errors: [],
    });
  });
});

describe('a policy file', () => {
  it('may contain comments, empty lines and CRLF line breaks', () => {
    const { policies, unversionedLines } = parse(
      `# who\r\n\r\n  \t\n${line({ user: 'ä' })}\r\n   # more\n  ${line({ user: 'b' })}  `,
    );
    assert.deepEqual(
      policies.map(({ user }) => user),
      ['ä', 'b'],
    );
    assert.equal(unversionedLines, 0);
  });

  it('counts v0 lines', () => {
    assert.equal(parse(`{}\n${line({})}\n{"user":"x"}`).unversionedLines, 2);
  });

  it('uses the names of its dialect', () => {
    const published =
      '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"alice","namespace":"*","resource":"*","apiGroup":"*"}}';
    assert.equal(parsePolicyFile(Buffer.from(published), 'f', kubernetes).policies[0]?.user, 'alice');
    assert.throws(() => parse(published), /f?.*apiVersion: Unsupported value/);
  });

  const good = line({ user: 'a' });
  const long = line({ user: 'x'.repeat(limits.abacLineBytesMax) });
  const bad: readonly (readonly [text: string, line: number, problem: RegExp])[] = [
    ['nonsense', 1, /expected/i],
    [`${good}\n\n# x\n{`, 4, /./],
    ['[]', 1, /expected an object of kind Policy/],
    ['"x"', 1, /expected an object of kind Policy/],
    [`${good}${good}`, 1, /./],
    ['{"user":"a","uesr":"b"}', 1, /unknown field "uesr"/],
    ['{"user":"a","apiGroup":"b"}', 1, /unknown field "apiGroup"/],
    [line({ user: 'a', verbs: ['get'] }), 1, /unknown field "spec.verbs"/],
    ['{"user":"a","user":"b"}', 1, /duplicate field "user"/],
    [line({ user: 1 }), 1, /spec.user: expected string, got number/],
    [line({ readonly: 'true' }), 1, /spec.readonly: expected boolean, got string/],
    ['{"user":["a"]}', 1, /user: expected string, got array/],
    ['{"spec":{"user":"a"}}', 1, /apiVersion: Required value/],
    ['{"apiVersion":"v1","kind":"Policy"}', 1, /apiVersion: Unsupported value: "v1"/],
    ['{"apiVersion":"abac.authorization.orch.io/v1beta1"}', 1, /kind: Required value/],
    ['{"apiVersion":"abac.authorization.orch.io/v1beta1","kind":"Role"}', 1, /kind: Unsupported value: "Role"/],
    ['{"kind":"Role","user":"a"}', 1, /kind: Unsupported value: "Role"/],
    [`${good}\n${long}`, 2, /longer than/],
  ];
  for (const [text, at, problem] of bad) {
    it(`with ${text.slice(0, 80)} is rejected`, () => {
      assert.throws(
        () => parse(text),
        (error) => {
          assert.ok(error instanceof PolicyFileError);
          assert.ok(error.message.startsWith(`/etc/policy.jsonl, line ${at}: `), error.message);
          assert.match(error.message, problem);
          return true;
        },
      );
    });
  }
});
