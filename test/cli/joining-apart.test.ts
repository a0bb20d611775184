import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { OpensslFolder, withoutOpenssl } from '../../src/pki/openssl-fixture.ts';
import { Folder, rbacGroup, rbacPath } from '../support/authorization.ts';
import { ControllersApart } from '../support/controllers-apart.ts';
import { nameOf } from '../support/identity.ts';
import { JoiningMachine, joinNames } from '../support/joining-machine.ts';

/** A machine joins a server whose controllers run apart; what `orch up` makes by itself is made by hand. */

const names = joinNames.orch;
const group = (name: string) => ({ apiGroup: rbacGroup, kind: 'Group', name });
const bindings = [
  { role: 'system:node-bootstrapper', subject: group(names.nodeTokensGroup) },
  {
    role: 'system:certificates.orch.io:certificatesigningrequests:nodeclient',
    subject: group(names.nodeTokensGroup),
  },
  { role: 'system:certificates.orch.io:certificatesigningrequests:selfnodeclient', subject: group('system:nodes') },
];

async function prepare(apart: ControllersApart): Promise<void> {
  for (const { role, subject } of bindings) {
    const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: role };
    const body = { metadata: { name: role }, roleRef, subjects: [subject] };
    await apart.make(`${rbacPath}/clusterrolebindings`, body);
  }
  const inPublic = `${rbacPath}/namespaces/${names.publicNamespace}`;
  await apart.make(`${inPublic}/roles`, {
    metadata: { name: 'reader' },
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-info'] }],
  });
  await apart.make(`${inPublic}/rolebindings`, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: rbacGroup, kind: 'Role', name: 'reader' },
    subjects: [{ apiGroup: rbacGroup, kind: 'User', name: 'system:anonymous' }],
  });
  const cluster = {
    server: apart.url,
    'certificate-authority-data': readFileSync(apart.authority).toString('base64'),
  };
  const kubeconfig = JSON.stringify({ apiVersion: 'v1', kind: 'Config', clusters: [{ name: '', cluster }] });
  await apart.make(`/api/v1/namespaces/${names.publicNamespace}/configmaps`, {
    metadata: { name: 'cluster-info' },
    data: { kubeconfig },
  });
}

test('a machine joins by controllers that run apart', { skip: withoutOpenssl }, async () => {
  using folder = new Folder();
  const openssl = new OpensslFolder(folder.path);
  const { certificate, key } = openssl.authority('P-384');
  await using apart = await ControllersApart.start(`--client-ca-file=${certificate}`);
  await using manager = apart.manager(
    '--controllers=*,bootstrapsigner,tokencleaner',
    `--cluster-signing-cert-file=${certificate}`,
    `--cluster-signing-key-file=${key}`,
  );
  await prepare(apart);
  const secrets = `/api/v1/namespaces/${names.systemNamespace}/secrets`;
  const secretPart = '0123456789abcdef';
  await apart.make(secrets, {
    metadata: { name: 'bootstrap-token-apart1' },
    type: names.tokenType,
    stringData: {
      'token-id': 'apart1',
      'token-secret': secretPart,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      'auth-extra-groups': names.nodeTokensGroup,
    },
  });

  const machine = new JoiningMachine(Number(new URL(apart.url).port), `apart1.${secretPart}`, names);
  assert.equal(await machine.discover(), apart.url);
  const token = { token: machine.token };
  const pem = openssl.request('P-256', '/O=system:nodes/CN=system:node:n1');
  assert.equal(await machine.request('n1', pem, token), 201);
  const node = { cert: await machine.certificate('n1', token), key: openssl.read(openssl.key('P-256')) };
  assert.equal(await nameOf(machine, node), 'system:node:n1');
  assert.equal(await machine.request('n1-again', pem, node), 201);
  await machine.certificate('n1-again', node);

  await apart.patch(`${secrets}/bootstrap-token-apart1`, { stringData: { expiration: '2020-01-01T00:00:00Z' } });
  await apart.gone(`${secrets}/bootstrap-token-apart1`);
  const signed = async (): Promise<boolean> => 'jws-kubeconfig-apart1' in (await machine.clusterInfo());
  await until(async () => !(await signed()), 'the signature stays');
  assert.equal(await nameOf(machine, token), 401);

  manager.signal('SIGTERM');
  assert.equal(await manager.exit(), 0);
  assert.doesNotMatch(manager.err, /"level":"(warn|error)"/);
  assert.ok(!manager.err.includes(secretPart) && !apart.server.err.includes(secretPart));
});
