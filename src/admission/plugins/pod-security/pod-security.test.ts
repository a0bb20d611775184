import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dialects } from '../../../dialect/dialects.ts';
import { kubernetes } from '../../../dialect/kubernetes.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { StatusError } from '../../../meta/status-error.ts';
import { attributesOf } from '../../attributes-fixture.ts';
import type { ExistingPodsQuestion } from './existing-pods.ts';
import { podSecurity } from './pod-security.ts';
import { defaultPodSecurity, type PodSecurityConfiguration } from './pod-security-configuration.ts';
import type { PodSecurityOutcome } from './pod-security-metrics.ts';

const key = (name: string): string => `pod-security.kubernetes.io/${name}`;
const labels = (written: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(written).map(([name, value]) => [key(name), value]));

interface Case {
  /** Short names of the labels of the namespace; none: it does not exist. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly write?: Parameters<typeof attributesOf>[0];
  readonly username?: string;
  readonly configuration?: Partial<PodSecurityConfiguration>;
}

interface Verdict {
  readonly refused?: string;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly outcomes: readonly string[];
  readonly asked: readonly ExistingPodsQuestion[];
}

async function judge({ write, username = 'jane', configuration, ...namespace }: Case): Promise<Verdict> {
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const outcomes: PodSecurityOutcome[] = [];
  const asked: ExistingPodsQuestion[] = [];
  const plugin = podSecurity({
    dialect: kubernetes,
    configuration: { ...defaultPodSecurity, ...configuration },
    namespace: (name) =>
      namespace.labels &&
      ({ kind: 'Namespace', metadata: { name, labels: labels(namespace.labels) } } as unknown as ApiObject),
    existingPodWarnings: (question) => {
      asked.push(question);
      return ['there are pods'];
    },
    observed: (outcome) => outcomes.push(outcome),
  });
  const base = attributesOf({ resource: 'pods', namespace: 'n', name: 'p', ...write });
  const attributes = {
    ...base,
    user: { ...base.user, username },
    warn: (text: string) => void warnings.push(text),
    annotate(name: string, value: string): undefined {
      annotations[name.replace(key(''), '')] = value;
    },
  };
  let refused: string | undefined;
  try {
    if (plugin.concerns(attributes)) await plugin.validate?.(attributes);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    refused = `${error.reason}: ${error.message}`;
  }
  const texts = outcomes.map((outcome) =>
    outcome.type === 'evaluation' ? `${outcome.mode} ${outcome.decision} ${outcome.level.level}` : outcome.type,
  );
  return { ...(refused !== undefined && { refused }), warnings, annotations, outcomes: texts, asked };
}

const container = { name: 'a', image: 'i' };
const plain = { spec: { containers: [container] } };
const host = { spec: { hostNetwork: true, containers: [container] } };
const hostFinding = 'host namespaces (hostNetwork=true)';
const quiet = { warnings: [], annotations: {}, outcomes: [], asked: [] };

describe('writes of pods', () => {
  const cases: Readonly<Record<string, Case & { readonly verdict: Partial<Verdict> }>> = {
    'without labels nothing is demanded': {
      labels: {},
      write: { object: host },
      verdict: { annotations: { 'enforce-policy': 'privileged:latest' }, outcomes: ['enforce allow privileged'] },
    },
    'a complying pod passes': {
      labels: { enforce: 'baseline' },
      write: { object: plain },
      verdict: { annotations: { 'enforce-policy': 'baseline:latest' }, outcomes: ['enforce allow baseline'] },
    },
    'the enforced level refuses, and is not warned of': {
      labels: { enforce: 'baseline', 'enforce-version': 'v1.20' },
      write: { object: host },
      verdict: {
        refused: `Forbidden: pods "p" is forbidden: violates PodSecurity "baseline:v1.20": ${hostFinding}`,
        annotations: { 'enforce-policy': 'baseline:v1.20' },
        outcomes: ['enforce deny baseline'],
      },
    },
    'warn and audit let it pass': {
      labels: { warn: 'baseline', audit: 'baseline', 'audit-version': 'v1.19' },
      write: { object: host },
      verdict: {
        warnings: [`would violate PodSecurity "baseline:latest": ${hostFinding}`],
        annotations: {
          'enforce-policy': 'privileged:latest',
          'audit-violations': `would violate PodSecurity "baseline:v1.19": ${hostFinding}`,
        },
        outcomes: ['enforce allow privileged', 'audit deny baseline', 'warn deny baseline'],
      },
    },
    'labels that cannot be read enforce the strictest level': {
      labels: { enforce: 'high', warn: 'x' },
      write: { object: host },
      verdict: {
        refused:
          `Forbidden: pods "p" is forbidden: violates PodSecurity "restricted:latest": ${hostFinding}, ` +
          'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), ' +
          'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]), ' +
          'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), ' +
          'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
        annotations: {
          'enforce-policy': 'restricted:latest',
          error:
            'Failed to parse policy: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "high": must be one of privileged, baseline, restricted, ' +
            'metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "x": must be one of privileged, baseline, restricted]',
        },
        outcomes: ['error', 'enforce deny restricted'],
      },
    },
    'a missing namespace is an error': {
      labels: undefined,
      write: { object: plain },
      verdict: {
        refused: 'InternalError: Internal error occurred: failed to lookup namespace "n"',
        annotations: { error: 'Internal error occurred: failed to lookup namespace "n": namespaces "n" not found' },
        outcomes: ['error'],
      },
    },
    'users may be exempt': {
      labels: { enforce: 'baseline' },
      username: 'bob',
      configuration: { exemptions: { ...defaultPodSecurity.exemptions, usernames: ['bob'] } },
      write: { object: host },
      verdict: { annotations: { exempt: 'user' }, outcomes: ['exemption'] },
    },
    'namespaces may be exempt': {
      labels: { enforce: 'baseline' },
      configuration: { exemptions: { ...defaultPodSecurity.exemptions, namespaces: ['n'] } },
      write: { object: host },
      verdict: { annotations: { exempt: 'namespace' }, outcomes: ['exemption'] },
    },
    'runtime classes may be exempt': {
      labels: { enforce: 'baseline' },
      configuration: { exemptions: { ...defaultPodSecurity.exemptions, runtimeClasses: ['vm'] } },
      write: { object: { spec: { ...host.spec, runtimeClassName: 'vm' } } },
      verdict: { annotations: { exempt: 'runtimeClass' }, outcomes: ['exemption'] },
    },
    'the defaults of the configuration count where labels say nothing': {
      labels: {},
      configuration: { defaults: { ...defaultPodSecurity.defaults, enforce: { level: 'baseline', version: 'v1.1' } } },
      write: { object: host },
      verdict: {
        refused: `Forbidden: pods "p" is forbidden: violates PodSecurity "baseline:v1.1": ${hostFinding}`,
        annotations: { 'enforce-policy': 'baseline:v1.1' },
        outcomes: ['enforce deny baseline'],
      },
    },
    'an update of other fields is not looked at': {
      labels: { enforce: 'baseline' },
      write: { operation: 'update', object: { ...host, metadata: { name: 'p', labels: { a: 'b' } } }, old: host },
      verdict: {},
    },
    'an update of an image is': {
      labels: { enforce: 'baseline' },
      write: {
        operation: 'update',
        object: host,
        old: { spec: { ...host.spec, containers: [{ name: 'a', image: 'j' }] } },
      },
      verdict: {
        refused: `Forbidden: pods "p" is forbidden: violates PodSecurity "baseline:latest": ${hostFinding}`,
        annotations: { 'enforce-policy': 'baseline:latest' },
        outcomes: ['enforce deny baseline'],
      },
    },
    'so is an ephemeral container': {
      labels: { enforce: 'baseline' },
      write: {
        ...{ operation: 'update', resource: 'pods/ephemeralcontainers', old: plain },
        object: {
          spec: { ...plain.spec, ephemeralContainers: [{ name: 'e', securityContext: { privileged: true } }] },
        },
      },
      verdict: {
        refused:
          'Forbidden: pods "p" is forbidden: violates PodSecurity "baseline:latest": privileged (container "e" must not set securityContext.privileged=true)',
        annotations: { 'enforce-policy': 'baseline:latest' },
        outcomes: ['enforce deny baseline'],
      },
    },
  };
  for (const [title, { verdict, ...written }] of Object.entries(cases)) {
    it(title, async () => assert.deepEqual(await judge(written), { ...quiet, ...verdict }));
  }

  for (const subresource of ['status', 'binding', 'eviction', 'exec', 'attach', 'log', 'portforward', 'proxy']) {
    it(`${subresource} is not looked at`, async () => {
      const write = { resource: `pods/${subresource}`, object: host };
      assert.deepEqual(await judge({ labels: { enforce: 'baseline' }, write }), quiet);
    });
  }
});

describe('workloads', () => {
  const template = { metadata: {}, spec: host.spec };
  const within = { spec: { template } };
  const cases = {
    podtemplates: { template },
    replicationcontrollers: within,
    'daemonsets.apps': within,
    'deployments.apps': within,
    'replicasets.apps': within,
    'statefulsets.apps': within,
    'jobs.batch': within,
    'cronjobs.batch': { spec: { jobTemplate: within } },
  };
  for (const [name, object] of Object.entries(cases)) {
    const [resource = '', group = ''] = name.split('.');
    it(`${name}: warnings and audit, no refusal`, async () => {
      const write = { resource, group, object };
      const violation = `would violate PodSecurity "baseline:latest": ${hostFinding}`;
      const policy = { enforce: 'baseline', audit: 'baseline' };
      assert.deepEqual(await judge({ labels: policy, write }), {
        ...quiet,
        warnings: [violation],
        annotations: { 'audit-violations': violation },
        outcomes: ['audit deny baseline', 'warn deny baseline'],
      });
    });
    it(`${name}: nothing without a template`, async () => {
      const write = { resource, group, object: {} };
      assert.deepEqual(await judge({ labels: { enforce: 'baseline' }, write }), quiet);
    });
  }
  it('their subresources are not looked at', async () => {
    const write = { resource: 'deployments/status', group: 'apps', object: within };
    assert.deepEqual(await judge({ labels: { enforce: 'baseline' }, write }), quiet);
  });
});

describe('writes of namespaces', () => {
  const invalid = (label: string, value: string, why: string) =>
    `Invalid: Any "n" is invalid: metadata.labels[${key(label)}]: Invalid value: "${value}": ${why}`;
  const levelWords = 'must be one of privileged, baseline, restricted';
  const versionWords = 'must be "latest" or "v1.x"';
  const exempt = { exemptions: { ...defaultPodSecurity.exemptions, namespaces: ['n'] } };
  const question = (level: 'baseline' | 'restricted', version = 'latest') => ({
    ...{ namespace: 'n', enforce: { level, version }, exemptRuntimeClasses: [], domain: 'kubernetes.io' },
  });
  const warned = (level: 'baseline' | 'restricted', version?: string) => ({
    asked: [question(level, version)],
    warnings: ['there are pods'],
  });
  const cases: readonly {
    readonly title: string;
    readonly now: Readonly<Record<string, string>>;
    readonly before?: Readonly<Record<string, string>>;
    readonly configuration?: Partial<PodSecurityConfiguration>;
    readonly verdict: Partial<Verdict>;
  }[] = [
    { title: 'no labels', now: {}, verdict: {} },
    { title: 'a new namespace has no pods', now: { enforce: 'restricted' }, verdict: {} },
    ...['enforce', 'audit', 'warn'].flatMap((mode) => [
      { title: `a level of ${mode}`, now: { [mode]: 'x' }, verdict: { refused: invalid(mode, 'x', levelWords) } },
      ...['v2.0', '1.2', 'v1.01', 'v1.', 'v1.9223372036854775808', ''].map((version) => ({
        title: `a version of ${mode}: ${version}`,
        now: { [`${mode}-version`]: version },
        verdict: { refused: invalid(`${mode}-version`, version, versionWords) },
      })),
      { title: `a version to come of ${mode}`, now: { [`${mode}-version`]: 'v1.9223372036854775807' }, verdict: {} },
    ]),
    { title: 'invalid labels may stay', now: { enforce: 'x' }, before: { enforce: 'x' }, verdict: {} },
    {
      title: 'others may not come',
      now: { enforce: 'y' },
      before: { enforce: 'x' },
      verdict: { refused: invalid('enforce', 'y', levelWords) },
    },
    { title: 'a stricter level', now: { enforce: 'baseline' }, before: {}, verdict: warned('baseline') },
    { title: 'the same level', now: { enforce: 'baseline' }, before: { enforce: 'baseline' }, verdict: {} },
    { title: 'a looser level', now: { enforce: 'baseline' }, before: { enforce: 'restricted' }, verdict: {} },
    { title: 'no level any more', now: {}, before: { enforce: 'restricted' }, verdict: {} },
    {
      title: 'a looser level of another version',
      now: { enforce: 'baseline', 'enforce-version': 'v1.3' },
      before: { enforce: 'restricted' },
      verdict: warned('baseline', 'v1.3'),
    },
    { title: 'other modes', now: { warn: 'restricted' }, before: {}, verdict: {} },
    {
      title: 'an exempt namespace',
      now: { enforce: 'baseline', warn: 'privileged', audit: 'restricted', 'audit-version': 'v1.2' },
      configuration: exempt,
      verdict: {
        warnings: [
          'namespace "n" is exempt from Pod Security, and the policy (enforce=baseline:latest, audit=restricted:v1.2) will be ignored',
        ],
      },
    },
    { title: 'an exempt namespace without labels', now: {}, configuration: exempt, verdict: {} },
  ];
  for (const { title, now, before, configuration, verdict } of cases) {
    it(title, async () => {
      const object = { metadata: { name: 'n', labels: labels(now) } };
      const old = before && { old: { metadata: { name: 'n', labels: labels(before) } } };
      const operation = before ? ('update' as const) : ('create' as const);
      const write = { operation, resource: 'namespaces', namespace: '', name: 'n', object, ...old };
      assert.deepEqual(await judge({ write, ...(configuration && { configuration }) }), { ...quiet, ...verdict });
    });
  }
});

describe('who enforces a level', () => {
  const cases = [
    [{ enforce: 'baseline' }, 'baseline:latest'],
    [{ enforce: 'baseline', 'enforce-version': 'v1.5' }, 'baseline:v1.5'],
    [{ enforce: 'baseline', 'enforce-version': 'v1.5', 'warn-version': 'v1.7' }, 'baseline:v1.7'],
    [{ enforce: 'baseline', warn: 'privileged' }, undefined],
  ] as const;
  for (const [written, level] of cases) {
    it(`${JSON.stringify(written)}: workloads are warned of ${level}`, async () => {
      const write = { resource: 'replicationcontrollers', object: { spec: { template: host } } };
      const { warnings } = await judge({ labels: written, write });
      const wanted = level === undefined ? [] : [`would violate PodSecurity "${level}": ${hostFinding}`];
      assert.deepEqual(warnings, wanted);
    });
  }
});

for (const dialect of Object.values(dialects)) {
  it(`labels are of the domain of dialect ${dialect.name}`, async () => {
    const seen: string[] = [];
    const plugin = podSecurity({
      dialect,
      configuration: defaultPodSecurity,
      namespace: (name) =>
        ({
          metadata: { name, labels: { [`pod-security.${dialect.domain}/enforce`]: 'baseline' } },
        }) as unknown as ApiObject,
      existingPodWarnings: () => [],
      observed() {},
    });
    const attributes = {
      ...attributesOf({ resource: 'pods', namespace: 'n', name: 'p', object: plain }),
      annotate: (name: string) => void seen.push(name) as undefined,
    };
    await plugin.validate?.(attributes);
    assert.deepEqual(seen, [`pod-security.${dialect.domain}/enforce-policy`]);
  });
}
