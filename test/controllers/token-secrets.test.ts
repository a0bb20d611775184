import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type Clock, systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import type { SecretTokenSigner } from '../../src/controllers/controller.ts';
import { type ControllersContext, chooseControllers, startControllers } from '../../src/controllers/controllers.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { internalError } from '../../src/meta/status-error.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { RegistryTransport } from '../support/registry-transport.ts';

/** The controller that puts tokens of service accounts into Secrets, over a registry. */
let fixture: RegistryFixture;
let transport: RegistryTransport;
let stop: () => void;
let signed: string[];

/** Pauses are a hundredth as long: failures are waited out, not slept through. */
const hastyClock: Clock = { ...systemClock, after: (delayMs, run) => systemClock.after(delayMs / 100, run) };

const sign: SecretTokenSigner = ({ namespace, name, uid }, secretName) => {
  const token = `token ${signed.length} of ${namespace}/${name} ${uid} in ${secretName}`;
  signed.push(token);
  return token;
};

function start(more: Partial<ControllersContext> = { signSecretToken: sign }): void {
  const running = startControllers(chooseControllers(['serviceaccount-token']), {
    client: new ApiClient(transport, 'controllers'),
    clock: hastyClock,
    random: systemRandom,
    logger: silentLogger,
    dialect: orch,
    rootAuthority: 'PEM\n',
    ...more,
  });
  stop = () => running.close();
}

beforeEach(async () => {
  signed = [];
  stop = () => {};
  fixture = await RegistryFixture.open();
  transport = new RegistryTransport(fixture);
});
afterEach(async () => {
  stop();
  await fixture[Symbol.asyncDispose]();
});

const namespace = '/api/v1/namespaces/n';
const accounts = `${namespace}/serviceaccounts`;
const secrets = `${namespace}/secrets`;
const type = 'orch.io/service-account-token';
const nameKey = 'orch.io/service-account.name';
const uidKey = 'orch.io/service-account.uid';

type Secret = ApiObject & { readonly data?: Readonly<Record<string, string>> };

const makeAccount = (name: string, more: object = {}): Promise<ApiObject> =>
  fixture.object('POST', accounts, { metadata: { name }, ...more });
const makeSecret = (name: string, account: string, more: object = {}, annotations: object = {}): Promise<ApiObject> =>
  fixture.object('POST', secrets, {
    metadata: { name, annotations: { [nameKey]: account, ...annotations } },
    type,
    ...more,
  });
