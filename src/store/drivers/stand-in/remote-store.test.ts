import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { standInLimits } from '../../../base/stand-in-limits.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { within } from '../../../base/waits-fixture.ts';
import { conformance } from '../../conformance/conformance.ts';
import type { Store } from '../../store.ts';
import { type EtcdStandIn, openEtcdStandIn } from './etcd-stand-in.ts';
import { encodeFrame } from './frames.ts';
import { openStandInStore } from './stand-in-store.ts';

const anyPort = [{ host: '127.0.0.1', port: 0 }];
const urlOf = ({ addresses }: EtcdStandIn): string => `http://127.0.0.1:${addresses[0]?.port}`;

async function storeOf(standIn: EtcdStandIn): Promise<Store> {
  const store = await openStandInStore([urlOf(standIn)], systemClock);
  assert.ok(store);
  return store;
}

conformance({
  name: 'stand-in',
  capabilities: { durable: false },
  async open() {
    const standIn = await openEtcdStandIn(anyPort);
    const store = await storeOf(standIn);
    return {
      store,
      async dispose() {
        await store.close();
        standIn.close();
      },
    };
  },
});

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('a store in another process', () => {
  it('is one for all who open it, and outlives them', async () => {
    const standIn = await openEtcdStandIn(anyPort);
    const [one, other] = [await storeOf(standIn), await storeOf(standIn)];
    const { revision } = await one.create('/a', bytes('one'));
    assert.deepEqual((await other.get('/a'))?.revision, revision);
    await one.close();
    await other.close();
    const later = await storeOf(standIn);
    assert.equal(Buffer.from((await later.get('/a'))?.value ?? []).toString(), 'one');
    await later.close();
    standIn.close();
  });

  it('tells of its loss: reads were not answered, writes have an unknown outcome, later calls are not sent', async () => {
    const silent = createServer();
    const sockets: Socket[] = [];
    silent.on('connection', (socket) => {
      sockets.push(socket);
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: orch-store-1\r\n\r\n'),
      );
    });
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const store = await openStandInStore([`http://127.0.0.1:${port}`], systemClock);
    assert.ok(store);
    const read = assert.rejects(store.get('/a'), { code: 'unavailable' });
    const write = assert.rejects(store.create('/a', bytes('x')), { code: 'unknownOutcome' });
    for (const socket of sockets) socket.destroy();
    await within(Promise.all([read, write]), 'the calls end');
    await assert.rejects(store.head(), { code: 'unavailable' });
    await store.close();
    silent.close();
  });

  it('is waited for while nobody answers, and is none where another program does', async () => {
    const other = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'));
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    assert.equal(await openStandInStore([`http://127.0.0.1:${port}`], systemClock), undefined);
    assert.equal(await openStandInStore(['https://127.0.0.1:1'], systemClock), undefined);
    other.close();
    await once(other, 'close');
    const opening = openStandInStore([`http://127.0.0.1:${port}`], systemClock);
    const standIn = await openEtcdStandIn([{ host: '127.0.0.1', port }]);
    const store = await within(opening, 'the store opens');
    assert.ok(store);
    await store.close();
    standIn.close();
  });
});

const upgrade = 'GET /orch/store HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: orch-store-1\r\n\r\n';

describe('what does not keep to the protocol is cut off, and the others go on', () => {
  const call = (message: unknown): Buffer => encodeFrame(message);
  const length = (bytes: number): Buffer => {
    const prefix = Buffer.alloc(8);
    prefix.writeUInt32BE(bytes, 0);
    return prefix;
  };
  for (const [what, sent] of [
    ['no frame', length(0)],
    ['a frame that is too long', length(standInLimits.frameBytesMax)],
    ['a head longer than its frame', Buffer.from('0000000500000009aa', 'hex')],
    ['a head that is no JSON', Buffer.concat([Buffer.from('0000000500000001', 'hex'), bytes('{')])],
    ['a value beyond the end', Buffer.concat([Buffer.from('000000100000000c', 'hex'), bytes('{"bytes":99}')])],
    ['no call', call('head')],
    ['an unknown method', call({ method: '__proto__' })],
    ['a key that is none', call({ method: 'get', key: 1 })],
    ['a revision that is none', call({ method: 'get', key: '/a', at: -1 })],
    ['options that are none', call({ method: 'list', prefix: '', options: { limit: 'all' } })],
    ['a value that is text', call({ method: 'write', write: { verb: 'create', key: '/a', value: 'text' } })],
    ['an update of no revision', call({ method: 'write', write: { verb: 'update', key: '/a', value: bytes('') } })],
    ['a write of no key', call({ method: 'write', write: { verb: 'delete', key: '', expected: 1 } })],
    ['a batch that is none', call({ method: 'batch', writes: {} })],
    [
      'a call after changes were asked for',
      Buffer.concat([call({ method: 'changes', from: 1 }), call({ method: 'head' })]),
    ],
  ] as const) {
    it(what, async () => {
      const standIn = await openEtcdStandIn(anyPort);
      const store = await storeOf(standIn);
      const socket = connect(standIn.addresses[0]?.port ?? 0, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.write(upgrade);
      socket.write(sent);
      await within(once(socket, 'close'), 'the connection closes');
      await store.create('/after', bytes('x'));
      assert.equal((await store.list('')).records.length, 1);
      await store.close();
      standIn.close();
    });
  }
});

describe('the HTTP of a stand-in', () => {
  for (const [request, status, body] of [
    ['GET /health', 200, /^\{"health":"true"/],
    ['GET /health?serializable=true', 200, /^\{"health":"true"/],
    ['GET /version', 200, /"etcdserver":"3\./],
    ['GET /readyz', 200, /^ok/],
    ['GET /livez', 200, /^ok/],
    ['POST /health', 405, /Not Allowed/],
    ['GET /toString', 404, /not found/],
    ['GET /v2/keys', 404, /not found/],
    ['GET /orch/store', 403, /of this machine/],
  ] as const) {
    it(`${request}: ${status}`, async () => {
      const standIn = await openEtcdStandIn(anyPort);
      const [method = '', path = ''] = request.split(' ');
      const answer = await fetch(urlOf(standIn) + path, { method });
      assert.equal(answer.status, status);
      assert.match(await answer.text(), body);
      standIn.close();
    });
  }

  for (const [what, head] of [
    ['404 for another path', upgrade.replace('/orch/store', '/')],
    ['403 for another protocol', upgrade.replace('orch-store-1', 'websocket')],
    ['400 for what is no request', 'nonsense\r\n\r\n'],
    ['400 for a head without an end', 'x'.repeat(limits.headerBytesMax + 1)],
  ] as const) {
    it(`answers ${what}`, async () => {
      const standIn = await openEtcdStandIn(anyPort);
      const socket = connect(standIn.addresses[0]?.port ?? 0, '127.0.0.1');
      socket.write(head);
      const [answer] = await within(once(socket, 'data'), 'an answer');
      assert.ok(String(answer).startsWith(`HTTP/1.1 ${what.slice(0, 3)} `), String(answer));
      socket.destroy();
      standIn.close();
    });
  }
});
