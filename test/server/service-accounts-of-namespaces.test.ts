import assert from 'node:assert/strict';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { Command } from '../support/command.ts';
import { ControllersApart } from '../support/controllers-apart.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * What the controllers of service accounts do for every namespace (spec section 2.2), in `orch up` and in a program of their
 * own: the account, tokens in Secrets, and the authority of the server.
 */

interface Secret {
  readonly metadata: { readonly uid: string; readonly annotations: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
}

/** A server with these controllers, as its administrator and as the holder of a token see it. */
interface Place extends AsyncDisposable {
  request(method: string, path: string, body?: unknown, token?: string): Promise<{ status: number; text: string }>;
  /** The authority that is to be published, as PEM. */
  readonly authority: string;
}

async function openUp(): Promise<Place> {
  const server = await OrchProcess.start();
  return {
    async request(method, path, body, token) {
      const as = token === undefined ? {} : { as: { token } };
      const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
      return server.request(method, path, { ...(body !== undefined && { body }), headers, ...as });
    },
    authority: readFileSync(join(server.dataDir, 'pki', 'ca.crt'), 'utf8'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const remote = '--controllers=serviceaccount,serviceaccount-token,root-ca-cert-publisher';

async function openApart(): Promise<Place> {
  const apart = await ControllersApart.start();
  const manager: Command = apart.manager(remote, `--service-account-private-key-file=${apart.signingKey}`);
  return {
    async request(method, path, body, token) {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      return apart.send(method, path, body, type, token);
    },
    authority: readFileSync(apart.authority, 'utf8'),
    async [Symbol.asyncDispose]() {
      await manager[Symbol.asyncDispose]();
      await apart[Symbol.asyncDispose]();
    },
  };
}

const namespaces = '/api/v1/namespaces';

for (const [what, open] of [
  ['orch up', openUp],
  ['controllers apart', openApart],
] as const) {
  describe(what, () => {
    let place: Place;
    before(async () => {
      place = await open();
    });
    after(() => place[Symbol.asyncDispose]());

    const get = async <T>(path: string): Promise<T | undefined> => {
      const { status, text } = await place.request('GET', path);
      assert.ok(status === 200 || status === 404, text);
      return status === 200 ? JSON.parse(text) : undefined;
    };
    const has = (path: string): Promise<void> => until(async () => (await get(path)) !== undefined, `no ${path}`);
    const gone = (path: string): Promise<void> => until(async () => (await get(path)) === undefined, `${path} stays`);
    const make = async <T>(collection: string, body: unknown): Promise<T> => {
      const { status, text } = await place.request('POST', collection, body);
      assert.equal(status, 201, text);
      return JSON.parse(text);
    };
    const change = async (path: string, patch: unknown): Promise<void> => {
      const { status, text } = await place.request('PATCH', path, patch);
      assert.equal(status, 200, text);
    };
    const remove = async (path: string): Promise<void> => {
      assert.ok((await place.request('DELETE', path)).status < 300, path);
    };
    const uidOf = async (path: string): Promise<string | undefined> =>
      (await get<{ metadata: { uid: string } }>(path))?.metadata.uid;

    it('every namespace has its account and the authority, also those that were there first', async () => {
      await make(namespaces, { metadata: { name: 'kept' } });
      for (const name of ['default', 'orch-system', 'orch-public', 'orch-node-lease', 'kept']) {
        await has(`${namespaces}/${name}/serviceaccounts/default`);
        const path = `${namespaces}/${name}/configmaps/orch-root-ca.crt`;
        await has(path);
        const { data } = (await get<{ data: object }>(path)) ?? {};
        assert.deepEqual(data, { 'ca.crt': place.authority }, name);
      }
    });

    for (const object of ['serviceaccounts/default', 'configmaps/orch-root-ca.crt']) {
      it(`${object} is made again when it is deleted, and with its namespace`, async () => {
        const path = `${namespaces}/again/${object}`;
        for (let round = 0; round < 2; round++) {
          await make(namespaces, { metadata: { name: 'again' } });
          await has(path);
          const first = await uidOf(path);
          await remove(path);
          await until(async () => ![undefined, first].includes(await uidOf(path)), 'it is not made again');
          await remove(`${namespaces}/again`);
          if (what !== 'orch up') await empty('again');
          await gone(`${namespaces}/again`);
        }
      });
    }

    /** The controller of namespaces does not run apart. */
    async function empty(name: string): Promise<void> {
      for (const object of ['serviceaccounts/default', 'configmaps/orch-root-ca.crt']) {
        await remove(`${namespaces}/${name}/${object}`);
      }
      const { status } = await place.request('PUT', `${namespaces}/${name}/finalize`, {
        metadata: { name },
        spec: { finalizers: [] },
      });
      assert.equal(status, 200);
    }

    const accounts = `${namespaces}/default/serviceaccounts`;
    const secrets = `${namespaces}/default/secrets`;
    const makeSecret = (name: string, account: string, more: object = {}): Promise<Secret> =>
      make(secrets, {
        metadata: { name, annotations: { 'orch.io/service-account.name': account } },
        type: 'orch.io/service-account-token',
        ...more,
      });
    const textOf = async (name: string, key: string): Promise<string> =>
      Buffer.from((await get<Secret>(`${secrets}/${name}`))?.data?.[key] ?? '', 'base64').toString();
    const tokenOf = async (name: string): Promise<string> => {
      await until(async () => (await textOf(name, 'token')) !== '', `${name} has no token`);
      return textOf(name, 'token');
    };
    const reviews = '/apis/authentication.orch.io/v1/selfsubjectreviews';
    const review = async (token: string) => {
      const { status, text } = await place.request('POST', reviews, {}, token);
      return status === 201 ? JSON.parse(text).status.userInfo.username : status;
    };

    it('a Secret gets a token that the server takes, and all that stands beside it', async () => {
      const { metadata } = await make<Secret>(accounts, { metadata: { name: 'robot' } });
      await makeSecret('filled', 'robot', { data: { own: 'eA==' } });
      const token = await tokenOf('filled');
      assert.equal(await review(token), 'system:serviceaccount:default:robot');
      const secret = await get<Secret>(`${secrets}/filled`);
      assert.deepEqual(Object.keys(secret?.data ?? {}).sort(), ['ca.crt', 'namespace', 'own', 'token']);
      assert.deepEqual(
        [await textOf('filled', 'namespace'), await textOf('filled', 'ca.crt')],
        ['default', place.authority],
      );
      assert.equal(secret?.metadata.annotations['orch.io/service-account.uid'], metadata.uid);
      assert.ok(
        new X509Certificate(await textOf('filled', 'ca.crt')).publicKey.equals(createPublicKey(place.authority)),
      );
    });

    it('what is taken out of it comes back', async () => {
      await change(`${secrets}/filled`, { data: { token: null, namespace: null, 'ca.crt': 'eA==' } });
      assert.equal(await review(await tokenOf('filled')), 'system:serviceaccount:default:robot');
      await until(async () => (await textOf('filled', 'ca.crt')) === place.authority, 'another authority stays');
      assert.equal(await textOf('filled', 'namespace'), 'default');
    });

    it('goes with its account, and its token counts no more', async () => {
      const token = await tokenOf('filled');
      await remove(`${accounts}/robot`);
      await gone(`${secrets}/filled`);
      assert.equal(await review(token), 401);
    });

    it('goes if its account never was, or is another of that name', async () => {
      await makeSecret('of-nobody', 'nobody');
      await gone(`${secrets}/of-nobody`);
      await make(accounts, { metadata: { name: 'second' } });
      await make(secrets, {
        metadata: {
          name: 'of-the-first',
          annotations: { 'orch.io/service-account.name': 'second', 'orch.io/service-account.uid': 'another' },
        },
        type: 'orch.io/service-account-token',
      });
      await gone(`${secrets}/of-the-first`);
    });

    it('deleted, it is struck from the list of its account, and its token counts no more', async () => {
      await make(accounts, { metadata: { name: 'lists' }, secrets: [{ name: 'listed' }, { name: 'other' }] });
      await makeSecret('listed', 'lists');
      const token = await tokenOf('listed');
      assert.equal(await review(token), 'system:serviceaccount:default:lists');
      await remove(`${secrets}/listed`);
      const listed = async (): Promise<string> =>
        JSON.stringify((await get<{ secrets?: unknown }>(`${accounts}/lists`))?.secrets);
      await until(async () => (await listed()) === '[{"name":"other"}]', 'it is still listed');
      assert.equal(await review(token), 401);
    });

    it('that may not be changed is left as it is', async () => {
      await make(accounts, { metadata: { name: 'fixed' } });
      await makeSecret('immutable', 'fixed', { immutable: true });
      await makeSecret('after', 'fixed');
      await tokenOf('after');
      assert.equal(await textOf('immutable', 'token'), '');
      await remove(`${accounts}/fixed`);
      await gone(`${secrets}/immutable`);
    });

    it('the published authority is put right when somebody changes it', async () => {
      const path = `${namespaces}/default/configmaps/orch-root-ca.crt`;
      await change(path, { data: { 'ca.crt': 'mine', more: 'x' } });
      const data = async () => (await get<{ data: object }>(path))?.data;
      await until(async () => JSON.stringify(await data()) === JSON.stringify({ 'ca.crt': place.authority }), 'wrong');
    });
  });
}

describe('another authority', () => {
  it('is published everywhere, and stands in every Secret, when the controllers start with it', async () => {
    await using apart = await ControllersApart.start();
    const start = (name: string): Command =>
      apart.manager(
        ...[remote, '--leader-elect=false', `--service-account-private-key-file=${apart.signingKey}`],
        `--root-ca-file=${apart.folder.path}/${name}`,
      );
    const pem = readFileSync(apart.authority, 'utf8');
    apart.folder.write('old.crt', pem);
    apart.folder.write('new.crt', `${pem}${pem}`);
    await apart.make(`${namespaces}/default/serviceaccounts`, { metadata: { name: 'default' } });
    await apart.make(`${namespaces}/default/secrets`, {
      metadata: { name: 's', annotations: { 'orch.io/service-account.name': 'default' } },
      type: 'orch.io/service-account-token',
    });
    const published = async (): Promise<readonly (string | undefined)[]> => {
      const [configMap, secret] = await Promise.all(
        ['configmaps/orch-root-ca.crt', 'secrets/s'].map(async (each) => {
          const { text } = await apart.send('GET', `${namespaces}/default/${each}`);
          return JSON.parse(text).data?.['ca.crt'];
        }),
      );
      return [configMap, secret === undefined ? undefined : Buffer.from(secret, 'base64').toString()];
    };
    {
      await using running = start('old.crt');
      await until(
        async () => (await published()).every((each) => each === pem),
        () => running.err,
      );
    }
    const { data } = await apart.get<{ data: Record<string, string> }>(`${namespaces}/default/secrets/s`);
    await using running = start('new.crt');
    await until(
      async () => (await published()).every((each) => each === `${pem}${pem}`),
      () => running.err,
    );
    const after = await apart.get<{ data: Record<string, string> }>(`${namespaces}/default/secrets/s`);
    assert.equal(after.data['token'], data['token'], 'the token stays');
  });
});
