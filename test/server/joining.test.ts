import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { OpensslFolder, withoutOpenssl } from '../../src/pki/openssl-fixture.ts';
import { type Shown, send } from '../support/identity.ts';
import { JoiningMachine, joinNames } from '../support/joining-machine.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * A machine becomes a node with nothing but a bootstrap token and the address of the server (spec sections 2.7, 3.3 and
 * 5.4), and is a node after the token has ended. One test after the other, in both dialects.
 */

const secretPart = '0123456789abcdef';
const merge = { 'content-type': 'application/merge-patch+json' };
const inTime = (ms: number): string => new Date(Date.now() + ms).toISOString();

for (const dialect of ['orch', 'kubernetes'] as const) {
  describe(`a machine joins, dialect ${dialect}`, { skip: withoutOpenssl }, () => {
    const names = joinNames[dialect];
    const held = new AsyncDisposableStack();
    let server: OrchProcess;
    let machine: JoiningMachine;
    let openssl: OpensslFolder;
    let node: Shown;
    before(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'orch-join-'));
      held.defer(() => rmSync(folder, { recursive: true, force: true }));
      openssl = new OpensslFolder(folder);
      const flags = [`--dialect=${dialect}`, '--enable-bootstrap-token-auth', '--v=10'];
      server = held.use(await OrchProcess.start({ flags }));
      machine = new JoiningMachine(server.port, `nodes1.${secretPart}`, names);
    });
    after(() => held.disposeAsync());

    const secrets = `/api/v1/namespaces/${names.systemNamespace}/secrets`;
    async function makeToken(id: string, data: Readonly<Record<string, string>> = {}): Promise<void> {
      const { status, text } = await server.post(secrets, {
        metadata: { name: `bootstrap-token-${id}` },
        type: names.tokenType,
        stringData: {
          'token-id': id,
          'token-secret': secretPart,
          'usage-bootstrap-authentication': 'true',
          'usage-bootstrap-signing': 'true',
          'auth-extra-groups': names.nodeTokensGroup,
          expiration: inTime(3600_000),
          ...data,
        },
      });
      assert.equal(status, 201, text);
    }

    /** Whom the server takes somebody for; a status where nobody. */
    async function whoIs(shown: Shown): Promise<string | number> {
      const path = `/apis/${names.authentication}/v1/selfsubjectreviews`;
      const { status, text } = await send(machine, 'POST', path, { shown, body: {} });
      if (status !== 201) return status;
      const { username, groups } = JSON.parse(text).status.userInfo;
      return [username, ...groups].join(' ');
    }

    const token = (): Shown => ({ token: machine.token });
    const requestOf = (name: string): string => openssl.request('P-256', `/O=system:nodes/CN=system:node:${name}`);
    const nodeIdentity = (name: string): string => `system:node:${name} system:nodes system:authenticated`;
    /** The answer to a request of a node or another user. */
    const answerTo = async (method: string, path: string, shown: Shown, body?: unknown): Promise<number> =>
      (await send(machine, method, path, { shown: { ...shown, headers: method === 'PATCH' ? merge : {} }, body }))
        .status;

    test('it learns whom to trust from cluster-info, signed with its token', async () => {
      await makeToken('nodes1');
      await makeToken('other1', { 'token-secret': 'fedcba9876543210' });
      assert.equal(await machine.discover(), server.url);
      assert.equal(machine.credentials.ca, server.credentials.ca.toString());
      await new JoiningMachine(server.port, 'other1.fedcba9876543210', names).discover();
      const {
        kubeconfig = '',
        'jws-kubeconfig-nodes1': signature = '',
        'jws-kubeconfig-other1': other = '',
      } = await machine.clusterInfo();
      assert.equal(machine.isSigned(kubeconfig.replace('https://', 'https://evil.'), signature), false);
      assert.equal(machine.isSigned(kubeconfig, other), false);
    });

    test('it is a bootstrapper, who may request certificates and nothing else', async () => {
      const groups = ['system:bootstrappers', names.nodeTokensGroup, 'system:authenticated'];
      assert.equal(await whoIs(token()), ['system:bootstrap:nodes1', ...groups].join(' '));
      for (const path of ['/api/v1/nodes', secrets, `/apis/${names.certificates}/v1/clustertrustbundles`]) {
        assert.ok([403, 404].includes(await answerTo('GET', path, token())), path);
      }
      assert.equal(await answerTo('POST', '/api/v1/nodes', token(), { metadata: { name: 'n1' } }), 403);
    });

    test('its request is approved and signed, and the certificate is that of the node', async () => {
      assert.equal(await machine.request('join-n1', requestOf('n1'), token()), 201);
      const cert = await machine.certificate('join-n1', token());
      const { spec, status } = await machine.readRequest('join-n1', token());
      assert.equal(spec.username, 'system:bootstrap:nodes1');
      assert.deepEqual(
        status.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
        ['Approved True AutoApproved'],
      );
      openssl.verify(cert, openssl.file(machine.credentials.ca), '-purpose', 'sslclient');
      node = { cert, key: openssl.read(openssl.key('P-256')) };
      assert.equal(await whoIs(node), nodeIdentity('n1'));
    });

    test('it registers its node, keeps its status and lease', async () => {
      assert.equal(await answerTo('POST', '/api/v1/nodes', node, { metadata: { name: 'n1' } }), 201);
      const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
      assert.equal(await answerTo('PATCH', '/api/v1/nodes/n1/status', node, { status: ready }), 200);
      const domain = names.certificates.replace('certificates', 'coordination');
      const leases = `/apis/${domain}/v1/namespaces/${names.systemNamespace.replace('system', 'node-lease')}/leases`;
      assert.equal(await answerTo('POST', leases, node, { metadata: { name: 'n1' }, spec: {} }), 201);
      assert.equal(await answerTo('POST', leases, node, { metadata: { name: 'n2' }, spec: {} }), 403);
    });

    test('it is no other node, and nobody else', async () => {
      await server.post('/api/v1/nodes', { metadata: { name: 'n2' } });
      const label = {
        metadata: { labels: { 'node-restriction.kubernetes.io/x': 'y', 'node-restriction.orch.io/x': 'y' } },
      };
      const rows: readonly (readonly [method: string, path: string, body?: unknown])[] = [
        ['POST', '/api/v1/nodes', { metadata: { name: 'n3' } }],
        ['PATCH', '/api/v1/nodes/n2', { metadata: { labels: { a: 'b' } } }],
        ['PATCH', '/api/v1/nodes/n2/status', { status: { conditions: [] } }],
        ['PATCH', '/api/v1/nodes/n1', label],
        ['DELETE', '/api/v1/nodes/n1'],
        ['GET', secrets],
        ['GET', `${secrets}/bootstrap-token-nodes1`],
      ];
      for (const [method, path, body] of rows) {
        assert.equal(await answerTo(method, path, node, body), 403, `${method} ${path}`);
      }
      assert.equal(await machine.request('steal-n2', requestOf('n2'), node), 403);
      assert.equal(await machine.request('steal-jane', openssl.request('P-256', '/CN=jane'), node), 403);
    });

    test('it renews its certificate by that which it has', async () => {
      const pem = openssl.request('P-384', '/O=system:nodes/CN=system:node:n1');
      assert.equal(await machine.request('renew-n1', pem, node), 201);
      const renewed = { cert: await machine.certificate('renew-n1', node), key: openssl.read(openssl.key('P-384')) };
      assert.equal((await machine.readRequest('renew-n1', node)).spec.username, 'system:node:n1');
      assert.equal(await whoIs(renewed), nodeIdentity('n1'));
      node = renewed;
    });

    test('who is not meant to join gets no certificate', async () => {
      await makeToken('racks1', { 'auth-extra-groups': 'system:bootstrappers:racks' });
      const rack = { token: `racks1.${secretPart}` };
      assert.equal(await machine.request('rack', requestOf('n4'), rack), 403);
      const rbac = names.certificates.replace('certificates', 'rbac.authorization');
      const bound = await server.post(`/apis/${rbac}/v1/clusterrolebindings`, {
        metadata: { name: 'racks' },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
        subjects: [{ apiGroup: rbac, kind: 'Group', name: 'system:bootstrappers:racks' }],
      });
      assert.equal(bound.status, 201, bound.text);
      // May be requested, but are for somebody to approve.
      const waiting: readonly (readonly [name: string, pem: string, shown: Shown, signer?: string])[] = [
        ['rack', requestOf('n4'), rack],
        ['no-node', openssl.request('P-256', '/O=system:nodes/CN=jane'), token()],
        ['no-group', openssl.request('P-256', '/CN=system:node:n4'), token()],
        ['more-groups', openssl.request('P-256', '/O=system:nodes/O=system:masters/CN=system:node:n4'), token()],
        ['names', openssl.request('P-256', '/O=system:nodes/CN=system:node:n4', 'subjectAltName=DNS:n4'), token()],
        ['client', requestOf('n4'), token(), names.nodeSigner.replace(/-(node-agent|kubelet)$/, '')],
      ];
      for (const [name, pem, shown, signer] of waiting) {
        assert.equal(await machine.request(name, pem, shown, signer), 201, name);
      }
      // Everything before this one was looked at when it has its certificate.
      assert.equal(await machine.request('last', requestOf('n4'), token()), 201);
      await machine.certificate('last', token());
      for (const [name] of waiting) {
        const { status } = await machine.readRequest(name, server.credentials);
        assert.deepEqual([name, status], [name, {}]);
      }
    });

    test('the token ends: for who shows it, in cluster-info, and its Secret; the node stays', async () => {
      const path = `${secrets}/bootstrap-token-nodes1`;
      const body = { stringData: { expiration: inTime(1_000) } };
      assert.equal((await server.request('PATCH', path, { body, headers: merge })).status, 200);
      await until(async () => (await whoIs(token())) === 401, 'the token is still good');
      await until(async () => !('jws-kubeconfig-nodes1' in (await machine.clusterInfo())), 'its signature is there');
      await until(async () => (await server.get(path)).status === 404, 'its Secret is there');
      assert.ok('jws-kubeconfig-other1' in (await machine.clusterInfo()));
      assert.equal(await whoIs(node), nodeIdentity('n1'));
      assert.equal(await answerTo('GET', '/api/v1/nodes/n1', node), 200);
    });

    test('no secret of a token was written down', async () => {
      assert.match(server.log, /bootstrap-token-nodes1/);
      for (const part of [secretPart, 'fedcba9876543210', Buffer.from(secretPart).toString('base64')]) {
        assert.ok(!server.log.includes(part), 'in the log');
        assert.ok(!(await server.get('/api/v1/events')).text.includes(part), 'in Events');
      }
    });
  });
}
