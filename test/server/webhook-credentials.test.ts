import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { AdmissionWebhook, webhookFor } from '../support/admission-webhook.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Admission webhooks that want to know who asks: users of the kubeconfig of `--admission-control-config-file`. */

const group = '/apis/admissionregistration.orch.io/v1';
const maps = '/api/v1/namespaces/default/configmaps';
type Fields = Readonly<Record<string, unknown>>;
type Type = 'Mutating' | 'Validating';
const types: readonly Type[] = ['Mutating', 'Validating'];

/** A file beside the authorities of a webhook; its name. */
function write({ fixture }: AdmissionWebhook, name: string, document: unknown): string {
  const file = join(fixture.directory, name);
  writeFileSync(file, typeof document === 'string' ? document : JSON.stringify(document));
  return file;
}

const kubeconfigOf = (users: Readonly<Record<string, Fields>>): Fields => ({
  users: Object.entries(users).map(([name, user]) => ({ name, user })),
});

/** The file of the flag, where each type has a kubeconfig of its own. */
const configurationOf = (files: Readonly<Record<Type, string>>): Fields => ({
  apiVersion: 'apiserver.config.orch.io/v1',
  kind: 'AdmissionConfiguration',
  plugins: types.map((type) => ({
    name: `${type}AdmissionWebhook`,
    configuration: {
      apiVersion: 'apiserver.config.orch.io/v1',
      kind: 'WebhookAdmissionConfiguration',
      kubeConfigFile: files[type],
    },
  })),
});

/** Answers nobody who does not show this header. */
function demand(webhook: AdmissionWebhook, header: () => string): void {
  const { handle } = webhook.fixture;
  webhook.fixture.handle = (request, response) => {
    if (request.headers.authorization === header()) return handle(request, response);
    response.writeHead(401).end(`who are you? ${request.headers.authorization}`);
  };
}

