import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { Folder, rbacPath } from '../support/authorization.ts';
import type { Command } from '../support/command.ts';
import { ControllersApart } from '../support/controllers-apart.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Controllers hear of kinds that are defined while they run, wherever they run. */

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Arrangement extends AsyncDisposable {
  send(method: string, path: string, body?: unknown): Promise<Answer>;
  /** How often all of discovery was read so far by controllers of another process. */
  discoveries(): number;
}

const rows: readonly (readonly [where: string, start: () => Promise<Arrangement>])[] = [
  ['in the process of the server', inServer],
  ['apart, with one identity', () => apart((servers) => servers.managerAs('first', controllers))],
  ['apart, each with its own account', () => apart((servers) => servers.manager(controllers))],
];
const controllers = '--controllers=garbage-collector-controller,namespace-controller';

async function inServer(): Promise<Arrangement> {
  const server = await OrchProcess.start();
  return {
    send: (method, path, body) => server.request(method, path, { body }),
    discoveries: () => 0,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function apart(start: (servers: ControllersApart) => Command): Promise<Arrangement> {
  const servers = await ControllersApart.start('--v=3');
  // Controllers of one identity have no role of their own.
  await servers.make(`${rbacPath}/clusterrolebindings`, {
    metadata: { name: 'first' },
    roleRef: { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'User', name: 'first', apiGroup: 'rbac.authorization.orch.io' }],
  });
  const running = start(servers);
  await running.prints(/"msg":"controllers run"/);
  return {
    send: (method, path, body) => servers.send(method, path, body),
    discoveries: () => [...servers.server.err.matchAll(/"URI":"\/apis(\?[^"]*)?"[^\n]*controller-manager/g)].length,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await servers[Symbol.asyncDispose]();
    },
  };
}

interface Made {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string };
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const group = 'farm.example';
const pens = `/apis/${group}/v1/namespaces/default/pens`;

/** Requests that must succeed. */
class Client {
  readonly #arrangement: Pick<Arrangement, 'send'>;
  #next = 0;

  constructor(arrangement: Pick<Arrangement, 'send'>) {
    this.#arrangement = arrangement;
  }

  async #send(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.#arrangement.send(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer;
  }

  /** In a collection, with an owner whose deletion it blocks. */
  async make(collection: string, owner?: Made): Promise<Made> {
    const { apiVersion, kind, metadata: { name, uid } = {} } = owner ?? {};
    const ownerReferences = owner && [{ apiVersion, kind, name, uid, blockOwnerDeletion: true }];
    const metadata = { name: `object-${this.#next++}`, ownerReferences };
    return JSON.parse((await this.#send('POST', collection, { metadata })).text);
  }

  async define(kind: string): Promise<void> {
    const definition = definitionOf({ group, kind });
    await this.#send('POST', definitionPath(), definition);
    const plural = definition.spec.names.plural;
    await until(async () => (await this.#arrangement.send('GET', `/apis/${group}/v1/${plural}`)).status === 200);
  }

  async remove(path: string, propagationPolicy = 'Background'): Promise<void> {
    await this.#send('DELETE', `${path}?propagationPolicy=${propagationPolicy}`);
  }

  gone(path: string): Promise<void> {
    return until(async () => (await this.#arrangement.send('GET', path)).status === 404, `${path} is still there`);
  }
}

const at = (collection: string, { metadata: { name } }: Made): string => `${collection}/${name}`;

describe('kinds that are defined while controllers run', () => {
  for (const [where, start] of rows) {
    it(where, async () => {
      await using arrangement = await start();
      const client = new Client(arrangement);
      const [owner, first] = [await client.make(configMaps), await client.make(configMaps)];
      const owned = await client.make(configMaps, owner);
      await client.remove(at(configMaps, owner));
      await client.gone(at(configMaps, owned));
      const before = arrangement.discoveries();

      // Objects of the new kind as dependents, and as owners that wait for theirs.
      await client.define('Pen');
      const pen = await client.make(pens, first);
      await client.remove(at(configMaps, first));
      await client.gone(at(pens, pen));
      const waiting = await client.make(pens);
      const inside = await client.make(configMaps, waiting);
      await client.remove(at(pens, waiting), 'Foreground');
      await client.gone(at(pens, waiting));
      await client.gone(at(configMaps, inside));

      // A second kind of a group that is known.
      await client.define('Cart');
      const carts = `/apis/${group}/v1/namespaces/default/carts`;
      const cart = await client.make(carts);
      const load = await client.make(pens, cart);
      await client.remove(at(carts, cart));
      await client.gone(at(pens, load));

      // The collector polls each 30 s, and would have found one kind each time.
      assert.ok(arrangement.discoveries() <= before + 1, 'the collector has polled');

      // Its objects go with their namespace.
      await arrangement.send('POST', '/api/v1/namespaces', { metadata: { name: 'leaving' } });
      await client.make(`/apis/${group}/v1/namespaces/leaving/carts`);
      await client.remove('/api/v1/namespaces/leaving');
      await client.gone('/api/v1/namespaces/leaving');

      // Its objects go with its definition, and what they own after them.
      const last = await client.make(carts);
      const orphan = await client.make(configMaps, last);
      await client.remove(definitionPath(`carts.${group}`));
      await client.gone(at(configMaps, orphan));
    });
  }
});

/** Makes an object of a new kind and what it owns, and removes the kind; returns the path of what is left. */
async function leftBehind(client: Client, isThere: (path: string) => Promise<boolean>): Promise<string> {
  await client.define('Pen');
  const owned = at(configMaps, await client.make(configMaps, await client.make(pens)));
  await client.remove(definitionPath(`pens.${group}`));
  await client.gone(definitionPath(`pens.${group}`));
  assert.ok(await isThere(owned));
  return owned;
}

describe('what objects owned whose kind went before anybody collected goes', () => {
  it('after a restart of the server', async () => {
    const folder = new Folder();
    try {
      const dataDir = folder.path;
      const flags = ['--controllers=*,-garbage-collector-controller'];
      let owned = '';
      {
        await using server = await OrchProcess.start({ dataDir, flags });
        const client = new Client({ send: (method, path, body) => server.request(method, path, { body }) });
        owned = await leftBehind(client, async (path) => (await server.get(path)).status === 200);
      }
      await using server = await OrchProcess.start({ dataDir });
      await until(async () => (await server.get(owned)).status === 404, `${owned} is still there`);
    } finally {
      folder[Symbol.dispose]();
    }
  });

  it('by controllers apart that start later', async () => {
    await using servers = await ControllersApart.start();
    const client = new Client({ send: (method, path, body) => servers.send(method, path, body) });
    const owned = await leftBehind(client, async (path) => (await servers.status(path)) === 200);
    await using running = servers.manager(controllers);
    await running.prints(/"msg":"controllers run"/);
    await servers.gone(owned);
  });
});
