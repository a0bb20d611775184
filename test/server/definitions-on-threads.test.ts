import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import type { Definition } from '../../src/kinds/apiextensions/custom-resource-definition.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { type ClientConnection, ThreadedServer } from '../support/threaded-server.ts';

/** What one thread said of a definition holds for requests to all others that come later. */

const rounds = 8;

describe('definitions on three serving threads', () => {
  let server: ThreadedServer;
  let connections: readonly ClientConnection[];
  before(async () => {
    server = await ThreadedServer.start(3);
    connections = server.connectAll();
  });
  after(() => server[Symbol.asyncDispose]());

  const any = (at: number): ClientConnection => connections[at % connections.length] ?? assert.fail();
  const statuses = async (path: string): Promise<readonly number[]> => [
    ...new Set(await Promise.all(connections.map(async (each) => (await each.request('GET', path)).status))),
  ];

  test('a kind is there for all when one says that it is established, and gone for all when its definition is', async () => {
    for (let round = 0; round < rounds; round++) {
      const group = `round${round}.example`;
      const definition = definitionOf({ group, dialect: kubernetes });
      const { name } = definition.metadata;
      const path = `/apis/${group}/v1/namespaces/default/widgets`;
      const created = await any(round).request('POST', definitionPath(undefined, kubernetes), { body: definition });
      assert.equal(created.status, 201, created.text);
      const one = definitionPath(name, kubernetes);
      await until(async () => {
        const { json } = await any(round + 1).request<Definition>('GET', one);
        return (
          json.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true
        );
      });
      assert.deepEqual(await statuses(path), [200], `round ${round}`);
      assert.deepEqual(await statuses(`/apis/${group}/v1`), [200], `discovery in round ${round}`);
      const made = await any(round + 2).request('POST', path, {
        body: { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } },
      });
      assert.equal(made.status, 201, made.text);
      assert.equal((await any(round).request('DELETE', one)).status, 200);
      await until(async () => (await any(round + 1).request('GET', one)).status === 404);
      assert.deepEqual(await statuses(path), [404], `round ${round}, after it is gone`);
      assert.deepEqual(await statuses(`/apis/${group}/v1`), [404], `discovery in round ${round}, after it is gone`);
    }
  });
});
