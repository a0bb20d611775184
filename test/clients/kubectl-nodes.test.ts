import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { once, until } from '../../src/base/waits-fixture.ts';
import { KubectlClient, kubectlMissing } from '../support/kubectl.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { NodeAgent } from '../support/node-agent/node-agent.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Agents on the loopback interface are never called. */
const address = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
const missing = kubectlMissing ?? (address === undefined ? 'this machine has no address but loopback' : false);

const pod = (name: string, nodeName?: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'a' }], ...(nodeName && { nodeName }) },
});

describe('clients of pods that run on a node', { skip: missing }, () => {
  let agent: NodeAgent;
  let server: OrchProcess;
  const directory = mkdtempSync(join(tmpdir(), 'orch-nodes-'));

  before(async () => {
    agent = await NodeAgent.start(address ?? '');
    agent.tls.issue('server');
    const authorities = join(directory, 'agents.crt');
    writeFileSync(authorities, agent.tls.authorities);
    const file = (name: string): string => join(agent.tls.directory, name);
    server = await OrchProcess.start({
      flags: [
        '--dialect=kubernetes',
        `--kubelet-certificate-authority=${authorities}`,
        `--kubelet-client-certificate=${file('server.crt')}`,
        `--kubelet-client-key=${file('server.key')}`,
      ],
    });
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1' },
      status: {
        addresses: [{ type: 'InternalIP', address }],
        daemonEndpoints: { kubeletEndpoint: { Port: agent.port } },
      },
    };
    for (const [path, object] of [
      ['/api/v1/nodes', node],
      ['/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } }],
      ['/api/v1/namespaces/default/pods', pod('web', 'n1')],
      ['/api/v1/namespaces/default/pods', pod('waiting')],
    ] as const) {
      const { status, text } = await server.request('POST', path, { body: object });
      assert.ok(status === 201 || status === 409, text);
    }
    const { status, text } = await server.request('PATCH', '/api/v1/namespaces/default/pods/web/status', {
      body: { status: { phase: 'Running' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    assert.equal(status, 200, text);
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await agent?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  for (const release of kubectlReleases) {
    for (const speaksChannels of [false, true]) {
      describe(`kubectl ${release.release}, ${speaksChannels ? 'agent with WebSockets' : 'agent with SPDY alone'}`, () => {
        let client: KubectlClient;
        before(() => {
          agent.speaksChannels = speaksChannels;
          client = new KubectlClient(release, server);
        });

        it('logs', async () => {
          assert.equal(await client.prints(['logs', 'web']), 'log of /containerLogs/default/web/main\n');
        });
        it('exec', async () => {
          assert.equal(await client.prints(['exec', 'web', '--', 'echo', 'a b', 'c']), 'a b c\n');
        });
        it('exec with input', async () => {
          const input = 'x'.repeat(300_000);
          assert.equal(await client.prints(['exec', '-i', 'web', '--', 'cat'], { input }), input);
        });
        it('exec of a program that fails', async () => {
          const { code, err } = await client.run(['exec', 'web', '--', 'sh', '-c', 'echo oops >&2; exit 7']);
          assert.deepEqual([code, err.split('\n')[0]], [7, 'oops']);
        });
        it('attach', async () => {
          assert.match(await client.prints(['attach', '-i', 'web'], { input: 'hello\n' }), /hello/);
        });
        it('cp, both ways', async () => {
          const [from, to] = [join(directory, 'from'), join(directory, `to-${release.release}-${speaksChannels}`)];
          const content = 'data'.repeat(100_000);
          writeFileSync(from, content);
          await client.prints(['cp', from, `web:${to}`]);
          assert.equal(readFileSync(to, 'utf8'), content);
          await client.prints(['cp', `web:${to}`, `${to}-back`]);
          assert.equal(readFileSync(`${to}-back`, 'utf8'), content);
        });
        it('port-forward', async () => {
          const forward = spawn(release.program, ['--kubeconfig', server.kubeconfig, 'port-forward', 'web', ':8080'], {
            stdio: ['ignore', 'pipe', 'pipe'],
            env: { ...process.env, HOME: server.dataDir },
          });
          let out = '';
          forward.stdout.on('data', (chunk) => {
            out += chunk;
          });
          forward.stderr.on('data', (chunk) => {
            out += chunk;
          });
          try {
            await until(() => /127\.0\.0\.1:(\d+)/.test(out));
            const socket = connect(Number(/127\.0\.0\.1:(\d+)/.exec(out)?.[1]), '127.0.0.1');
            socket.write('knock');
            const [answer] = (await once(socket, 'data')) as [Buffer];
            assert.equal(answer.toString(), '8080: KNOCK');
            socket.destroy();
          } finally {
            forward.kill();
            await once(forward, 'exit');
          }
        });
        it('of a pod without a node', async () => {
          assert.equal(await client.prints(['logs', 'waiting']), '');
        });
      });
    }
  }
});
