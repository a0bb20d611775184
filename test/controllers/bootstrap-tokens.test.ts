import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { createLogger } from '../../src/base/logger.ts';
import { seededRandom, systemRandom } from '../../src/base/random.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { chooseControllers, startControllers } from '../../src/controllers/controllers.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { internalError } from '../../src/meta/status-error.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { RegistryTransport } from '../support/registry-transport.ts';

/** The controllers of bootstrap tokens (spec sections 3.3 and 5.4), over a registry, by a clock that the test moves. */
let fixture: RegistryFixture;
let transport: RegistryTransport;
let clock: ManualClock;
let stop: () => void;
let log: string;

const now = Date.UTC(2026, 0, 1, 12);
const secrets = '/api/v1/namespaces/orch-system/secrets';
const clusterInfo = '/api/v1/namespaces/orch-public/configmaps/cluster-info';
const secretPart = '0123456789abcdef';
const hour = 3600_000;

beforeEach(async () => {
  fixture = await RegistryFixture.open();
  transport = new RegistryTransport(fixture);
  clock = new ManualClock(now);
  stop = () => {};
  log = '';
});
afterEach(async () => {
  stop();
  await fixture[Symbol.asyncDispose]();
  assert.doesNotMatch(log, new RegExp(`${secretPart}|fedcba9876543210`), 'the log has a secret');
});

const write = (line: string): void => {
  log += line;
};

function start(...names: readonly string[]): void {
  const running = startControllers(chooseControllers(names), {
    client: new ApiClient(transport, 'controllers'),
    clock,
    random: systemRandom,
    logger: createLogger({ clock, format: 'json', level: 'debug', write }),
    dialect: orch,
    rootAuthority: '',
  });
  stop = () => running.close();
}

/** An RFC 3339 time so much later than the start of the clock. */
const later = (ms: number): string => new Date(now + ms).toISOString();

interface Sent {
  readonly data?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly type?: string;
  readonly namespace?: string;
  readonly finalizers?: readonly string[];
}

function makeToken(id: string, { data = {}, name, type, namespace, finalizers }: Sent = {}): Promise<ApiObject> {
  return fixture.object('POST', namespace ? `/api/v1/namespaces/${namespace}/secrets` : secrets, {
    metadata: { name: name ?? `bootstrap-token-${id}`, ...(finalizers && { finalizers }) },
    type: type ?? 'bootstrap.orch.io/token',
    stringData: { 'token-id': id, 'token-secret': secretPart, 'usage-bootstrap-signing': 'true', ...data },
  });
}

const change = (id: string, stringData: Readonly<Record<string, string>>): Promise<ApiObject> =>
  fixture.object('PATCH', `${secrets}/bootstrap-token-${id}`, { stringData });

const exists = (path: string): Promise<boolean> =>
  fixture.call('GET', path).then(
    () => true,
    () => false,
  );