describe('a webhook that demands', () => {
  /** The secrets of all types. */
  const secrets = ['s3cr3t-token', 's3cr3t-renewed', 's3cr3t-password', 's3cr3t-plugin'];
  const webhooks: Record<string, AdmissionWebhook> = {};
  let server: OrchProcess;
  /** The token that is wanted, and where the server reads it. */
  let wanted = '';
  let tokenFile = '';
  const made: string[] = [];
  before(async () => {
    for (const what of ['a certificate', 'a token', 'a password', 'what a plugin gives']) {
      webhooks[what] = await AdmissionWebhook.start({
        certificateRequired: what === 'a certificate',
        protocols: what === 'a password' ? ['http/1.1'] : ['http/1.1', 'h2'],
      });
    }
    const [certificate, token, password, plugin] = Object.values(webhooks) as [
      AdmissionWebhook,
      AdmissionWebhook,
      AdmissionWebhook,
      AdmissionWebhook,
    ];
    certificate.fixture.issue('orch');
    demand(token, () => `Bearer ${wanted}`);
    demand(password, () => `Basic ${btoa('u:s3cr3t-password')}`);
    demand(plugin, () => 'Bearer s3cr3t-plugin');
    tokenFile = join(certificate.fixture.directory, 'token');
    const script = `process.stdout.write(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.orch.io/v1', status: { token: 's3cr3t-plugin' } }))`;
    const exec = {
      ...{ apiVersion: 'client.authentication.orch.io/v1', interactiveMode: 'Never' },
      ...{ command: process.execPath, args: ['-e', script] },
    };
    const usersOf = (type: Type): Fields =>
      kubeconfigOf({
        [`127.0.0.1:${certificate.fixture.port}`]: { 'client-certificate': 'orch.crt', 'client-key': 'orch.key' },
        [`127.0.0.1:${token.fixture.port}`]: type === 'Mutating' ? { token: 's3cr3t-token' } : { tokenFile },
        [`*.0.0.1:${plugin.fixture.port}`]: { exec },
        '*': { username: 'u', password: 's3cr3t-password' },
      });
    const files = {
      Mutating: write(certificate, 'mutating.kubeconfig', usersOf('Mutating')),
      Validating: write(certificate, 'validating.kubeconfig', usersOf('Validating')),
    };
    const configuration = write(certificate, 'admission.json', configurationOf(files));
    server = await OrchProcess.start({ flags: [`--admission-control-config-file=${configuration}`, '-v=8'] });
  });
  after(async () => {
    for (const webhook of Object.values(webhooks)) await webhook[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    for (const path of made.splice(0)) await server.delete(path);
    wanted = 's3cr3t-token';
    writeFileSync(tokenFile, `${wanted}\n`);
  });

  async function configure(type: Type, { clientConfig }: Pick<AdmissionWebhook, 'clientConfig'>): Promise<void> {
    const path = `${group}/${type.toLowerCase()}webhookconfigurations`;
    const answer = await server.post(path, {
      ...{ apiVersion: 'admissionregistration.orch.io/v1', kind: `${type}WebhookConfiguration` },
      ...{ metadata: { name: 'demanding' }, webhooks: [webhookFor({ clientConfig })] },
    });
    assert.equal(answer.status, 201, answer.text);
    made.push(`${path}/demanding`);
  }

  for (const what of ['a certificate', 'a token', 'a password', 'what a plugin gives']) {
    for (const type of types) {
      it(`${what}, of a ${type.toLowerCase()} one, is shown it, from both threads`, async () => {
        const webhook = webhooks[what] ?? assert.fail();
        await configure(type, webhook);
        for (const data of [{ a: '1' }, { a: '1'.repeat(limits.lightBytesMax) }]) {
          const { status, text } = await server.post(`${maps}?dryRun=All`, { metadata: { name: 'm' }, data });
          assert.equal(status, 201, text);
        }
        // Controllers write config maps of their own.
        assert.equal(webhook.asked.filter(({ request }) => request.name === 'm').length, 2);
        webhook.reset();
      });
    }
  }

  it('a token, has the one that is in its file by now', async () => {
    await configure('Validating', webhooks['a token'] ?? assert.fail());
    const create = async () => (await server.post(`${maps}?dryRun=All`, { metadata: { name: 'm' } })).status;
    assert.equal(await create(), 201);
    wanted = 's3cr3t-renewed';
    assert.equal(await create(), 500);
    writeFileSync(tokenFile, wanted);
    assert.equal(await create(), 201);
  });

  it('a token, and repeats it in an error, is hidden from clients', async () => {
    const webhook = webhooks['a token'] ?? assert.fail();
    await configure('Validating', webhook);
    webhook.instead = (response, { headers }) => void response.writeHead(500).end(`got ${headers.authorization}`);
    const { status, text } = await server.post(`${maps}?dryRun=All`, { metadata: { name: 'm' } });
    webhook.reset();
    assert.equal(status, 500);
    assert.match(text, /got Bearer \*\*\*/);
  });

  it('and no secret is in the log', () => {
    assert.ok(server.log.length > 0);
    for (const secret of secrets) assert.ok(!server.log.includes(secret), secret);
  });
});

describe('who is not meant', () => {
  it('is shown nothing', async () => {
    await using meant = await AdmissionWebhook.start();
    await using other = await AdmissionWebhook.start();
    const user = { token: 's3cr3t', as: 'somebody' };
    const kubeconfig = write(meant, 'kubeconfig', kubeconfigOf({ [`127.0.0.1:${meant.fixture.port}`]: user }));
    const none = write(meant, 'none.kubeconfig', kubeconfigOf({}));
    const configuration = write(meant, 'admission.json', configurationOf({ Mutating: none, Validating: kubeconfig }));
    await using server = await OrchProcess.start({ flags: [`--admission-control-config-file=${configuration}`] });
    for (const type of types) {
      const webhooks = [meant, other].map((webhook, at) => webhookFor(webhook, { name: `w${at}.example.com` }));
      const { status, text } = await server.post(`${group}/${type.toLowerCase()}webhookconfigurations`, {
        ...{ apiVersion: 'admissionregistration.orch.io/v1', kind: `${type}WebhookConfiguration` },
        ...{ metadata: { name: 'w' }, webhooks },
      });
      assert.equal(status, 201, text);
    }
    assert.equal((await server.post(maps, { metadata: { name: 'm' } })).status, 201);
    // Controllers write config maps of their own.
    const shown = ({ asked }: AdmissionWebhook) =>
      asked
        .filter(({ request }) => request.name === 'm')
        .map(({ headers }) => [headers.authorization, headers['impersonate-user']]);
    assert.deepEqual(shown(meant), [
      [undefined, undefined],
      ['Bearer s3cr3t', 'somebody'],
    ]);
    assert.deepEqual(shown(other), [
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });
});

describe('a server does not start where a user cannot be used, and says where that is written', () => {
  const cases: readonly (readonly [users: Readonly<Record<string, Fields>> | string, problem: string])[] = [
    [{ '*': { token: 's3cr3t', password: 's3cr3t' } }, 'the user "*": a token and a password exclude each other'],
    [{ 'h:1': { 'client-key-data': 's3cr3t' } }, 'the user "h:1": client-key-data is not base64'],
    ['users: [s3cr3t', 'cannot be read: '],
  ];
  for (const [users, problem] of cases) {
    for (const type of types) {
      it(`${type}: ${problem}`, async () => {
        await using webhook = await AdmissionWebhook.start();
        const bad = write(webhook, 'bad.kubeconfig', typeof users === 'string' ? users : kubeconfigOf(users));
        const good = write(webhook, 'good.kubeconfig', kubeconfigOf({}));
        const files = { Mutating: good, Validating: good, [type]: bad };
        const configuration = write(webhook, 'admission.json', configurationOf(files));
        const place = `plugins[${types.indexOf(type)}].configuration: kubeConfigFile: ${bad}: ${problem}`;
        await assert.rejects(
          OrchProcess.start({ flags: [`--admission-control-config-file=${configuration}`] }),
          ({ message }: Error) => {
            assert.ok(message.includes(`--admission-control-config-file: ${place}`), message);
            assert.ok(!message.includes('s3cr3t'), message);
            return true;
          },
        );
      });
    }
  }
});
