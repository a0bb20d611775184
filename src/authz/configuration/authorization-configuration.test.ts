import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { systemFiles } from '../../base/files.ts';
import type { Cel, CelProgram } from '../../cel/cel.ts';
import { boolType } from '../../cel/type.ts';
import { ConfigurationError } from '../../codec/configuration-document.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { readAuthorizationConfiguration } from './authorization-configuration.ts';
import type { AuthorizerSpec } from './authorizer-spec.ts';

const folder = mkdtempSync(join(tmpdir(), 'authorization-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'webhook.conf');
writeFileSync(file, '');

/** Compiles any expression except those with a question mark. */
const cel: Pick<Cel, 'compile'> = {
  compile(source, environment, options): CelProgram {
    assert.deepEqual(Object.keys(environment), ['request']);
    assert.deepEqual(options, { returns: [boolType] });
    if (source.includes('?')) throw new Error('1:1: no such thing');
    return { source, type: boolType, evaluate: () => true, selects: () => false, selectsField: () => false };
  },
};

let celLoads = 0;
const options = {
  dialect: orch,
  files: systemFiles,
  loadCel: () => {
    celLoads += 1;
    return Promise.resolve(cel);
  },
};

const webhook = {
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  matchConditionSubjectAccessReviewVersion: 'v1',
  failurePolicy: 'NoOpinion',
  connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: file },
};

const header = { apiVersion: 'apiserver.config.orch.io/v1', kind: 'AuthorizationConfiguration' };

const read = (document: object | string): Promise<readonly AuthorizerSpec[]> =>
  readAuthorizationConfiguration(
    Buffer.from(typeof document === 'string' ? document : JSON.stringify(document)),
    options,
  );

const readOne = (authorizer: object): Promise<readonly AuthorizerSpec[]> =>
  read({ ...header, authorizers: [authorizer] });

describe('an authorization configuration', () => {
  it('configures the chain in order', async () => {
    const specs = await read(`# of the cluster
apiVersion: apiserver.config.orch.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: first.example.com
  webhook:
    authorizedTTL: 1m30s
    unauthorizedTTL: 500ms
    timeout: 30s
    subjectAccessReviewVersion: v1beta1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo:
      type: KubeConfigFile
      kubeConfigFile: ${file}
    matchConditions:
    - expression: has(request.resourceAttributes)
    - expression: "!('ops' in request.groups)"
- type: Node
  name: node
- type: RBAC
  name: the-rules
- type: Webhook
  name: last
  webhook:
    timeout: 1ms
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: NoOpinion
    connectionInfo:
      type: InClusterConfig
`);
    const [first, ...others] = specs;
    assert.ok(first?.type === 'Webhook');
    const { conditions, ...rest } = first;
    assert.deepEqual(conditions?.sources, ['has(request.resourceAttributes)', "!('ops' in request.groups)"]);
    assert.deepEqual(rest, {
      type: 'Webhook',
      name: 'first.example.com',
      connection: { type: 'file', file },
      version: 'v1beta1',
      timeoutMs: 30_000,
      authorizedTtlMs: 90_000,
      unauthorizedTtlMs: 500,
      failurePolicy: 'Deny',
    });
    assert.deepEqual(others, [
      { type: 'Node', name: 'node' },
      { type: 'RBAC', name: 'the-rules' },
      {
        type: 'Webhook',
        name: 'last',
        connection: { type: 'inCluster' },
        version: 'v1',
        timeoutMs: 1,
        authorizedTtlMs: 300_000,
        unauthorizedTtlMs: 30_000,
        failurePolicy: 'NoOpinion',
      },
    ]);
  });

  it('does not load CEL without match conditions', async () => {
    const before = celLoads;
    await readOne({ type: 'Webhook', name: 'x', webhook: { ...webhook, matchConditions: [] } });
    assert.equal(celLoads, before);
    await readOne({ type: 'Webhook', name: 'x', webhook: { ...webhook, matchConditions: [{ expression: 'a' }] } });
    assert.equal(celLoads, before + 1);
  });

  it('has defaults for zero durations', async () => {
    const [spec] = await readOne({
      type: 'Webhook',
      name: 'x',
      webhook: { ...webhook, authorizedTTL: '0s', unauthorizedTTL: '0' },
    });
    assert.ok(spec?.type === 'Webhook');
    assert.deepEqual([spec.authorizedTtlMs, spec.unauthorizedTtlMs], [300_000, 30_000]);
  });

  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    it(`may be of ${version}, in both dialects`, async () => {
      const authorizers = [{ type: 'RBAC', name: 'rbac' }];
      for (const [dialect, group] of [
        [orch, 'apiserver.config.orch.io'],
        [kubernetes, 'apiserver.config.k8s.io'],
      ] as const) {
        const bytes = Buffer.from(JSON.stringify({ ...header, apiVersion: `${group}/${version}`, authorizers }));
        assert.deepEqual(await readAuthorizationConfiguration(bytes, { ...options, dialect }), authorizers);
      }
    });
  }

  it('may have every type once, and any number of webhooks', async () => {
    const types = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'RBAC', 'Node'];
    const specs = await read({
      ...header,
      authorizers: [
        ...types.map((type) => ({ type, name: type.toLowerCase() })),
        { type: 'Webhook', name: 'a', webhook },
        { type: 'Webhook', name: 'b', webhook },
      ],
    });
    assert.deepEqual(
      specs.map(({ type }) => type),
      [...types, 'Webhook', 'Webhook'],
    );
  });
});