describe('the token cleaner', () => {
  const deleted = (): readonly string[] =>
    transport.requests.flatMap((each) => (each.startsWith('DELETE ') ? [each.slice(each.lastIndexOf('/') + 1)] : []));
  const gone = (id: string): Promise<void> =>
    until(async () => !(await exists(`${secrets}/bootstrap-token-${id}`)), `${id} is still there`);
  let count = 0;
  /** Everything before is looked at when something expired that came later is gone. */
  async function settled(): Promise<void> {
    const id = `later${count++ % 10}`;
    await makeToken(id, { data: { expiration: later(0) } });
    await gone(id);
  }
  const deletedUnasked = (): readonly string[] => deleted().filter((name) => !name.includes('later'));

  const rows: readonly (readonly [what: string, sent: Sent, expected: 'deleted' | 'kept'])[] = [
    ['that has expired', { data: { expiration: later(-1) } }, 'deleted'],
    ['that expires now', { data: { expiration: later(0) } }, 'deleted'],
    ['that expires in a moment', { data: { expiration: later(1) } }, 'kept'],
    ['that expires never', {}, 'kept'],
    ['with an empty expiration', { data: { expiration: '' } }, 'kept'],
    ['of another time zone, expired', { data: { expiration: '2026-01-01T14:59:59+03:00' } }, 'deleted'],
    ['of another time zone, good', { data: { expiration: '2026-01-01T09:00:01-03:00' } }, 'kept'],
    ['with a time that is none', { data: { expiration: 'tomorrow' } }, 'deleted'],
    ['with a number', { data: { expiration: '1893456000' } }, 'deleted'],
    ['with a time without a zone', { data: { expiration: '2030-01-01T00:00:00' } }, 'deleted'],
    ['with a date alone', { data: { expiration: '2030-01-01' } }, 'deleted'],
    ['with blanks around', { data: { expiration: ' 2030-01-01T00:00:00Z ' } }, 'deleted'],
    ['for nothing, expired', { data: { 'usage-bootstrap-signing': 'no', expiration: later(-1) } }, 'deleted'],
    ['of another name, expired', { name: 'mine', data: { expiration: later(-1) } }, 'deleted'],
    ['of another id, expired', { data: { 'token-id': 'zzzzzz', expiration: later(-1) } }, 'deleted'],
    ['of another type, expired', { type: 'Opaque', data: { expiration: later(-1) } }, 'kept'],
    ['of another namespace, expired', { namespace: 'default', data: { expiration: later(-1) } }, 'kept'],
  ];
  for (const [what, sent, expected] of rows) {
    it(`a token ${what} is ${expected}, whether it was there before or comes`, async () => {
      await makeToken('before', { ...sent, ...(sent.name && { name: `${sent.name}-before` }) });
      start('tokencleaner');
      await makeToken('during', { ...sent, ...(sent.name && { name: `${sent.name}-during` }) });
      await settled();
      await settled();
      const names = ['before', 'during'].map((id) => (sent.name ? `${sent.name}-${id}` : `bootstrap-token-${id}`));
      assert.deepEqual([...deletedUnasked()].sort(), expected === 'deleted' ? names : []);
    });
  }

  it('a token goes at its time, and not before', async () => {
    start('tokencleaner');
    await makeToken('aaaaaa', { data: { expiration: later(90_000) } });
    await makeToken('bbbbbb', { data: { expiration: later(400 * 24 * hour) } });
    await settled();
    clock.advance(89_999);
    await settled();
    assert.deepEqual(deletedUnasked(), []);
    clock.advance(1);
    await gone('aaaaaa');
    // A timer cannot be as long as the second one takes.
    for (let passedMs = 90_000; passedMs < 400 * 24 * hour - 1; passedMs += limits.controllerTimerMsMax) {
      assert.ok(clock.pending > 0, 'somebody looks again');
      clock.advance(Math.min(limits.controllerTimerMsMax, 400 * 24 * hour - 1 - passedMs));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await settled();
    assert.deepEqual(deletedUnasked(), ['bootstrap-token-aaaaaa']);
    clock.advance(1);
    await gone('bbbbbb');
  });

  it('a moved expiration counts: later, earlier, and none any more', async () => {
    start('tokencleaner');
    for (const id of ['aaaaaa', 'bbbbbb', 'cccccc']) await makeToken(id, { data: { expiration: later(1_000) } });
    await settled();
    await change('aaaaaa', { expiration: later(5_000) });
    await change('bbbbbb', { expiration: later(500) });
    await change('cccccc', { expiration: '' });
    await settled();
    clock.advance(500);
    await gone('bbbbbb');
    clock.advance(4_499);
    await settled();
    assert.deepEqual(deletedUnasked(), ['bootstrap-token-bbbbbb']);
    clock.advance(1);
    await gone('aaaaaa');
    assert.equal(await exists(`${secrets}/bootstrap-token-cccccc`), true);
  });

  it('a token that is moved while it is being deleted stays, and so does another of its name', async () => {
    const expired = await makeToken('aaaaaa', { data: { expiration: later(-1) } });
    let moved: Promise<ApiObject> | undefined;
    // The server hears of the move first: the request waits for it.
    const send = transport.send.bind(transport);
    transport.send = async (request) => {
      if (request.method === 'DELETE' && request.target.endsWith('aaaaaa')) {
        moved ??= change('aaaaaa', { expiration: later(hour) });
        await moved;
      }
      return send(request);
    };
    start('tokencleaner');
    await until(() => moved !== undefined, 'it is not deleted');
    await settled();
    const { metadata } = await fixture.object('GET', `${secrets}/bootstrap-token-aaaaaa`);
    assert.equal(metadata.uid, expired.metadata.uid);
    assert.deepEqual(deletedUnasked(), ['bootstrap-token-aaaaaa']);
  });

  it('a failure is repeated, and what is being deleted is not deleted again', async () => {
    let failures = 0;
    transport.failure = ({ method }) =>
      method === 'DELETE' && failures++ < 3 ? internalError(new Error('no')) : undefined;
    await makeToken('aaaaaa', { data: { expiration: later(-1) }, finalizers: ['example.com/hold'] });
    start('tokencleaner');
    const path = `${secrets}/bootstrap-token-aaaaaa`;
    await until(async () => {
      clock.advance(1_000);
      return (await fixture.object('GET', path)).metadata.deletionTimestamp !== undefined;
    }, 'it is not deleted');
    const before = deletedUnasked().length;
    await fixture.object('PATCH', path, { metadata: { labels: { a: 'b' } } });
    await settled();
    assert.equal(deletedUnasked().length, before);
  });

  it('keeps no timer of a token that is gone', async () => {
    start('tokencleaner');
    await settled();
    const before = clock.pending;
    for (let n = 0; n < 20; n++) {
      await makeToken(`gone${10 + n}`, { data: { expiration: later(hour) } });
      await fixture.call('DELETE', `${secrets}/bootstrap-token-gone${10 + n}`);
    }
    await settled();
    assert.equal(clock.pending, before);
  });
});

describe('the bootstrap signer', () => {
  type Data = Readonly<Record<string, string>>;
  const kubeconfig = 'apiVersion: v1\nkind: Config\n# čeština, 日本語\n';

  /** The signature as RFC 7515 has it, made without the product. */
  function signature(id: string, key: string, content: string): string {
    const header = Buffer.from(`{"alg":"HS256","kid":"${id}"}`).toString('base64url');
    const payload = Buffer.from(content).toString('base64url');
    const mac = createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url');
    return `${header}..${mac}`;
  }
  const key = (id: string): string => `jws-kubeconfig-${id}`;
  const signedBy = (ids: readonly string[], content = kubeconfig): Data =>
    Object.fromEntries(ids.map((id) => [key(id), signature(id, `${id}.${secretPart}`, content)]));

  const makeInfo = (data: Data = { kubeconfig }, more: object = {}): Promise<ApiObject> =>
    fixture.object('POST', clusterInfo.replace(/\/[^/]*$/, ''), { metadata: { name: 'cluster-info' }, data, ...more });
  const patchInfo = (data: Readonly<Record<string, string | null>>): Promise<ApiObject> =>
    fixture.object('PATCH', clusterInfo, { data });
  const info = async (): Promise<Data> => ((await fixture.object('GET', clusterInfo))['data'] ?? {}) as Data;
  const sorted = (data: Data): string => JSON.stringify(Object.entries(data).sort());
  async function becomes(expected: Data): Promise<void> {
    let found: Data = {};
    await until(
      async () => {
        found = await info();
        return sorted(found) === sorted(expected);
      },
      () => `${sorted(found)} is not ${sorted(expected)}`,
    );
  }
  /** Something that the controller must answer has been answered: what came before it as well. */
  async function settled(): Promise<void> {
    await makeToken('proof0');
    await until(async () => key('proof0') in (await info()), 'no proof');
    await fixture.call('DELETE', `${secrets}/bootstrap-token-proof0`);
    await until(async () => !(key('proof0') in (await info())), 'the proof stays');
  }

  const rows: readonly (readonly [what: string, sent: Sent, signs: boolean])[] = [
    ['for signing', {}, true],
    ['that expires later', { data: { expiration: later(1) } }, true],
    ['for both', { data: { 'usage-bootstrap-authentication': 'true' } }, true],
    ['that has expired', { data: { expiration: later(0) } }, false],
    ['that expires nobody knows when', { data: { expiration: 'soon' } }, false],
    ['not for signing', { data: { 'usage-bootstrap-signing': 'false' } }, false],
    ['for a use that is nearly true', { data: { 'usage-bootstrap-signing': 'True' } }, false],
    ['for a use that is not said', { data: { 'usage-bootstrap-signing': '' } }, false],
    ['without an id', { data: { 'token-id': '' } }, false],
    ['of another id than its name', { data: { 'token-id': 'zzzzzz' } }, false],
    ['of another name', { name: 'bootstrap-tokens-aaaaaa' }, false],
    ['of a longer name', { name: 'bootstrap-token-aaaaaaa', data: { 'token-id': 'aaaaaaa' } }, false],
    ['without a secret', { data: { 'token-secret': '' } }, false],
    ['of another type', { type: 'Opaque' }, false],
    ['of another namespace', { namespace: 'default' }, false],
  ];
  for (const [what, sent, signs] of rows) {
    it(`a token ${what} ${signs ? 'signs' : 'does not sign'}, whether it was there before or comes`, async () => {
      await makeInfo();
      start('bootstrapsigner');
      await makeToken('aaaaaa', sent);
      await settled();
      await becomes({ kubeconfig, ...(signs && signedBy(['aaaaaa'])) });
      stop();
      await patchInfo({ [key('aaaaaa')]: null });
      start('bootstrapsigner');
      await settled();
      await becomes({ kubeconfig, ...(signs && signedBy(['aaaaaa'])) });
    });
  }

  it('signs with every token, and other keys stay as they are', async () => {
    const mine = { kubeconfig, mine: 'x', 'jws-other': 'y', 'jws-kubeconfig': 'z' };
    await makeInfo(mine, { binaryData: { bytes: '/w==' } });
    await Promise.all(['aaaaaa', 'bbbbbb', '000000'].map((id) => makeToken(id)));
    start('bootstrapsigner');
    await becomes({ ...mine, ...signedBy(['aaaaaa', 'bbbbbb', '000000']) });
    assert.deepEqual((await fixture.object('GET', clusterInfo))['binaryData'], { bytes: '/w==' });
  });

  it('signs anew when the content changes, when it is made again, and when somebody spoils a signature', async () => {
    await makeToken('aaaaaa');
    start('bootstrapsigner');
    await makeInfo();
    await becomes({ kubeconfig, ...signedBy(['aaaaaa']) });
    await patchInfo({ kubeconfig: 'other' });
    await becomes({ kubeconfig: 'other', ...signedBy(['aaaaaa'], 'other') });
    await patchInfo({ [key('aaaaaa')]: 'forged', [key('foreign')]: 'forged', [key('')]: 'forged' });
    await becomes({ kubeconfig: 'other', ...signedBy(['aaaaaa'], 'other') });
    await fixture.call('DELETE', clusterInfo);
    await makeInfo({ kubeconfig: '' });
    await becomes({ kubeconfig: '', ...signedBy(['aaaaaa'], '') });
  });

  it('signs with the secret that the token has', async () => {
    await makeInfo();
    await makeToken('aaaaaa');
    start('bootstrapsigner');
    await becomes({ kubeconfig, ...signedBy(['aaaaaa']) });
    await change('aaaaaa', { 'token-secret': 'fedcba9876543210' });
    await becomes({ kubeconfig, [key('aaaaaa')]: signature('aaaaaa', 'aaaaaa.fedcba9876543210', kubeconfig) });
  });

  const ends: readonly (readonly [what: string, end: () => unknown])[] = [
    ['its Secret', () => fixture.call('DELETE', `${secrets}/bootstrap-token-aaaaaa`)],
    ['its use', () => change('aaaaaa', { 'usage-bootstrap-signing': 'no' })],
    ['its time', () => clock.advance(5_000)],
    ['a time that is moved', () => change('aaaaaa', { expiration: later(0) })],
    ['a time that is broken', () => change('aaaaaa', { expiration: 'x' })],
  ];
  for (const [what, end] of ends) {
    it(`a signature goes with ${what}, and the others stay`, async () => {
      await makeInfo();
      await makeToken('aaaaaa', { data: { expiration: later(5_000) } });
      await makeToken('bbbbbb', { data: { expiration: later(hour) } });
      start('bootstrapsigner');
      await becomes({ kubeconfig, ...signedBy(['aaaaaa', 'bbbbbb']) });
      clock.advance(4_999);
      await settled();
      await becomes({ kubeconfig, ...signedBy(['aaaaaa', 'bbbbbb']) });
      await end();
      await becomes({ kubeconfig, ...signedBy(['bbbbbb']) });
    });
  }

  it('a signature goes when its Secret is being deleted', async () => {
    await makeInfo();
    await makeToken('aaaaaa', { finalizers: ['example.com/hold'] });
    start('bootstrapsigner');
    await becomes({ kubeconfig, ...signedBy(['aaaaaa']) });
    await fixture.call('DELETE', `${secrets}/bootstrap-token-aaaaaa`);
    await becomes({ kubeconfig });
  });

  it('writes nothing where all is signed, and makes nothing where nothing is', async () => {
    const writes = () => transport.requests.filter((each) => !each.startsWith('GET '));
    await makeToken('aaaaaa');
    start('bootstrapsigner');
    await makeToken('bbbbbb');
    await until(() => transport.requests.some((each) => each.includes('configmaps')), 'it does not look');
    assert.equal(await exists(clusterInfo), false);
    await makeInfo({ other: 'x' });
    await patchInfo({ kubeconfig });
    await becomes({ other: 'x', kubeconfig, ...signedBy(['aaaaaa', 'bbbbbb']) });
    await fixture.object('PATCH', clusterInfo, { metadata: { labels: { a: 'b' } } });
    await change('aaaaaa', { description: 'the first' });
    await settled();
    // The content, and the proof that comes and goes.
    assert.equal(writes().length, 3, writes().join());
  });

  it('takes no signature away before it knows the tokens', async () => {
    await makeToken('aaaaaa');
    await makeInfo({ kubeconfig, ...signedBy(['aaaaaa']) });
    const listing = Promise.withResolvers<void>();
    const send = transport.send.bind(transport);
    transport.send = async (request) => {
      if (request.target.includes('/secrets?')) await listing.promise;
      return send(request);
    };
    start('bootstrapsigner');
    const isWatching = (each: string): boolean => /configmaps\?.*watch=/.test(each);
    await until(() => transport.requests.some(isWatching), 'it does not follow cluster-info');
    await fixture.object('PATCH', clusterInfo, { metadata: { labels: { a: 'b' } } });
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    listing.resolve();
    await settled();
    // The proof that comes and goes.
    assert.equal(transport.requests.filter((each) => each.startsWith('PUT ')).length, 2);
  });

  it('one that may not be changed is not tried for ever; the next one is signed', async () => {
    await makeToken('aaaaaa');
    await makeInfo({ kubeconfig }, { immutable: true });
    start('bootstrapsigner');
    await until(() => log.includes('cannot be signed'), 'it does not say so');
    const events = async () => (await fixture.list('/api/v1/namespaces/orch-public/events')).items;
    await until(async () => (await events()).length === 1, 'there is no Event');
    const [event] = await events();
    assert.equal(event?.['reason'], 'FailedSigning');
    assert.ok(!JSON.stringify(event).includes(secretPart));
    const tried = transport.requests.filter((each) => each.startsWith('PUT ')).length;
    clock.advance(hour);
    await fixture.call('DELETE', clusterInfo);
    await makeInfo();
    await becomes({ kubeconfig, ...signedBy(['aaaaaa']) });
    assert.equal(transport.requests.filter((each) => each.startsWith('PUT ')).length, tried + 1);
  });

  it('a failure is repeated', async () => {
    let failures = 0;
    transport.failure = ({ method }) =>
      method === 'PUT' && failures++ < 3 ? internalError(new Error('no')) : undefined;
    await makeToken('aaaaaa');
    await makeInfo();
    start('bootstrapsigner');
    await until(async () => {
      clock.advance(100);
      return key('aaaaaa') in (await info());
    }, 'it gives up');
  });

  /** Both controllers beside random writers and a clock that moves; afterwards all is as the last writes say. */
  describe('together with the cleaner, at last', () => {
    interface Token {
      readonly secret: string;
      readonly signing: string;
      readonly expiration: string;
    }
    const ids = ['aaaaaa', 'bbbbbb', 'cccccc', 'dddddd'];
    const dataOf = ({ secret, signing, expiration }: Token) => ({
      'token-secret': secret,
      'usage-bootstrap-signing': signing,
      expiration,
    });

    for (let seed = 1; seed <= 20; seed++) {
      it(`agrees with the tokens, seed ${seed}`, async () => {
        const random = seededRandom(seed);
        const below = (count: number): number => (random.bytes(1)[0] ?? 0) % count;
        const oneOf = <T>(values: readonly T[]): T => values[below(values.length)] as T;
        const tokens = new Map<string, Token>();
        let content = kubeconfig;
        const anyToken = (): Token => ({
          secret: oneOf([secretPart, 'fedcba9876543210']),
          signing: oneOf(['true', 'true', 'false']),
          expiration: oneOf(['', new Date(clock.now() + below(50) * 100).toISOString()]),
        });
        /** Whether the write was done: a token may have been deleted, or not yet. */
        const done = (write: Promise<unknown>): Promise<boolean> =>
          write.then(
            () => true,
            () => false,
          );
        const steps: readonly (() => unknown)[] = [
          async () => {
            const [id, token] = [oneOf(ids), anyToken()];
            if (await done(makeToken(id, { data: dataOf(token) }))) tokens.set(id, token);
          },
          async () => {
            const [id, token] = [oneOf(ids), anyToken()];
            if (await done(change(id, dataOf(token)))) tokens.set(id, token);
          },
          async () => {
            const id = oneOf(ids);
            if (await done(fixture.call('DELETE', `${secrets}/bootstrap-token-${id}`))) tokens.delete(id);
          },
          () => clock.advance(below(20) * 100),
          async () => {
            content = `content ${below(100)}`;
            await patchInfo({ kubeconfig: content });
          },
          () => patchInfo({ [key(oneOf([...ids, 'foreign']))]: oneOf(['forged', null]) }),
          async () => {
            stop();
            start('bootstrapsigner', 'tokencleaner');
          },
          async () => {
            for (let turns = below(20); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
          },
        ];
        await makeInfo();
        start('bootstrapsigner', 'tokencleaner');
        for (let n = 0; n < 80; n++) await oneOf(steps)();

        const left = [...tokens].filter(([, { expiration }]) => !(Date.parse(expiration) <= clock.now()));
        const names = async (): Promise<string> =>
          (await fixture.list(secrets)).items.map(({ metadata }) => metadata.name?.slice(-6)).join();
        const expected = left.map(([id]) => id).sort();
        await until(
          async () => (await names()) === expected.join(),
          () => `the tokens are not ${expected.join()}`,
        );
        const signing = left.filter(([, { signing }]) => signing === 'true');
        await becomes({
          kubeconfig: content,
          ...Object.fromEntries(
            signing.map(([id, { secret }]) => [key(id), signature(id, `${id}.${secret}`, content)]),
          ),
        });
      });
    }
  });
});
