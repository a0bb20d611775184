import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { readEncryptionConfiguration } from './encryption-configuration.ts';
import { configuration, identity, keyed, secretOf } from './encryption-fixture.ts';

const read = (bytes: Uint8Array, reload = false) => readEncryptionConfiguration(bytes, { dialect: kubernetes, reload });

/** What is wrong with a configuration; undefined if nothing is. */
function problemsOf(bytes: Uint8Array, reload?: boolean): string | undefined {
  try {
    read(bytes, reload);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const cbc = keyed('aescbc', 'one');
const kms = (fields: object) => ({ kms: { apiVersion: 'v2', name: 'p', endpoint: 'unix:///p.sock', ...fields } });
const [path, provided] = ['resources[0].resources', 'resources[0].providers'];
const masked = (list: string): string =>
  `${path}: Invalid value: []string{${list}}: using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked`;

/** Texts of kube-apiserver 1.32, but for values that would show a key. */
const wrong: Readonly<Record<string, readonly [content: Uint8Array, problem: string]>> = {
  'no rules': [configuration(), 'resources: Required value: at least one resources is required'],
  'no resources': [configuration([[], cbc]), `${path}: Required value: at least one ${path} is required`],
  'no providers': [configuration([['secrets']]), `${provided}: Required value: at least one ${provided} is required`],
  'two providers in one': [
    configuration([['secrets'], { ...cbc, ...identity }]),
    `${provided}[0]: Invalid value: more than one provider specified in a single element, should split into different list elements`,
  ],
  'no provider in one': [
    configuration([['secrets'], {}]),
    `${provided}[0]: Invalid value: provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity`,
  ],
  'no keys': [
    configuration([['secrets'], { aescbc: { keys: [] } }]),
    `${provided}[0].aescbc.keys: Required value: at least one keys is required`,
  ],
  'a key without a name': [
    configuration([['secrets'], { aesgcm: { keys: [{ secret: secretOf(1) }] } }]),
    `${provided}[0].aesgcm.keys[0].name: Required value: name is a mandatory field for a key`,
  ],
  'a key without a secret': [
    configuration([['secrets'], { aesgcm: { keys: [{ name: 'a' }] } }]),
    `${provided}[0].aesgcm.keys[0].secret: Required value: secret is a mandatory field for a key`,
  ],
  'a secret that is no base64': [
    configuration([['secrets'], { aescbc: { keys: [{ name: 'a', secret: 'not base64 at all' }] } }]),
    `${provided}[0].aescbc.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded`,
  ],
  'a key for AES of another length': [
    configuration([['secrets'], { aescbc: { keys: [{ name: 'a', secret: secretOf(1, 20) }] } }]),
    `${provided}[0].aescbc.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 20, expected one of [16 24 32]`,
  ],
  'a key for secretbox of another length': [
    configuration([['secrets'], { secretbox: { keys: [{ name: 'a', secret: secretOf(1, 16) }] } }]),
    `${provided}[0].secretbox.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 16, expected one of [32]`,
  ],
  'capital letters': [
    configuration([['Secrets'], cbc]),
    `${path}[0]: Invalid value: "Secrets": resource name should not contain capital letters`,
  ],
  'a star': [
    configuration([['*'], cbc]),
    `${path}[0]: Invalid value: "*": use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources`,
  ],
  'a star for the resources of all groups': [
    configuration([['secrets.*'], cbc]),
    `${path}[0]: Invalid value: "secrets.*": encrypting the same resource across groups is not supported`,
  ],
  'what no path serves': [
    configuration([['serviceipallocations'], cbc]),
    `${path}[0]: Invalid value: "serviceipallocations": resources which do not have REST API/s cannot be encrypted`,
  ],
  'events of their other group': [
    configuration([['events.events.k8s.io'], cbc]),
    `${path}[0]: Invalid value: "events.events.k8s.io": '*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file`,
  ],
  'a removed group': [
    configuration([['*.extensions'], cbc]),
    `${path}[0]: Invalid value: "*.extensions": 'extensions' group has been removed and cannot be used for encryption`,
  ],
  'a resource twice': [
    configuration([['secrets', 'secrets'], cbc]),
    `${path}: Invalid value: []string{"secrets", "secrets"}: the same resource cannot be specified multiple times`,
  ],
  'a resource and its group': [configuration([['secrets', '*.'], cbc]), masked('"secrets", "*."')],
  'a group and all': [configuration([['*.apps', '*.*'], cbc]), masked('"*.apps", "*.*"')],
  'a resource behind its group': [
    configuration([['*.'], cbc], [['secrets'], cbc]),
    'resource "secrets" is masked by earlier rule "*."',
  ],
  'a group twice': [
    configuration([['*.apps'], cbc], [['*.apps'], cbc]),
    'resource "*.apps" is masked by earlier rule "*.apps"',
  ],
  'a group behind all': [
    configuration([['*.*'], cbc], [['*.apps'], cbc]),
    'resource "*.apps" is masked by earlier rule "*.*"',
  ],
  'a plugin without a name': [
    configuration([['secrets'], kms({ name: '' })]),
    `${provided}[0].kms.name: Required value: name is a mandatory field for a provider`,
  ],
  'a plugin with a colon in its name': [
    configuration([['secrets'], kms({ name: 'a:b' })]),
    `${provided}[0].kms.name: Invalid value: "a:b": invalid KMS provider name a:b, must not contain ':'`,
  ],
  'a plugin twice': [
    configuration([['secrets'], kms({})], [['configmaps'], kms({})]),
    'resources[1].providers[0].kms.name: Invalid value: "p": duplicate KMS provider name p, names must be unique',
  ],
  'a timeout of nothing': [
    configuration([['secrets'], kms({ timeout: '0s' })]),
    `${provided}[0].kms.timeout: Invalid value: 0s: timeout should be a positive value`,
  ],
  'a timeout that is none': [
    configuration([['secrets'], kms({ timeout: 'soon' })]),
    `${provided}[0].kms.timeout: Invalid value: "soon": must be a duration such as 3s`,
  ],
  'no endpoint': [
    configuration([['secrets'], kms({ endpoint: '' })]),
    `${provided}[0].kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms`,
  ],
  'an endpoint elsewhere': [
    configuration([['secrets'], kms({ endpoint: 'tcp://localhost:80' })]),
    `${provided}[0].kms.endpoint: Invalid value: "tcp://localhost:80": unsupported scheme "tcp" for KMS provider, only unix is supported`,
  ],
  'an endpoint that is no URL': [
    configuration([['secrets'], kms({ endpoint: 'unix:///a\n.sock' })]),
    `${provided}[0].kms.endpoint: Invalid value: "unix:///a\\n.sock": invalid endpoint for kms provider, error: parse "unix:///a\\n.sock": net/url: invalid control character in URL`,
  ],
  'an endpoint without a path': [
    configuration([['secrets'], kms({ endpoint: 'unix://' })]),
    `${provided}[0].kms.endpoint: Invalid value: "unix://": must name the path of a socket`,
  ],
  'the size of a cache': [
    configuration([['secrets'], kms({ cachesize: 5 })]),
    `${provided}[0].kms.cachesize: Invalid value: 5: cachesize is not supported in v2`,
  ],
  'a size of a cache of nothing': [
    configuration([['secrets'], kms({ apiVersion: 'v1', cachesize: 0 })]),
    `${provided}[0].kms.cachesize: Invalid value: 0: cachesize should be a positive value, or negative to disable`,
  ],
  'another version of plugins': [
    configuration([['secrets'], kms({ apiVersion: 'v3' })]),
    `${provided}[0].kms.apiVersion: Invalid value: "v3": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported`,
  ],
  'the former version of plugins': [
    configuration([['secrets'], kms({ apiVersion: 'v1' })]),
    'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead. This server has no KMSv1, whatever the feature gate KMSv1 says.',
  ],
  'another kind': [
    Buffer.from('{"apiVersion":"apiserver.config.k8s.io/v1","kind":"Secret"}'),
    'kind: Unsupported value: "Secret": supported values: "EncryptionConfiguration"',
  ],
  'another apiVersion': [
    Buffer.from('{"apiVersion":"v1","kind":"EncryptionConfiguration"}'),
    'apiVersion: Unsupported value: "v1": supported values: "apiserver.config.k8s.io/v1"',
  ],
  'an unknown field': [
    configuration([['secrets'], { aescbc: { keys: [{ name: 'a', secret: secretOf(1), size: 1 }] } }]),
    'unknown field "resources[0].providers[0].aescbc.keys[0].size"',
  ],
};

describe('an encryption configuration is refused with', () => {
  for (const [name, [content, problem]] of Object.entries(wrong)) {
    test(name, () => assert.equal(problemsOf(content), problem));
  }

  test('several problems at once, all of which are named', () => {
    const content = configuration([['Secrets'], cbc], [['*'], {}]);
    assert.equal(problemsOf(content)?.split('; ').length, 3);
  });

  test('what is no YAML, without its content', () => {
    const problem = problemsOf(Buffer.from(`kind: [\n  secret: ${secretOf(1)}`)) ?? '';
    assert.notEqual(problem, '');
    assert.equal(problem.includes(secretOf(1)), false);
  });
});

test('no refusal shows a secret', () => {
  const secret = secretOf(9, 20);
  for (const type of ['aescbc', 'aesgcm', 'secretbox']) {
    for (const shown of [secret, `${secret}!`]) {
      const provider = { [type]: { keys: [{ name: 'a', secret: shown }] } };
      for (const content of [
        configuration([['secrets'], provider]),
        configuration([['*'], { ...provider, identity }]),
      ]) {
        assert.equal(problemsOf(content)?.includes(secret), false);
      }
    }
  }
});

describe('an encryption configuration', () => {
  test('is read in YAML, with what is not said', () => {
    const content = Buffer.from(`
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
  - resources: [secrets, '*.apps']
    providers:
      - kms: {apiVersion: v2, name: p, endpoint: unix:///var/run/p.sock}
      - secretbox: {keys: [{name: a, secret: ${secretOf(1)}}]}
      - identity: {}
`);
    assert.deepEqual(read(content), [
      {
        resources: [
          { resource: 'secrets', group: '' },
          { resource: '*', group: 'apps' },
        ],
        providers: [
          { type: 'kms', name: 'p', socket: '/var/run/p.sock', timeoutMs: 3000 },
          { type: 'secretbox', keys: [{ name: 'a', secret: Buffer.alloc(32, 1) }] },
          { type: 'identity' },
        ],
      },
    ]);
  });

  test('is read under the name that it had before, in that version only', () => {
    const text = String(configuration([['secrets'], identity]));
    const renamed = (apiVersion: string, kind: string) =>
      Buffer.from(JSON.stringify({ ...JSON.parse(text), apiVersion, kind }));
    assert.deepEqual(read(renamed('v1', 'EncryptionConfig')), read(Buffer.from(text)));
    assert.match(
      problemsOf(renamed('apiserver.config.k8s.io/v1', 'EncryptionConfig')) ?? '',
      /^kind: Unsupported value: "EncryptionConfig"/,
    );
    assert.match(problemsOf(renamed('v1', 'EncryptionConfiguration')) ?? '', /^apiVersion: Unsupported value: "v1"/);
  });

  test('is one document of a file that is not empty', () => {
    assert.equal(problemsOf(Buffer.alloc(0)), 'the file is empty');
    const twice = `${configuration([['secrets'], identity])}\n---\nkind: Other\n`;
    assert.match(problemsOf(Buffer.from(twice)) ?? '', /expected a single document/);
  });

  test('may name sockets of the system without a file, and keys with line breaks', () => {
    const [rule] = read(
      configuration([['secrets'], kms({ endpoint: 'unix:///@p', timeout: '1m' }), keyed('aesgcm', 'one', 'two')]),
    );
    assert.deepEqual(rule?.providers[0], { type: 'kms', name: 'p', socket: '@p', timeoutMs: 60_000 });
    const broken = { aescbc: { keys: [{ name: 'a', secret: `${secretOf(1).slice(0, 8)}\n${secretOf(1).slice(8)}` }] } };
    assert.equal(problemsOf(configuration([['secrets'], broken])), undefined);
  });

  test('has the names of the dialect', () => {
    const content = Buffer.from(
      `{"apiVersion":"apiserver.config.orch.io/v1","kind":"EncryptionConfiguration","resources":[{"resources":["leases.coordination.orch.io"],"providers":[{"identity":{}}]}]}`,
    );
    const [rule] = readEncryptionConfiguration(content, { dialect: orch, reload: false });
    assert.deepEqual(rule?.resources, [{ resource: 'leases', group: 'coordination.orch.io' }]);
    assert.match(problemsOf(content) ?? '', /^apiVersion: Unsupported value/);
  });
});
