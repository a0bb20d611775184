import assert from 'node:assert/strict';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { frameType } from '../../../src/http/h2/frames.ts';
import { rawFrame, uint32 } from '../../../src/http/h2/raw-frames-fixture.ts';
import { forClients, makeCertificate } from '../../../src/pki/certificate-fixture.ts';
import type { User } from '../../support/identity.ts';
import { whoIs } from '../../support/identity.ts';
import type { OrchProcess } from '../../support/orch-process.ts';
import { openFrames, openTls, withoutCertificate } from '../../support/raw-client.ts';
import { Dice } from '../dice.ts';
import { type Field, judge, type Protocol, type Shown, type Verdict, type World } from './oracle.ts';
import { randomText } from './over-http1.ts';
import { RandomSender, type SentRequest } from './over-http2.ts';

/**
 * Random requests of several senders over both protocols, each answer held against the oracle: no request is served as
 * somebody other than its credential says.
 */

export const proxies = makeCertificate({ name: 'proxies', authority: true });
const front = makeCertificate({ name: 'front', uses: [forClients], issuer: proxies });

export const tokensFile = 'secret-of-jane,jane,jane-id,"readers,testers"\nsecret-of-rob,rob,rob-id\n';

/** The flags that a server needs for this, given its files. */
export const flags = (files: { readonly tokens: string; readonly proxies: string }): readonly string[] => [
  `--token-auth-file=${files.tokens}`,
  `--requestheader-client-ca-file=${files.proxies}`,
  '--requestheader-username-headers=X-Remote-User',
  '--requestheader-uid-headers=X-Remote-Uid',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-',
  '--feature-gates=RemoteRequestHeaderUID=true',
];

const connections: Readonly<Record<Shown, ConnectionOptions>> = {
  administrator: {},
  proxy: { cert: front.cert, key: front.key },
  nothing: withoutCertificate,
};

/** Lets rob be bob, and a member of dev; nobody else may be anybody but by `system:masters`. */
async function makeWorld(server: OrchProcess): Promise<World> {
  const rbac = '/apis/rbac.authorization.orch.io/v1';
  const rule = (resource: string, name: string) => ({
    apiGroups: [''],
    resources: [resource],
    verbs: ['impersonate'],
    resourceNames: [name],
  });
  const role = { metadata: { name: 'rob' }, rules: [rule('users', 'bob'), rule('groups', 'dev')] };
  assert.equal((await server.post(`${rbac}/clusterroles`, role)).status, 201);
  const binding = {
    metadata: { name: 'rob' },
    subjects: [{ kind: 'User', name: 'rob', apiGroup: 'rbac.authorization.orch.io' }],
    roleRef: { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name: 'rob' },
  };
  assert.equal((await server.post(`${rbac}/clusterrolebindings`, binding)).status, 201);
  const administrator = await whoIs(server, server.credentials);
  assert.ok(typeof administrator !== 'number');
  const user = (username: string, ...groups: readonly string[]): User => ({
    username,
    uid: `${username}-id`,
    groups: [...groups, 'system:authenticated'],
  });
  return {
    administrator,
    tokens: { 'secret-of-jane': user('jane', 'readers', 'testers'), 'secret-of-rob': user('rob') },
    mayBe: { rob: { users: ['bob'], groups: ['dev'] } },
  };
}

/** What came back of a request. */
interface Outcome {
  /** 0 where there was no answer. */
  readonly status: number;
  readonly text: string;
}

interface Figures {
  requests: number;
  overHttp1: number;
  readonly outcomes: Record<string, number>;
  readonly verdicts: Record<string, number>;
  /** Requests whose bytes were changed at random. */
  changed: number;
  /** Of those that were not, and should be answered: no answer, since the connection had to end. */
  lost: number;
  connections: number;
}

interface RunOptions {
  readonly requests: number;
  readonly seed: number;
  /** Part of the requests that go over HTTP/1.1. */
  readonly http1?: number;
  readonly workers?: number;
  readonly progress?: (figures: Figures) => void;
}

