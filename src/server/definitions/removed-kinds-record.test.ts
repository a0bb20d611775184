import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { ApiClient } from '../../client/api-client.ts';
import { orch } from '../../dialect/orch.ts';
import { removedKinds } from '../../kinds/apiextensions/removed-kinds.ts';
import type { ClientRequest, ClientResponse, Transport } from '../../outbound/transport.ts';
import { RemovedKindsRecord } from './removed-kinds-record.ts';

const path = '/api/v1/namespaces/orch-system/configmaps';

/** Holds the one object, and refuses writes of a version that is not the latest. */
class OneObject implements Transport {
  object: { metadata: { resourceVersion?: string }; data: Record<string, string> } | undefined;
  /** Called before each write. */
  before = (): void => {};
  writes = 0;
  refuses = false;

  async send({ method, target, body }: ClientRequest): Promise<ClientResponse> {
    if (method === 'GET') {
      assert.equal(target, `${path}/apiserver-removed-kinds`);
      return this.object ? answer(200, this.object) : failure(404, 'NotFound');
    }
    this.before();
    if (this.refuses) return failure(403, 'Forbidden');
    const sent = JSON.parse(Buffer.from(body ?? '').toString());
    assert.equal(target, method === 'PUT' ? `${path}/apiserver-removed-kinds` : path);
    if (sent.metadata.resourceVersion !== this.object?.metadata.resourceVersion) return failure(409, 'Conflict');
    this.writes += 1;
    this.object = { ...sent, metadata: { ...sent.metadata, resourceVersion: `${this.writes}` } };
    return answer(200, this.object ?? {});
  }

  get kinds() {
    return removedKinds(this.object?.data ?? {});
  }
}

const answer = (status: number, value: object): ClientResponse => ({
  status,
  body: (async function* () {
    yield Buffer.from(JSON.stringify(value));
  })(),
});
const failure = (code: number, reason: string): ClientResponse =>
  answer(code, { kind: 'Status', reason, code, details: { name: 'apiserver-removed-kinds' } });

const clock = new ManualClock();
const open = (transport: Transport): RemovedKindsRecord =>
  new RemovedKindsRecord({ client: new ApiClient(transport, 'test'), clock, dialect: orch });
const widget = { uid: 'u1', kind: 'Widget', namespaced: true };

describe('the record of kinds that were removed', () => {
  it('has what was added until it is dropped', async () => {
    const stored = new OneObject();
    const record = open(stored);
    await record.drop('widgets.a.example', 'Widget');
    assert.equal(stored.writes, 0);
    await record.add('widgets.a.example', widget);
    assert.deepEqual(stored.kinds, [{ plural: 'widgets', group: 'a.example', kind: 'Widget', namespaced: true }]);
    await record.add('widgets.a.example', widget);
    assert.equal(stored.writes, 1, 'another server has written it');
    await record.drop('widgets.a.example', 'Gadget');
    assert.equal(stored.kinds.length, 1, 'another kind has its plural');
    await record.drop('widgets.a.example', 'Widget');
    assert.deepEqual(stored.kinds, []);
  });

  it('is written once for what comes during a write', async () => {
    const stored = new OneObject();
    const record = open(stored);
    const names = Array.from({ length: 20 }, (_, n) => `widgets.g${n}.example`);
    await Promise.all(names.map((name) => record.add(name, widget)));
    assert.deepEqual([stored.kinds.length, stored.writes], [20, 1]);
  });

  it('keeps what others write meanwhile', async () => {
    const stored = new OneObject();
    stored.before = () => {
      stored.before = () => {};
      stored.object = { metadata: { resourceVersion: 'x' }, data: { other: 'not an entry' } };
    };
    await open(stored).add('widgets.a.example', widget);
    assert.deepEqual(Object.keys(stored.object?.data ?? {}).toSorted(), ['other', 'widgets.a.example']);
    assert.equal(stored.kinds.length, 1);
  });

  it('says what could not be written, and writes it with the next', async () => {
    const stored = new OneObject();
    const record = open(stored);
    stored.refuses = true;
    await assert.rejects(record.add('widgets.a.example', widget));
    stored.refuses = false;
    await record.add('widgets.b.example', widget);
    assert.equal(stored.kinds.length, 2);
  });

  it('has the latest', async () => {
    const stored = new OneObject();
    const record = open(stored);
    for (let n = 0; n <= limits.removedKindsMax; n++) {
      clock.advance(1);
      await record.add(`widgets.g${n}.example`, widget);
    }
    const groups = stored.kinds.map(({ group }) => group);
    assert.equal(groups.length, limits.removedKindsMax);
    assert.ok(!groups.includes('g0.example') && groups.includes(`g${limits.removedKindsMax}.example`));
  });

  it('is read whatever somebody has written there', () => {
    const texts = ['', '{', 'null', '1', '[]', '{"kind":1}', '{"kind":"A","namespaced":"x","uid":"","at":0}'];
    const data = Object.fromEntries(texts.map((text, n) => [`a${n}.b`, text]));
    assert.deepEqual(removedKinds({ ...data, nodot: '{"kind":"A","namespaced":true,"uid":"","at":0}' }), []);
  });
});
