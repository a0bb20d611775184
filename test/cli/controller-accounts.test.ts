import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';
import { Folder, rbacPath } from '../support/authorization.ts';
import { Command } from '../support/command.ts';

/** The controllers apart, as the user that has a role for it by default, and nothing bound by hand. */
const program = 'system:orch-controller-manager';
const namespaces = '/api/v1/namespaces';
const accounts = `${namespaces}/orch-system/serviceaccounts`;

const folder = new Folder();
let server: Command;
let url: string;
let authority: string;
before(async () => {
  const tokens = folder.tokens({ admin: ['system:masters'], [program]: [] });
  const key = folder.write('sign.key', keyToPem(generateKey()));
  const data = join(folder.path, 'data');
  const issuer = ['--service-account-issuer=https://orch.test', `--service-account-signing-key-file=${key}`];
  server = new Command('apiserver', `--data-dir=${data}`, '--secure-port=0', tokens, ...issuer);
  [, url = ''] = await server.prints(/"msg":"serving","v":0,"url":"([^"]+)"/);
  authority = join(data, 'pki', 'apiserver.crt');
  await until(async () => (await send('GET', '/readyz')).status === 200, 'the server is ready');
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** As the administrator. */
async function send(method: string, path: string, body?: unknown): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { authorization: 'Bearer token-of-admin', 'content-type': 'application/json' };
  const request = https.request(
    url + path,
    { method, headers, agent: false, ca: readFileSync(authority) },
    (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    },
  );
  request.on('error', reject);
  request.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

const status = async (path: string): Promise<number> => (await send('GET', path)).status;
const has = (path: string): Promise<void> => until(async () => (await status(path)) === 200, `there is no ${path}`);
const gone = (path: string): Promise<void> => until(async () => (await status(path)) === 404, `${path} is still there`);

async function make(path: string, object: unknown): Promise<void> {
  const { status, text } = await send('POST', path, object);
  assert.equal(status, 201, text);
}

/** A namespace with something in it, that is being deleted. */
async function leave(name: string): Promise<void> {
  await make(namespaces, { metadata: { name } });
  await make(`${namespaces}/${name}/configmaps`, { metadata: { name: 'x' } });
  await send('DELETE', `${namespaces}/${name}`);
}

function manager(...flags: readonly string[]): Command {
  const cluster = { server: url, 'certificate-authority': authority };
  const content = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster }],
    users: [{ name: 'u', user: { token: `token-of-${program}` } }],
  };
  const kubeconfig = folder.write('manager.kubeconfig', JSON.stringify(content));
  return new Command('controller-manager', `--kubeconfig=${kubeconfig}`, ...flags);
}

const withAccounts = '--use-service-account-credentials';
const controllers = [
  'certificate-controller',
  'clusterrole-aggregation-controller',
  'generic-garbage-collector',
  'namespace-controller',
  'root-ca-cert-publisher',
  'service-account-controller',
];

describe('orch controller-manager --use-service-account-credentials', () => {
  it('without it the program works as itself, and may not', async () => {
    await leave('kept');
    await using running = manager('--v=4');
    await running.prints(/cannot (create|delete|patch|update)/);
    running.signal('SIGTERM');
    assert.equal(await running.exit(), 0);
    assert.equal(await status(`${namespaces}/kept`), 200);
    for (const name of controllers) assert.equal(await status(`${accounts}/${name}`), 404, name);
  });

  it('each controller does its work as its own account, which is made', async () => {
    await using running = manager(withAccounts);
    await running.prints(/"controllers run"/);
    await gone(`${namespaces}/kept`);
    // A new one: the program itself may make accounts, and has perhaps done so where it ran without the flag.
    await make(namespaces, { metadata: { name: 'new' } });
    await has(`${namespaces}/new/serviceaccounts/default`);
    await has(`${namespaces}/new/configmaps/orch-root-ca.crt`);
    const view = `${rbacPath}/clusterroles/view`;
    await until(async () => JSON.parse((await send('GET', view)).text).rules?.length > 0, 'view has no rules');
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: 'none' };
    const configMaps = `${namespaces}/default/configmaps`;
    await make(configMaps, { metadata: { name: 'owned', ownerReferences: [owner] } });
    await gone(`${configMaps}/owned`);
    for (const name of controllers) await has(`${accounts}/${name}`);
    assert.doesNotMatch(running.err, /"level":"(warn|error)"|eyJ/);
    running.signal('SIGTERM');
    assert.equal(await running.exit(), 0);
  });

  it('an account that is made anew refuses the tokens of the old one: the controller gets another', async () => {
    await using running = manager(withAccounts, '--leader-elect=false');
    await leave('first');
    await gone(`${namespaces}/first`);
    assert.equal((await send('DELETE', `${accounts}/namespace-controller`)).status, 200);
    await leave('second');
    await gone(`${namespaces}/second`);
    assert.equal(await status(`${accounts}/namespace-controller`), 200);
    running.signal('SIGTERM');
    assert.equal(await running.exit(), 0);
  });

  it('says which account it gets no token of', async () => {
    const binding = `${rbacPath}/clusterrolebindings/${program}`;
    const { text } = await send('GET', binding);
    const { roleRef, subjects } = JSON.parse(text);
    await send('DELETE', binding);
    const reading = `${rbacPath}/clusterroles`;
    await make(reading, {
      metadata: { name: 'reads' },
      rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }],
    });
    const given = { metadata: { name: 'reads' }, roleRef: { ...roleRef, name: 'reads' }, subjects };
    await make(`${rbacPath}/clusterrolebindings`, given);
    await using running = manager(withAccounts, '--leader-elect=false', '--controllers=namespace');
    await leave('stays');
    await running.prints(/no token of the service account orch-system\/namespace-controller: .*cannot create/);
    await make(`${rbacPath}/clusterrolebindings`, { metadata: { name: program }, roleRef, subjects });
    await gone(`${namespaces}/stays`);
    running.signal('SIGTERM');
    assert.equal(await running.exit(), 0);
  });
});