/** @throws AssertionError with the request at the first answer that the oracle does not allow. */
export async function run(server: OrchProcess, options: RunOptions): Promise<Figures> {
  const { requests, seed, http1 = 0.15, workers = 12, progress } = options;
  const world = await makeWorld(server);
  const figures: Figures = {
    requests: 0,
    overHttp1: 0,
    outcomes: {},
    verdicts: {},
    changed: 0,
    lost: 0,
    connections: 0,
  };
  const checker = new Checker(world, figures);
  // Each has its own share, so that what one sends does not depend on how fast the others are.
  const work = async (worker: number): Promise<void> => {
    const dice = new Dice(seed * 1_000 + worker);
    const sent = { requests: 0, overHttp1: 0 };
    while (sent.requests < requests / workers) {
      const shown = dice.pick(['administrator', 'proxy', 'nothing', 'nothing'] as const);
      const isHttp1 = sent.overHttp1 < http1 * sent.requests;
      const count = await (isHttp1 ? overHttp1 : overHttp2)(server, dice, shown, checker);
      sent.requests += count;
      if (isHttp1) sent.overHttp1 += count;
      progress?.(figures);
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  return figures;
}

/** Malformed requests count as resets, of which a connection has some hundred. */
const refusedPerConnection = 120;
const requestsPerBatch = 40;
const batchesPerConnection = 10;

/** Returns how many requests were sent. */
async function overHttp2(server: OrchProcess, dice: Dice, shown: Shown, checker: Checker): Promise<number> {
  const client = await openFrames(server, connections[shown]);
  client.send(rawFrame(frameType.windowUpdate, 0, 0, uint32(2 ** 30)));
  checker.figures.connections += 1;
  const sender = new RandomSender(dice, client, shown);
  let count = 0;
  let refused = 0;
  const check = async ({ stream, fields, changed, cancelled }: SentRequest): Promise<void> => {
    count += 1;
    const answer = cancelled ? await afterCancel(client, stream) : await client.whole(stream);
    if (cancelled || answer.status === 400 || answer.reset !== undefined) refused += 1;
    checker.check({
      protocol: 'HTTP/2',
      shown,
      fields,
      changed: changed || cancelled,
      outcome: { status: answer.ended ? answer.status : 0, text: answer.body.toString() },
    });
  };
  for (let batch = 0; batch < batchesPerConnection && refused < refusedPerConnection && !client.closed; batch += 1) {
    for (const sent of sender.send(requestsPerBatch)) await check(sent);
    if (!dice.chance(0.5)) continue;
    await check(sender.sendChanged());
    if (sender.broken) break;
  }
  client.socket.destroy();
  return count;
}

/** What there is of an answer once the server has read the RST_STREAM. */
async function afterCancel(client: Awaited<ReturnType<typeof openFrames>>, stream: number) {
  await client.pinged().catch(() => {}); // the connection has ended
  return client.answer(stream);
}

const textsPerConnection = 30;

async function overHttp1(server: OrchProcess, dice: Dice, shown: Shown, checker: Checker): Promise<number> {
  const reader = new TextReader(await openTls(server, connections[shown]));
  checker.figures.connections += 1;
  let count = 0;
  while (count < textsPerConnection && !reader.ended) {
    count += 1;
    const { text, fields, changed } = randomText(dice, shown);
    reader.socket.write(text);
    const outcome = await reader.answer(changed || fields === undefined);
    checker.check({ protocol: 'HTTP/1.1', shown, fields, changed, outcome });
    // Where the next request begins is not sure any more.
    if (changed || fields === undefined) break;
  }
  reader.socket.destroy();
  return count;
}

/** Reads answers of HTTP/1.1, one after the other. */
class TextReader {
  readonly socket: TLSSocket;
  #received = '';
  ended = false;
  #wake: () => void = () => {};

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
      this.#wake();
    });
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.ended = true;
        this.#wake();
      });
    }
  }

  /** Of a request whose end is in doubt the server may wait for more: it is told that nothing more comes. */
  async answer(isLast: boolean): Promise<Outcome> {
    if (isLast) this.socket.end();
    for (;;) {
      const answer = this.#take();
      if (answer) return answer;
      if (this.ended) return { status: 0, text: '' };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(): Outcome | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const head = this.#received.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    assert.ok(length >= 0, head);
    if (this.#received.length < end + 4 + length) return undefined;
    if (/connection: close/i.test(head)) this.ended = true;
    const text = Buffer.from(this.#received.slice(end + 4, end + 4 + length), 'latin1').toString();
    this.#received = this.#received.slice(end + 4 + length);
    return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]), text };
  }
}

