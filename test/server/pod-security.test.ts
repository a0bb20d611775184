import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Pod Security admission as clients, the audit log and metrics see it; the rules stand in tables beside the plugin. */

const namespaces = '/api/v1/namespaces';
const finding = 'host namespaces (hostNetwork=true)';

for (const dialect of ['orch', 'kubernetes'] as const) {
  const prefix = `pod-security.${dialect === 'orch' ? 'orch.io' : 'kubernetes.io'}/`;
  const labels = (written: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(written).map(([name, value]) => [`${prefix}${name}`, value]));
  const pod = (name: string, { spec = {}, metadata = {} } = {}) => ({
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  const onHost = { spec: { hostNetwork: true } };

  describe(`dialect ${dialect}`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'orch-pod-security-'));
    const auditLog = join(directory, 'audit.log');
    let server: OrchProcess;
    before(async () => {
      const file = join(directory, 'audit.yaml');
      const rules = [{ level: 'Metadata', resources: [{ group: '', resources: ['pods'] }] }, { level: 'None' }];
      const group = dialect === 'orch' ? 'audit.orch.io' : 'audit.k8s.io';
      writeFileSync(file, JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Policy', rules }));
      server = await OrchProcess.start({
        flags: [`--dialect=${dialect}`, `--audit-policy-file=${file}`, `--audit-log-path=${auditLog}`],
      });
    });
    after(async () => {
      await server[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    });

    const warningsOf = (headers: Readonly<Record<string, string | readonly string[] | undefined>>): string =>
      [headers['warning'] ?? []].flat().join('\n');
    const namespace = async (name: string, written: Readonly<Record<string, string>>): Promise<void> => {
      const { status, text } = await server.post(namespaces, { metadata: { name, labels: labels(written) } });
      assert.equal(status, 201, text);
    };
    const create = (in_: string, object: object) =>
      server.post<{ message?: string }>(`${namespaces}/${in_}/pods`, object);
    const relabel = async (name: string, written: Readonly<Record<string, string>>, target = '') => {
      const { status, headers, text } = await server.request('PATCH', `${namespaces}/${name}${target}`, {
        body: { metadata: { labels: labels(written) } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
      return { status, text, warnings: warningsOf(headers) };
    };

    it('series that published servers make in advance are there before any pod was judged', async () => {
      const { text } = await server.get('/metrics');
      const seen = text.split('\n').filter((line) => /^pod_security_/.test(line));
      const pod = ['create', 'update'].map((operation) => ({ request_operation: operation, resource: 'pod' }));
      const controllers = pod.map((each) => ({ ...each, resource: 'controller' }));
      const allowed = { decision: 'allow', policy_level: 'privileged', policy_version: 'latest', mode: 'enforce' };
      const series = (name: string, labels: object): string =>
        sortedLabels(
          `pod_security_${name}_total{${Object.entries({ ...labels, subresource: '' })
            .map(([label, value]) => `${label}="${value}"`)
            .join()}} 0`,
        );
      assert.deepEqual(
        seen.map(sortedLabels).sort(),
        [
          ...pod.map((each) => series('evaluations', { ...allowed, ...each })),
          ...[...pod, ...controllers].map((each) => series('exemptions', each)),
        ].sort(),
      );
    });

    it('pods are refused, and the audit log and metrics tell', async () => {
      await namespace('enforcing', { enforce: 'baseline', 'enforce-version': 'v1.31' });
      assert.equal((await create('enforcing', pod('good'))).status, 201);
      const { status, json } = await create('enforcing', pod('bad', onHost));
      const violation = `violates PodSecurity "baseline:v1.31": ${finding}`;
      assert.deepEqual([status, json.message], [403, `pods "bad" is forbidden: ${violation}`]);
      const enforced = `"${prefix}enforce-policy":"baseline:v1.31"`;
      await until(
        () => readFileSync(auditLog, 'utf8').split(enforced).length === 3,
        'both writes are in the audit log',
      );
      const { text } = await server.get('/metrics');
      const rest = 'mode="enforce",request_operation="create",resource="pod",subresource=""';
      for (const decision of ['allow', 'deny']) {
        const series = `pod_security_evaluations_total{decision="${decision}",policy_level="baseline",policy_version="v1.31",${rest}} 1`;
        assert.ok(sortedLabels(text).includes(sortedLabels(series)), series);
      }
    });

    it('a name to be generated is told', async () => {
      await namespace('generating', { enforce: 'baseline' });
      const { json } = await create('generating', { ...pod('', onHost), metadata: { generateName: 'gen-' } });
      assert.match(json.message ?? '', /^pods "gen-[a-z0-9]{5}" is forbidden: violates PodSecurity/);
    });

    it('warnings and audit annotations let pods pass', async () => {
      await namespace('warning', { warn: 'baseline', audit: 'baseline' });
      const { status, headers } = await create('warning', pod('bad', onHost));
      assert.equal(status, 201);
      assert.match(
        warningsOf(headers),
        /would violate PodSecurity \\"baseline:latest\\": host namespaces \(hostNetwork=true\)/,
      );
      const annotation = `"${prefix}audit-violations":"would violate PodSecurity \\"baseline:latest\\": ${finding}"`;
      await until(() => readFileSync(auditLog, 'utf8').includes(annotation), 'the violation is in the audit log');
    });

    it('a heavy pod is judged alike', async () => {
      await namespace('heavy', { enforce: 'baseline', warn: 'restricted' });
      const metadata = { annotations: { note: 'x'.repeat(limits.lightBytesMax) } };
      const env = Array.from({ length: 2_000 }, (_, at) => ({ name: `V${at}`, value: 'v' }));
      const spec = { containers: [{ name: 'c', image: 'i', env }] };
      const { status, json } = await create('heavy', pod('bad', { metadata, spec: { ...spec, ...onHost.spec } }));
      const violation = `violates PodSecurity "baseline:latest": ${finding}`;
      assert.deepEqual([status, json.message], [403, `pods "bad" is forbidden: ${violation}`]);
      const passed = await create('heavy', pod('good', { metadata, spec }));
      assert.equal(passed.status, 201);
      assert.match(warningsOf(passed.headers), /would violate PodSecurity \\"restricted:latest\\"/);
    });

    it('only updates of images are judged, and ephemeral containers', async () => {
      await namespace('updated', {});
      assert.equal((await create('updated', pod('p', onHost))).status, 201);
      assert.equal((await relabel('updated', { enforce: 'baseline' })).status, 200);
      assert.equal((await relabel('updated', { x: 'y' }, '/pods/p')).status, 200);
      const patch = (target: string, spec: object) =>
        server.request<{ message?: string }>('PATCH', `${namespaces}/updated/pods/${target}`, {
          body: { spec },
          headers: { 'content-type': 'application/strategic-merge-patch+json' },
        });
      const image = await patch('p', { containers: [{ name: 'c', image: 'j' }] });
      const debugged = await patch('p/ephemeralcontainers', { ephemeralContainers: [{ name: 'e', image: 'i' }] });
      for (const { status, json } of [image, debugged]) {
        const message = `pods "p" is forbidden: violates PodSecurity "baseline:latest": ${finding}`;
        assert.deepEqual([status, json.message], [403, message]);
      }
    });

    it('who makes a level stricter is warned of existing pods', async () => {
      await namespace('filled', {});
      for (const name of ['b', 'a']) assert.equal((await create('filled', pod(name, onHost))).status, 201);
      assert.equal((await create('filled', pod('good'))).status, 201);
      const { status, warnings } = await relabel('filled', { enforce: 'baseline' });
      assert.equal(status, 200);
      assert.match(
        warnings,
        /existing pods in namespace \\"filled\\" violate the new PodSecurity enforce level \\"baseline:latest\\"/,
      );
      assert.match(warnings, /a \(and 1 other pod\): host namespaces/);
      assert.equal((await relabel('filled', { enforce: 'privileged' })).warnings, '');
    });

    it('labels that cannot be read are refused', async () => {
      const { status, text } = await relabel('default', { enforce: 'high' });
      assert.equal(status, 422);
      assert.match(text, /must be one of privileged, baseline, restricted/);
    });
  });
}

/** Labels of each series in order of their names. */
const sortedLabels = (text: string): string =>
  text.replaceAll(/\{([^}]*)\}/g, (_, all: string) => `{${all.split(',').sort().join(',')}}`);