const rbac = { type: 'RBAC', name: 'rbac' };
const at = 'authorizers[0].webhook';
const hook = (fields: object): object => ({ type: 'Webhook', name: 'x', webhook: { ...webhook, ...fields } });
const condition = (...expressions: readonly string[]): object =>
  hook({ matchConditions: expressions.map((expression) => ({ expression })) });
const connection = (connectionInfo: object): object => hook({ connectionInfo });

const faulty: readonly (readonly [authorizer: object, problem: string])[] = [
  [{ name: 'x' }, 'authorizers[0].type: Required value'],
  [{ type: '', name: 'x' }, 'authorizers[0].type: Required value'],
  [
    { type: 'rbac', name: 'x' },
    'authorizers[0].type: Unsupported value: "rbac": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"',
  ],
  [{ type: 'RBAC' }, 'authorizers[0].name: Required value'],
  [
    { type: 'RBAC', name: 'The_Rules' },
    'authorizers[0].name: Invalid value: "The_Rules": authorizer name is invalid: ',
  ],
  [{ type: 'RBAC', name: 'x'.repeat(254) }, 'must be no more than 253'],
  [{ type: 'RBAC', name: 7 }, 'authorizers[0].name: expected string, got number'],
  [{ ...rbac, webhook: {} }, `${at}: Invalid value: "non-null": may only be specified when type=Webhook`],
  [{ ...rbac, extra: 1 }, 'unknown field "authorizers[0].extra"'],
  [{ type: 'Webhook', name: 'x' }, `${at}: Required value: required when type=Webhook`],
  [hook({ timeot: '3s' }), `unknown field "${at}.timeot"`],
  [hook({ timeout: undefined }), `${at}.timeout: Required value`],
  [hook({ timeout: '0s' }), `${at}.timeout: Required value`],
  [hook({ timeout: '-1s' }), `${at}.timeout: Invalid value: "-1s": must be > 0s and <= 30s`],
  [hook({ timeout: '30.001s' }), `${at}.timeout: Invalid value: "30.001s": must be > 0s and <= 30s`],
  [hook({ timeout: '3' }), `${at}.timeout: Invalid value: "3": must be a duration such as 30s or 5m0s`],
  [hook({ timeout: '' }), `${at}.timeout: Invalid value: "": must be a duration`],
  [hook({ timeout: 3 }), `${at}.timeout: expected string, got number`],
  [hook({ authorizedTTL: '-5m' }), `${at}.authorizedTTL: Invalid value: "-5m": must be > 0s`],
  [hook({ authorizedTTL: 'long' }), `${at}.authorizedTTL: Invalid value: "long": must be a duration`],
  [hook({ unauthorizedTTL: '-1ms' }), `${at}.unauthorizedTTL: Invalid value: "-1ms": must be > 0s`],
  [hook({ unauthorizedTTL: '' }), `${at}.unauthorizedTTL: Invalid value: "": must be a duration`],
  [hook({ subjectAccessReviewVersion: undefined }), `${at}.subjectAccessReviewVersion: Required value`],
  [
    hook({ subjectAccessReviewVersion: 'v2' }),
    `${at}.subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"`,
  ],
  [
    hook({ matchConditionSubjectAccessReviewVersion: undefined }),
    `${at}.matchConditionSubjectAccessReviewVersion: Required value`,
  ],
  [
    hook({ matchConditionSubjectAccessReviewVersion: 'v1beta1' }),
    `${at}.matchConditionSubjectAccessReviewVersion: Unsupported value: "v1beta1": supported values: "v1"`,
  ],
  [hook({ failurePolicy: undefined }), `${at}.failurePolicy: Required value`],
  [
    hook({ failurePolicy: 'Allow' }),
    `${at}.failurePolicy: Unsupported value: "Allow": supported values: "Deny", "NoOpinion"`,
  ],
  [hook({ connectionInfo: undefined }), `${at}.connectionInfo.type: Required value`],
  [connection({}), `${at}.connectionInfo.type: Required value`],
  [
    connection({ type: 'URL' }),
    `${at}.connectionInfo.type: Unsupported value: "URL": supported values: "InClusterConfig", "KubeConfigFile"`,
  ],
  [connection({ type: 'KubeConfigFile' }), `${at}.connectionInfo.kubeConfigFile: Required value`],
  [connection({ type: 'KubeConfigFile', kubeConfigFile: '' }), `${at}.connectionInfo.kubeConfigFile: Required value`],
  [
    connection({ type: 'KubeConfigFile', kubeConfigFile: 'webhook.conf' }),
    `${at}.connectionInfo.kubeConfigFile: Invalid value: "webhook.conf": must be an absolute path`,
  ],
  [connection({ type: 'KubeConfigFile', kubeConfigFile: `${file}.not` }), 'error loading file: ENOENT'],
  [connection({ type: 'KubeConfigFile', kubeConfigFile: folder }), 'must be a regular file'],
  [
    connection({ type: 'InClusterConfig', kubeConfigFile: file }),
    `${at}.connectionInfo.kubeConfigFile: Invalid value: ${JSON.stringify(file)}: can only be set when type=KubeConfigFile`,
  ],
  [condition(''), `${at}.matchConditions[0].expression: Required value`],
  [condition('a', ' \n'), `${at}.matchConditions[1].expression: Required value`],
  [hook({ matchConditions: [{}] }), `${at}.matchConditions[0].expression: Required value`],
  [condition('a', 'b', 'a'), `${at}.matchConditions[2].expression: Duplicate value: "a"`],
  [
    condition('a', '?'),
    `${at}.matchConditions[1].expression: Invalid value: "?": compilation failed: 1:1: no such thing`,
  ],
  [
    condition(...Array.from({ length: 65 }, (_, index) => `a${index}`)),
    `${at}.matchConditions: Too many: 65: must have at most 64 items`,
  ],
  [hook({ matchConditions: ['a'] }), `${at}.matchConditions[0]: expected object, got string`],
];