interface Checked {
  readonly protocol: Protocol;
  readonly shown: Shown;
  readonly fields: readonly Field[] | undefined;
  readonly changed: boolean;
  readonly outcome: Outcome;
}

const statusOfVerdict = { served: 201, refused: 400, unauthorized: 401, forbidden: 403 } as const;

/** Holds answers against the oracle. */
class Checker {
  readonly #world: World;
  readonly figures: Figures;

  constructor(world: World, figures: Figures) {
    this.#world = world;
    this.figures = figures;
  }

  check(checked: Checked): void {
    const { protocol, shown, fields, changed, outcome } = checked;
    const { figures } = this;
    const named = fields?.filter(([name]) => !name.startsWith(':'));
    const verdict: Verdict = named ? judge(this.#world, shown, protocol, named) : { kind: 'refused' };
    figures.requests += 1;
    if (protocol === 'HTTP/1.1') figures.overHttp1 += 1;
    if (changed) figures.changed += 1;
    increment(figures.outcomes, `${protocol} ${outcome.status}`);
    increment(figures.verdicts, verdict.kind);
    const wrong = this.#whatIsWrong(checked, named ?? [], verdict);
    if (wrong !== undefined) assert.fail(`${wrong}: ${JSON.stringify({ ...checked, verdict }, undefined, 1)}`);
  }

  #whatIsWrong(checked: Checked, named: readonly Field[], verdict: Verdict): string | undefined {
    const { changed, outcome } = checked;
    if (outcome.status === 201) {
      if (verdict.kind !== 'served') return 'served although it must not be';
      if (!isDeepStrictEqual(seen(outcome.text), verdict.user)) return 'served as somebody else';
    } else if (outcome.status === 403) {
      if (!this.#names(checked, named, verdict).includes(refusedName(outcome.text))) return 'refused as somebody else';
    } else if (outcome.status >= 500) return 'the server failed';
    if (changed || outcome.status === statusOfVerdict[verdict.kind]) return undefined;
    // In HTTP/1.1 what is no request may end the connection before the answer has come.
    if (outcome.status !== 0 || verdict.kind !== 'refused' || checked.protocol === 'HTTP/2') return 'another answer';
    this.figures.lost += 1;
    return undefined;
  }

  /** Whom a 403 may name: a changed target may be forbidden to whom the request is from. */
  #names({ protocol, shown, changed }: Checked, fields: readonly Field[], verdict: Verdict): readonly string[] {
    if (!changed) return verdict.kind === 'forbidden' ? [verdict.username] : [];
    const own = fields.filter(([name]) => !name.toLowerCase().startsWith('impersonate-'));
    return [verdict, judge(this.#world, shown, protocol, own)].flatMap((each) => {
      if (each.kind === 'served') return [each.user.username];
      return each.kind === 'forbidden' ? [each.username] : [];
    });
  }
}

function increment(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

const seen = (text: string): User => (JSON.parse(text) as { status: { userInfo: User } }).status.userInfo;

function refusedName(text: string): string {
  const [, name = '""'] =
    /User ("(?:[^"\\]|\\.)*") cannot/.exec((JSON.parse(text) as { message: string }).message) ?? [];
  return JSON.parse(name) as string;
}
