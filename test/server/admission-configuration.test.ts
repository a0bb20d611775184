import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Plugins as `--admission-control-config-file` configures them, in the file or in one beside it. */
const namespaces = '/api/v1/namespaces';
const pod = (name: string, more: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...more },
});

const critical = 'system-cluster-critical';

describe('a configured server', () => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-admission-'));
  let server: OrchProcess;
  before(async () => {
    const limit = { type: 'Namespace', qps: 1, burst: 2 };
    const plugins = [
      { name: 'EventRateLimit', path: 'events.yaml' },
      {
        name: 'PodNodeSelector',
        configuration: { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'a=b' } },
      },
      {
        name: 'PodTolerationRestriction',
        configuration: {
          ...{ apiVersion: 'podtolerationrestriction.admission.orch.io/v1alpha1', kind: 'Configuration' },
          default: [{ key: 'pool', operator: 'Exists' }],
          whitelist: [
            { key: 'pool', operator: 'Exists' },
            { operator: 'Exists', effect: 'NoExecute' },
          ],
        },
      },
      {
        name: 'ResourceQuota',
        configuration: {
          ...{ apiVersion: 'apiserver.config.orch.io/v1', kind: 'ResourceQuotaConfiguration' },
          limitedResources: [
            { resource: 'secrets', matchContains: ['count/'] },
            { resource: 'pods', matchScopes: [{ scopeName: 'PriorityClass', operator: 'In', values: [critical] }] },
          ],
        },
      },
      {
        name: 'PodSecurity',
        configuration: {
          ...{ apiVersion: 'pod-security.admission.config.orch.io/v1', kind: 'PodSecurityConfiguration' },
          ...{ defaults: { enforce: 'baseline' }, exemptions: { namespaces: ['exempt'] } },
        },
      },
    ];
    const configuration = { apiVersion: 'apiserver.config.orch.io/v1', kind: 'AdmissionConfiguration', plugins };
    writeFileSync(join(directory, 'admission.json'), JSON.stringify(configuration));
    writeFileSync(
      join(directory, 'events.yaml'),
      JSON.stringify({
        apiVersion: 'eventratelimit.admission.orch.io/v1alpha1',
        kind: 'Configuration',
        limits: [limit],
      }),
    );
    server = await OrchProcess.start({
      flags: [
        `--admission-control-config-file=${join(directory, 'admission.json')}`,
        '--enable-admission-plugins=EventRateLimit,PodNodeSelector,PodTolerationRestriction',
      ],
    });
    const { status } = await server.post(namespaces, { metadata: { name: 'exempt' } });
    assert.equal(status, 201);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  it('PodSecurity has other defaults, and exempt namespaces', async () => {
    const create = (namespace: string) =>
      server.post(`${namespaces}/${namespace}/pods?dryRun=All`, pod('p', { hostPID: true }));
    const [refused, exempt] = [await create('default'), await create('exempt')];
    assert.deepEqual([refused.status, exempt.status], [403, 201]);
    assert.match(refused.text, /violates PodSecurity \\"baseline:latest\\": host namespaces \(hostPID=true\)/);
  });

  it('PodNodeSelector has a default', async () => {
    const made = await server.post<{ readonly spec: { readonly nodeSelector: unknown } }>(
      `${namespaces}/default/pods?dryRun=All`,
      pod('p'),
    );
    assert.deepEqual(made.json.spec.nodeSelector, { a: 'b' });
  });

  it('PodTolerationRestriction has a default, and a list of what is allowed, for small and heavy pods', async () => {
    for (const note of ['', 'x'.repeat(limits.lightBytesMax)]) {
      const create = (more: object) => {
        const { metadata, spec } = pod('p', more);
        const object = { metadata: { ...metadata, annotations: { note } }, spec };
        return server.post<{ readonly spec: { readonly tolerations: readonly { readonly key: string }[] } }>(
          `${namespaces}/default/pods?dryRun=All`,
          object,
        );
      };
      const { status, json, text } = await create({});
      assert.equal(status, 201, text);
      const keys = json.spec.tolerations.map(({ key }) => key);
      assert.deepEqual(keys.sort(), ['node.orch.io/not-ready', 'node.orch.io/unreachable', 'pool']);
      const refused = await create({ tolerations: [{ key: 'other', operator: 'Exists' }] });
      assert.equal(refused.status, 500);
      assert.match(refused.text, /pod tolerations .* conflict with its cluster whitelist/);
    }
  });

  it('ResourceQuota lets what is limited be used only where a quota covers it', async () => {
    const secret = (name: string) => server.post(`${namespaces}/exempt/secrets`, { metadata: { name } });
    const refused = await secret('s');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /secrets \\"s\\" is forbidden: insufficient quota to consume: count\/secrets/);
    const hard = { 'count/secrets': '1' };
    await server.post(`${namespaces}/exempt/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
    await until(async () => (await secret('s')).status === 201);
    const pods = `${namespaces}/default/pods?dryRun=All`;
    const uncovered = await server.post(pods, pod('p', { priorityClassName: critical }));
    assert.equal(uncovered.status, 500);
    assert.match(
      uncovered.text,
      /"insufficient quota to match these scopes: \[\{PriorityClass In \[system-cluster-critical\]\}\]"/,
    );
    assert.equal((await server.post(pods, pod('p'))).status, 201);
  });

  it('EventRateLimit limits small and heavy events together, and says when to come back', async () => {
    const send = async (name: string, message: string) =>
      server.post(`${namespaces}/exempt/events`, {
        ...{ metadata: { name }, message },
        involvedObject: { kind: 'Namespace', name: 'exempt', namespace: 'exempt' },
      });
    const note = ',:'.repeat(limits.lightBytesMax);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => send(`e${at}`, at % 10 > 0 ? 'light' : note)),
    );
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length > 0, `${answers.map(({ status }) => status)}`);
    for (const { headers, text } of refused) {
      assert.match(text, /Too many requests: limit reached on type Namespace for key exempt/);
      assert.match(`${headers['retry-after']}`, /^[1-9]\d*$/);
    }
  });
});

describe('a server does not start', () => {
  const cases: readonly (readonly [
    title: string,
    content: string | undefined,
    flags: readonly string[],
    problem: RegExp,
  ])[] = [
    ['without the file', undefined, [], /--admission-control-config-file: .*admission\.json cannot be read/],
    [
      'with another kind',
      '{"apiVersion":"v1","kind":"Pod"}',
      [],
      /--admission-control-config-file: apiVersion: Unsupported/,
    ],
    [
      'with limits of events that are not said',
      '{"apiVersion":"apiserver.config.orch.io/v1","kind":"AdmissionConfiguration"}',
      ['--enable-admission-plugins=EventRateLimit'],
      /--enable-admission-plugins=EventRateLimit needs limits: see --admission-control-config-file/,
    ],
  ];
  for (const [title, content, flags, problem] of cases) {
    it(title, async () => {
      const directory = mkdtempSync(join(tmpdir(), 'orch-admission-'));
      try {
        const file = join(directory, 'admission.json');
        if (content !== undefined) writeFileSync(file, content);
        const started = OrchProcess.start({ flags: [`--admission-control-config-file=${file}`, ...flags] });
        await assert.rejects(started, problem);
      } finally {
        rmSync(directory, { recursive: true });
      }
    });
  }
});