describe('an invalid authorization configuration', () => {
  const refused = (document: Promise<unknown>, problem: string): Promise<void> =>
    assert.rejects(document, (error) => {
      assert.ok(error instanceof Error && error.message.includes(problem), `${error}`);
      return true;
    });
  for (const [authorizer, problem] of faulty) {
    it(problem, () => refused(readOne(authorizer), problem));
  }

  it('may have at most 64 conditions', async () => {
    const expressions = Array.from({ length: 64 }, (_, index) => `a${index}`);
    const [spec] = await readOne(condition(...expressions));
    assert.deepEqual(spec?.type === 'Webhook' && spec.conditions?.sources, expressions);
  });

  for (const [name, document, problem] of [
    ['empty', '', 'expected an object of kind AuthorizationConfiguration'],
    ['no YAML', '{]', 'error'],
    ['no object', '[]', 'expected an object of kind AuthorizationConfiguration'],
    ['without authorizers', header, 'authorizers: Required value: at least one authorization mode must be defined'],
    ['with no authorizers', { ...header, authorizers: [] }, 'authorizers: Required value'],
    [
      'with authorizers that are not a list',
      { ...header, authorizers: rbac },
      'authorizers: expected array, got object',
    ],
    ['without a version', { kind: header.kind, authorizers: [rbac] }, 'apiVersion: Required value'],
    [
      'of another version',
      { ...header, apiVersion: 'apiserver.config.orch.io/v2', authorizers: [rbac] },
      'apiVersion: Unsupported value: "apiserver.config.orch.io/v2"',
    ],
    [
      'of another dialect',
      { ...header, apiVersion: 'apiserver.config.k8s.io/v1', authorizers: [rbac] },
      'apiVersion: ',
    ],
    ['without a kind', { apiVersion: header.apiVersion, authorizers: [rbac] }, 'kind: Required value'],
    ['of another kind', { ...header, kind: 'AuthenticationConfiguration' }, 'kind: Unsupported value'],
    ['with other fields', { ...header, authorizers: [rbac], jwt: [] }, 'unknown field "jwt"'],
    [
      'with a field twice',
      `{"apiVersion":"${header.apiVersion}","kind":"${header.kind}","authorizers":[],"authorizers":[{"type":"RBAC","name":"x"}]}`,
      'duplicate field "authorizers"',
    ],
    [
      'with a type twice',
      { ...header, authorizers: [rbac, { type: 'RBAC', name: 'b' }] },
      'authorizers[1].type: Duplicate value: "RBAC"',
    ],
    [
      'with a name twice',
      { ...header, authorizers: [rbac, { type: 'Node', name: 'rbac' }] },
      'authorizers[1].name: Duplicate value: "rbac"',
    ],
    ['of two documents', `${JSON.stringify({ ...header, authorizers: [rbac] })}\n---\n{}`, 'single document'],
  ] as const) {
    it(name, () => refused(read(document), problem));
  }

  it('is rejected with all its errors', async () => {
    const document = read({
      ...header,
      authorizers: [{ type: 'X' }, hook({ timeout: '1h', failurePolicy: '' }), rbac, rbac],
    });
    await assert.rejects(document, (error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.deepEqual(
        error.problems.map((problem) => problem.split(': ', 2).join(': ')),
        [
          'authorizers[0].type: Unsupported value',
          'authorizers[1].webhook.timeout: Invalid value',
          'authorizers[1].webhook.failurePolicy: Required value',
          'authorizers[3].type: Duplicate value',
        ],
      );
      return true;
    });
  });
});