const secret = (name: string): Promise<Secret> => fixture.object('GET', `${secrets}/${name}`) as Promise<Secret>;
const text = ({ data = {} }: Secret, key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
const exists = (path: string): Promise<boolean> =>
  fixture.call('GET', path).then(
    () => true,
    () => false,
  );

async function filled(name: string): Promise<Secret> {
  const isFilled = async (): Promise<boolean> => text(await secret(name), 'token') !== '';
  await until(isFilled, `the Secret ${name} is not filled`);
  return secret(name);
}

const gone = (name: string): Promise<void> =>
  until(async () => !(await exists(`${secrets}/${name}`)), `the Secret ${name} is still there`);

/** All that was there to be done is done, when a Secret that came later is. */
async function settled(): Promise<void> {
  const name = `later-${signed.length}`;
  await makeAccount(name);
  await makeSecret(name, name);
  await filled(name);
}

describe('token Secrets', () => {
  it('are filled: token, namespace, authority, uid of the account', async () => {
    start();
    const { metadata } = await makeAccount('bob');
    await makeSecret('s', 'bob', { data: { mine: 'YQ==' } }, { other: 'x' });
    const found = await filled('s');
    assert.equal(text(found, 'token'), `token 0 of n/bob ${metadata.uid} in s`);
    assert.deepEqual([text(found, 'namespace'), text(found, 'ca.crt'), text(found, 'mine')], ['n', 'PEM\n', 'a']);
    assert.deepEqual(found.metadata.annotations, { [nameKey]: 'bob', [uidKey]: metadata.uid, other: 'x' });
  });

  it('that were there before the controller are filled', async () => {
    await makeAccount('bob');
    await makeSecret('s', 'bob');
    start();
    await filled('s');
  });

  it('get no authority where there is none', async () => {
    start({ signSecretToken: sign, rootAuthority: '' });
    await makeAccount('bob');
    await makeSecret('s', 'bob');
    assert.deepEqual(Object.keys((await filled('s')).data ?? {}).sort(), ['namespace', 'token']);
  });

  it('keep the token and namespace that they have', async () => {
    start();
    await makeAccount('bob');
    await makeSecret('s', 'bob', { stringData: { token: 'mine', namespace: 'elsewhere' } });
    await until(async () => text(await secret('s'), 'ca.crt') === 'PEM\n', 'no authority');
    const found = await secret('s');
    assert.deepEqual([text(found, 'token'), text(found, 'namespace'), signed], ['mine', 'elsewhere', []]);
  });

  it('are filled again when something is taken out, and get the right authority', async () => {
    start();
    await makeAccount('bob');
    await makeSecret('s', 'bob');
    const first = text(await filled('s'), 'token');
    await fixture.object('PATCH', `${secrets}/s`, { data: { namespace: null, 'ca.crt': 'eA==' } });
    await until(async () => text(await secret('s'), 'namespace') === 'n', 'no namespace');
    const mended = await secret('s');
    assert.deepEqual([text(mended, 'token'), text(mended, 'ca.crt')], [first, 'PEM\n']);
    await fixture.object('PATCH', `${secrets}/s`, { data: { token: null } });
    assert.match(text(await filled('s'), 'token'), /^token 1 of n\/bob/);
  });

  it('that have everything are left alone', async () => {
    start();
    await makeAccount('bob');
    await makeSecret('s', 'bob');
    const { metadata } = await filled('s');
    await settled();
    assert.equal((await secret('s')).metadata.resourceVersion, metadata.resourceVersion);
  });

  it('of other types are left alone', async () => {
    start();
    await makeAccount('bob');
    await makeSecret('s', 'bob', { type: 'Opaque' });
    await settled();
    assert.equal((await secret('s')).data, undefined);
  });

  it('go where the account is not there', async () => {
    start();
    await makeSecret('s', 'nobody');
    await gone('s');
  });

  it('go where they mean another account of that name', async () => {
    start();
    await makeAccount('bob');
    await makeSecret('s', 'bob', {}, { [uidKey]: 'another' });
    await gone('s');
    assert.deepEqual(signed, []);
  });

  it('go with their account, and nothing else goes', async () => {
    start();
    await makeAccount('bob');
    await makeAccount('amy');
    await Promise.all([makeSecret('s', 'bob'), makeSecret('t', 'bob'), makeSecret('u', 'amy')]);
    await Promise.all([filled('s'), filled('t'), filled('u')]);
    await fixture.call('DELETE', `${accounts}/bob`);
    await Promise.all([gone('s'), gone('t')]);
    await settled();
    assert.equal(await exists(`${secrets}/u`), true);
  });

  it('go where another account has taken the name', async () => {
    await makeAccount('bob');
    start();
    await makeSecret('s', 'bob');
    await filled('s');
    stop();
    await fixture.call('DELETE', `${accounts}/bob`);
    await makeAccount('bob');
    start();
    await gone('s');
  });

  it('of an account that the watch has not told of yet are filled', async () => {
    start();
    await settled();
    const { metadata } = await makeAccount('bob');
    transport.failure = ({ method, target }) =>
      method === 'GET' && target === `${accounts}/bob` ? internalError(new Error('not now')) : undefined;
    await makeSecret('s', 'bob', {}, { [uidKey]: metadata.uid });
    transport.failure = () => undefined;
    await filled('s');
  });

  it('that are gone are taken out of the list of their account', async () => {
    start();
    await makeAccount('bob', { secrets: [{ name: 's' }, { name: 'other' }] });
    await makeSecret('s', 'bob');
    await filled('s');
    await fixture.call('DELETE', `${secrets}/s`);
    const listed = async () => (await fixture.object('GET', `${accounts}/bob`))['secrets'];
    await until(async () => JSON.stringify(await listed()) === '[{"name":"other"}]', 'still listed');
  });

  it('that may not be changed are not tried for ever', async () => {
    start();
    await makeAccount('bob');
    await makeSecret('s', 'bob', { immutable: true });
    const writes = () => transport.requests.filter((each) => each === `PUT ${secrets}/s`).length;
    await until(() => writes() > 0, 'was not tried');
    // A pass for each of the lists and events that the Secret and its account are in, which may be far apart.
    for (let look = 0; look < 5; look++) {
      await settled();
      assert.ok(writes() <= 2, `${writes()} writes`);
    }
  });

  it('are tried again after a failure', async () => {
    let failures = 0;
    transport.failure = ({ method }) =>
      method === 'PUT' && failures++ < 3 ? internalError(new Error('no')) : undefined;
    start();
    await makeAccount('bob');
    await makeSecret('s', 'bob');
    await filled('s');
    assert.ok(failures > 3);
  });

  it('are left alone where there is no key', async () => {
    start({});
    await makeSecret('s', 'nobody');
    assert.deepEqual(transport.requests, []);
  });
});
