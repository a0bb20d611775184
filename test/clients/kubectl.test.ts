import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type KubectlResult, kubectl, kubectlMissing, RunningKubectl } from '../support/kubectl.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** One object of each sort of kind from `create` to `delete`, watches, namespaces, `explain` and `version`, in both dialects. */

interface Sample {
  readonly kind: string;
  /** What the client calls it on the command line. */
  readonly resource: string;
  readonly apiVersion: string;
  readonly name: string;
  readonly namespaced: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
  /** What `describe` must show of the object beside its name. */
  readonly described: RegExp;
}

const samples = (domain: string): readonly Sample[] => {
  const lease = `coordination.${domain}`;
  const core = { apiVersion: 'v1', namespaced: true };
  return [
    {
      ...core,
      kind: 'Namespace',
      resource: 'namespace',
      name: 'sample',
      namespaced: false,
      fields: {},
      described: /Active/,
    },
    {
      ...core,
      kind: 'ServiceAccount',
      resource: 'serviceaccount',
      name: 'account',
      fields: { automountServiceAccountToken: false },
      described: /Namespace: +sample/,
    },
    {
      ...core,
      kind: 'Secret',
      resource: 'secret',
      name: 'secret',
      fields: { stringData: { user: 'me' } },
      described: /user: +2 bytes/,
    },
    {
      ...core,
      kind: 'ConfigMap',
      resource: 'configmap',
      name: 'config',
      fields: { data: { file: 'first line\nsecond line\n' } },
      described: /second line/,
    },
    {
      ...core,
      kind: 'Pod',
      resource: 'pod',
      name: 'pod',
      fields: {
        spec: {
          containers: [{ name: 'main', image: 'example.com/image:1', resources: { limits: { memory: '64Mi' } } }],
        },
      },
      described: /memory: +64Mi/,
    },
    {
      ...core,
      kind: 'Node',
      resource: 'node',
      name: 'node',
      namespaced: false,
      fields: { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
      described: /Taints: +k:NoSchedule/,
    },
    {
      ...core,
      kind: 'Event',
      resource: 'event',
      name: 'event',
      fields: {
        involvedObject: { kind: 'Pod', name: 'pod', namespace: 'sample' },
        reason: 'Tested',
        message: 'it was',
        type: 'Normal',
      },
      described: /Reason: +Tested/,
    },
    {
      kind: 'Lease',
      resource: `lease.${lease}`,
      apiVersion: `${lease}/v1`,
      name: 'lease',
      namespaced: true,
      fields: { spec: { holderIdentity: 'me', leaseDurationSeconds: 15 } },
      described: /Holder Identity: +me|holderIdentity: +me/i,
    },
  ];
};

const succeeds = (result: KubectlResult, pattern: RegExp): void => {
  assert.equal(result.code, 0, result.err);
  assert.match(result.out, pattern);
};

for (const [dialect, domain] of [
  ['orch', 'orch.io'],
  ['kubernetes', 'k8s.io'],
] as const) {
  describe(`kubectl with --dialect=${dialect}`, { skip: kubectlMissing ?? false }, () => {
    let server: OrchProcess;
    before(async () => {
      server = await OrchProcess.start({ flags: [`--dialect=${dialect}`] });
    });
    after(() => server[Symbol.asyncDispose]());

    for (const { kind, resource, apiVersion, name, namespaced, fields, described } of samples(domain)) {
      test(`${kind}: create -f, get, get --watch, describe, delete`, async () => {
        const scope = namespaced ? ['-n', 'sample'] : [];
        if (namespaced) await server.post('/api/v1/namespaces', { metadata: { name: 'sample' } });
        const watch = new RunningKubectl(server, ['get', resource, ...scope, '--watch', '--output-watch-events']);
        try {
          const manifest = JSON.stringify({
            apiVersion,
            kind,
            metadata: { name, labels: { made: 'here' } },
            ...fields,
          });
          succeeds(await kubectl(server, ['create', ...scope, '-f', '-'], { input: manifest }), / created/);
          succeeds(
            await kubectl(server, ['get', resource, name, ...scope, '-o', 'yaml']),
            new RegExp(`^kind: ${kind}$`, 'm'),
          );
          const columns = kind === 'Event' ? /LAST SEEN +TYPE +REASON/ : new RegExp(`^${name} `, 'm');
          succeeds(await kubectl(server, ['get', resource, ...scope]), columns);
          succeeds(await kubectl(server, ['describe', resource, name, ...scope]), described);
          const shown = kind === 'Event' ? 'Tested' : name;
          await watch.until(new RegExp(`ADDED .*${shown}`));
          succeeds(await kubectl(server, ['delete', resource, name, ...scope]), / deleted/);
          await watch.until(new RegExp(`DELETED .*${shown}`));
          const gone = await kubectl(server, ['get', resource, name, ...scope]);
          assert.match(gone.err, /NotFound/);
        } finally {
          watch.stop();
        }
      });
    }

    test('a deleted namespace takes its objects with it, and nothing can be made in it meanwhile', async () => {
      await server.post('/api/v1/namespaces', { metadata: { name: 'going' } });
      const held = { metadata: { name: 'held', finalizers: ['example.com/hold'] } };
      await server.post('/api/v1/namespaces/going/configmaps', held);
      await server.post('/api/v1/namespaces/going/secrets', { metadata: { name: 'free' } });
      succeeds(await kubectl(server, ['delete', 'namespace', 'going', '--wait=false']), /deleted/);
      const late = await server.post<{ message: string }>('/api/v1/namespaces/going/configmaps', {
        metadata: { name: 'late' },
      });
      assert.equal(late.status, 403);
      assert.match(late.json.message, /because it is being terminated/);
      const waiting = kubectl(server, ['wait', '--for=delete', 'namespace/going', '--timeout=30s']);
      const released = { metadata: { name: 'held' } };
      await server.put('/api/v1/namespaces/going/configmaps/held', released);
      assert.equal((await waiting).code, 0);
      assert.equal((await server.get('/api/v1/namespaces/going')).status, 404);
      assert.equal((await server.get<{ items: unknown[] }>('/api/v1/namespaces/going/secrets')).json.items.length, 0);
    });

    test('the namespaces that the server needs cannot be deleted', async () => {
      const refused = await kubectl(server, ['delete', 'namespace', 'default']);
      assert.match(refused.err, /namespaces "default" is forbidden: this namespace may not be deleted/);
    });

    test('explain, api-resources, version', async () => {
      succeeds(await kubectl(server, ['explain', 'pod.spec.containers']), /image\t<string>/);
      succeeds(await kubectl(server, ['api-resources']), new RegExp(`leases +coordination.${domain}/v1 +true +Lease`));
      succeeds(await kubectl(server, ['version']), /Server Version: v1\.32\./);
    });
  });
}
