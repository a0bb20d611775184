import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import { credentialHeaders, isImpersonationHeader, webSocketProtocolHeader } from '../../src/authn/identity-headers.ts';
import type { RawClient } from '../../src/http/h2/raw-client-fixture.ts';
import { type LiteralOptions, rawField, rawFrame, rawHeaders, rawIndex } from '../../src/http/h2/raw-frames-fixture.ts';
import { readToClose } from '../../src/http/socket-fixture.ts';
import { forClients, makeCertificate } from '../../src/pki/certificate-fixture.ts';
import type { User } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { openFrames, openTls, statusOf, withoutCertificate } from '../support/raw-client.ts';

/**
 * Header fields that say who asks, spelled in every wrong way, over both protocols. Such a request is served as the one whom
 * the field names, or refused; never as its sender, as anonymous, or without the field.
 */

const folder = mkdtempSync(join(tmpdir(), 'spoiled-'));
const proxies = makeCertificate({ name: 'proxies', authority: true });
const front = makeCertificate({ name: 'front', uses: [forClients], issuer: proxies });

let server: OrchProcess;
before(async () => {
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  server = await OrchProcess.start({
    flags: [
      `--token-auth-file=${file('tokens.csv', 'secret-of-jane,jane,jane-id,"readers,testers"\n')}`,
      `--requestheader-client-ca-file=${file('proxies.pem', proxies.cert)}`,
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-uid-headers=X-Remote-Uid',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      '--feature-gates=RemoteRequestHeaderUID=true',
    ],
  });
});
after(async () => {
  assert.equal((await server.get('/readyz')).status, 200, 'the server still serves');
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

type Field = readonly [name: string, value: string];

interface Sender {
  readonly connection: ConnectionOptions;
  /** All of them together say who asks. */
  readonly fields: readonly Field[];
  readonly user: User;
}

const senders = (): Readonly<Record<string, Sender>> => ({
  'the administrator': {
    connection: {},
    fields: [
      ['impersonate-user', 'alice'],
      ['impersonate-group', 'dev'],
      ['impersonate-uid', '7'],
      ['impersonate-extra-scopes', 'ro'],
    ],
    user: { username: 'alice', uid: '7', groups: ['dev', 'system:authenticated'], extra: { scopes: ['ro'] } },
  },
  'a proxy': {
    connection: { cert: front.cert, key: front.key },
    fields: [
      ['x-remote-user', 'paul'],
      ['x-remote-group', 'ops'],
      ['x-remote-uid', '8'],
      ['x-remote-extra-scopes', 'rw'],
    ],
    user: { username: 'paul', uid: '8', groups: ['ops', 'system:authenticated'], extra: { scopes: ['rw'] } },
  },
  'a user with a token': {
    connection: withoutCertificate,
    fields: [['authorization', 'Bearer secret-of-jane']],
    user: { username: 'jane', uid: 'jane-id', groups: ['readers', 'testers', 'system:authenticated'] },
  },
});

/** What becomes of a request with a spoiled field. */
type Outcome =
  /** It is the request that it would be without the spoiling. */
  | 'same'
  /** 400: it is no request. */
  | 'refused'
  /** 400 or 401: the value cannot be what it says. */
  | 'unknown';

interface Spoiling {
  readonly what: string;
  readonly spoil: (field: Field) => Field;
  readonly outcome: Outcome;
  /** Where HTTP/1.1 has another. */
  readonly overHttp1?: Outcome;
}

const ofValue = (what: string, outcome: Outcome, change: (value: string) => string): Spoiling => ({
  what: `a value with ${what}`,
  spoil: ([name, value]) => [name, change(value)],
  outcome,
});
const ofName = (what: string, change: (name: string) => string, overHttp1: Outcome = 'refused'): Spoiling => ({
  what: `a name with ${what}`,
  spoil: ([name, value]) => [change(name), value],
  outcome: 'refused',
  overHttp1,
});

const inside = (text: string, added: string): string => `${text[0]}${added}${text.slice(1)}`;
const code = (byte: number): string => `0x${byte.toString(16).padStart(2, '0')}`;
/** All but the tab, and DEL. */
const controls = [...Array.from({ length: 32 }, (_, byte) => byte).filter((byte) => byte !== 9), 0x7f];

const spoilings: readonly Spoiling[] = [
  ofValue('nothing wrong', 'same', (value) => value),
  ofValue('a leading blank', 'same', (value) => ` ${value}`),
  ofValue('a trailing blank', 'same', (value) => `${value} `),
  ofValue('a leading tab', 'same', (value) => `\t${value}`),
  ofValue('a trailing tab', 'same', (value) => `${value}\t`),
  ofValue('blanks on both sides', 'same', (value) => `  ${value}  `),
  ofValue('blanks and tabs on both sides', 'same', (value) => `\t ${value} \t`),
  ...controls.flatMap((byte) => {
    const character = String.fromCharCode(byte);
    return [
      ofValue(`${code(byte)} in front`, 'refused', (value) => `${character}${value}`),
      ofValue(`${code(byte)} inside`, 'refused', (value) => inside(value, character)),
      ofValue(`${code(byte)} at its end`, 'refused', (value) => `${value}${character}`),
    ];
  }),
  ofValue('a line feed and another field', 'refused', (value) => `${value}\nx: y`),
  ofValue('a carriage return and another field', 'refused', (value) => `${value}\rx: y`),
  ofValue('a control character behind a blank', 'refused', (value) => `${value} \x01`),
  ofValue('0xa0 in front', 'unknown', (value) => `\xa0${value}`),
  ofValue('0xa0 inside', 'unknown', (value) => inside(value, '\xa0')),
  ofValue('0xa0 at its end', 'unknown', (value) => `${value}\xa0`),
  ofValue('0x80 at its end', 'unknown', (value) => `${value}\x80`),
  ofValue('0xff in front', 'unknown', (value) => `\xff${value}`),
  ofName('a blank in front', (name) => ` ${name}`),
  ofName('a blank inside', (name) => name.replace(/.$/, ' $&')),
  ofName('a blank behind', (name) => `${name} `),
  ofName('a tab in front', (name) => `\t${name}`),
  ofName('a tab inside', (name) => name.replace(/.$/, '\t$&')),
  ofName('a tab behind', (name) => `${name}\t`),
  ofName('0xa0 behind', (name) => `${name}\xa0`),
  ofName('NUL behind', (name) => `${name}\0`),
  ofName('DEL in front', (name) => `\x7f${name}`),
  ofName('a carriage return behind', (name) => `${name}\r`),
  ofName('a line feed behind', (name) => `${name}\n`),
  ofName('upper-case letters', (name) => name.toUpperCase(), 'same'),
  ofName('one upper-case letter', (name) => name.replace(/^./, (first) => first.toUpperCase()), 'same'),
];

interface Answer {
  readonly status: number;
  readonly user: User | undefined;
  readonly text: string;
}

const group = 'authentication.orch.io';
const path = `/apis/${group}/v1/selfsubjectreviews`;
const review = JSON.stringify({ apiVersion: `${group}/v1`, kind: 'SelfSubjectReview' });

function answerOf(status: number, text: string): Answer {
  if (status !== 201) return { status, user: undefined, text };
  const { userInfo } = (JSON.parse(text) as { status: { userInfo: User & { extra?: object } } }).status;
  return { status, user: userInfo, text };
}

function check(
  answer: Answer,
  { what, outcome }: { readonly what: string; readonly outcome: Outcome },
  user: User,
): void {
  const shown = `${what}: ${answer.status} ${answer.text.slice(0, 300)}`;
  switch (outcome) {
    case 'same':
      assert.deepEqual(answer.user, user, shown);
      break;
    case 'refused':
      assert.equal(answer.status, 400, shown);
      break;
    case 'unknown':
      assert.ok(answer.status === 400 || answer.status === 401, shown);
      break;
  }
}

/** The fields of a sender with the one at `at` spoiled. */
const spoiled = ({ fields }: Sender, at: number, { spoil }: Spoiling): readonly Field[] =>
  fields.map((field, index) => (index === at ? spoil(field) : field));

/** Trailers, even none, make the body a chunked one. */
async function overHttp1(sender: Sender, fields: readonly Field[], trailers?: readonly Field[]): Promise<Answer> {
  const socket = await openTls(server, sender.connection);
  const lines = (some: readonly Field[]): string => some.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const size = review.length;
  const [framing, body] = trailers
    ? ['transfer-encoding: chunked', `${size.toString(16)}\r\n${review}\r\n0\r\n${lines(trailers)}\r\n`]
    : [`content-length: ${size}`, review];
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    'content-type: application/json',
    framing,
  ];
  socket.write(Buffer.from(`${head.join('\r\n')}\r\n${lines(fields)}\r\n${body}`, 'latin1'));
  const answer = await readToClose(socket);
  const [status = '', text = ''] = answer.split('\r\n\r\n', 2);
  return answerOf(statusOf(status), Buffer.from(text, 'latin1').toString());
}

/** Requests of one connection; a server bears some hundred malformed ones. */
const requestsPerConnection = 60;

function* inParts<T>(all: readonly T[], count: number): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += count) yield all.slice(from, from + count);
}

const head = [
  rawIndex(3),
  rawIndex(7),
  rawField(':path', path),
  rawField(':authority', 'localhost'),
  rawField('content-type', 'application/json'),
];

const requestFrames = (stream: number, fields: readonly Buffer[]): Buffer => {
  const headers = rawHeaders(stream, 0, Buffer.concat([...head, ...fields]));
  return Buffer.concat([headers, rawFrame(0, 1, stream, Buffer.from(review))]);
};

async function answerOn(client: RawClient, stream: number): Promise<Answer> {
  const { status, body } = await client.whole(stream);
  return answerOf(status, body.toString());
}

async function overHttp2(
  sender: Sender,
  requests: readonly (readonly Field[])[],
  encode: (field: Field) => Buffer,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const some of inParts(requests, requestsPerConnection)) {
    const client = await openFrames(server, sender.connection);
    for (const [index, fields] of some.entries()) client.send(requestFrames(2 * index + 1, fields.map(encode)));
    for (const index of some.keys()) answers.push(await answerOn(client, 2 * index + 1));
    assert.deepEqual(client.goaways, []);
    client.socket.destroy();
  }
  return answers;
}

const forms: readonly LiteralOptions[] = (['notIndexed', 'indexed', 'neverIndexed'] as const).flatMap((form) => [
  { form, huffman: false },
  { form, huffman: true },
]);

for (const [who, sender] of Object.entries(senders())) {
  for (const [at, [name]] of sender.fields.entries()) {
    describe(`${name} of ${who}`, () => {
      for (const options of forms) {
        test(`HTTP/2, ${options.form}${options.huffman ? ', Huffman' : ''}`, async () => {
          const requests = spoilings.map((spoiling) => spoiled(sender, at, spoiling));
          const answers = await overHttp2(sender, requests, ([n, v]) => rawField(n, v, options));
          assert.equal(answers.length, spoilings.length);
          for (const [index, answer] of answers.entries()) check(answer, spoilings[index] as Spoiling, sender.user);
        });
      }

      test('HTTP/2, by its place in the table', async () => {
        const others = sender.fields.filter((_, index) => index !== at).map(([n, v]) => rawField(n, v));
        for (const some of inParts(spoilings, requestsPerConnection / 2)) {
          const client = await openFrames(server, sender.connection);
          for (const [index, { spoil }] of some.entries()) {
            const [n, v] = spoil(sender.fields[at] as Field);
            const stream = 4 * index + 1;
            client.send(requestFrames(stream, [...others, rawField(n, v, { form: 'indexed' })]));
            client.send(requestFrames(stream + 2, [...others, rawIndex(62)]));
          }
          for (const [index, spoiling] of some.entries()) {
            for (const stream of [4 * index + 1, 4 * index + 3]) {
              check(await answerOn(client, stream), spoiling, sender.user);
            }
          }
          client.socket.destroy();
        }
      });

      test('HTTP/1.1', async () => {
        for (const some of inParts(spoilings, 20)) {
          const answers = await Promise.all(some.map((spoiling) => overHttp1(sender, spoiled(sender, at, spoiling))));
          for (const [index, answer] of answers.entries()) {
            const { what, outcome, overHttp1: own } = some[index] as Spoiling;
            check(answer, { what, outcome: own ?? outcome }, sender.user);
          }
        }
      });
    });
  }
}

describe('names beyond ASCII are the same over both protocols', () => {
  const utf8 = Buffer.from('jürgen').toString('latin1');
  const rows: readonly (readonly [who: string, name: string, expected: (user: User | undefined) => unknown])[] = [
    ['the administrator', 'impersonate-user', (user) => user?.username],
    ['the administrator', 'impersonate-group', (user) => user?.groups[0]],
    ['a proxy', 'x-remote-user', (user) => user?.username],
    ['a proxy', 'x-remote-extra-scopes', (user) => user?.extra?.['scopes']?.[0]],
  ];
  for (const [who, name, expected] of rows) {
    test(name, async () => {
      const sender = senders()[who] as Sender;
      const fields = sender.fields.map(([n, v]): Field => [n, n === name ? utf8 : v]);
      const [over2] = await overHttp2(sender, [fields], ([n, v]) => rawField(n, v, { huffman: true }));
      for (const answer of [over2, await overHttp1(sender, fields)]) assert.equal(expected(answer?.user), 'jürgen');
    });
  }
});

describe('a field that says who asks counts once', () => {
  const twice = (name: string, ...values: readonly string[]): readonly Field[] => values.map((value) => [name, value]);
  const rows: readonly (readonly [what: string, who: string, fields: readonly Field[], expected: string | number])[] = [
    ['two tokens', 'a user with a token', twice('authorization', 'Bearer secret-of-jane', 'Bearer x'), 400],
    ['a token behind another scheme', 'a user with a token', twice('authorization', 'Basic eDp5', 'Bearer x'), 400],
    ['a token behind nothing', 'a user with a token', twice('authorization', '', 'Bearer secret-of-jane'), 400],
    ['two users', 'the administrator', twice('impersonate-user', 'alice', 'bob'), 'alice'],
    ['a user behind nothing', 'the administrator', twice('impersonate-user', '', 'alice'), 'alice'],
    ['a user behind blanks', 'the administrator', twice('impersonate-user', ' \t ', 'alice'), 'alice'],
    ['no user', 'the administrator', twice('impersonate-user', ''), 400],
    ['blanks for a user', 'the administrator', twice('impersonate-user', ' \t '), 400],
    ['a group alone', 'the administrator', twice('impersonate-group', 'dev'), 400],
    ['blanks for a uid alone', 'the administrator', twice('impersonate-uid', ' '), 400],
    ['a scheme with a tab behind', 'a user with a token', twice('authorization', 'Bearer\tsecret-of-jane'), 401],
    ['two blanks before the token', 'a user with a token', twice('authorization', 'Bearer  secret-of-jane'), 401],
  ];
  for (const [what, who, fields, expected] of rows) {
    test(what, async () => {
      const sender = senders()[who] as Sender;
      const [over2] = await overHttp2(sender, [fields], ([n, v]) => rawField(n, v));
      for (const answer of [over2, await overHttp1(sender, fields)]) {
        assert.ok(answer);
        assert.equal(answer.user?.username ?? answer.status, expected, answer.text);
      }
    });
  }
});

describe('a field in the trailers is none of the request', () => {
  const answerOver = {
    'HTTP/1.1': overHttp1,
    'HTTP/2': async (sender, fields, trailers) => {
      const client = await openFrames(server, sender.connection);
      const encoded = (some: readonly Field[]) => some.map(([n, v]) => rawField(n, v));
      client.send(
        rawHeaders(1, 0, Buffer.concat([...head, ...encoded(fields)])),
        rawFrame(0, 0, 1, Buffer.from(review)),
        rawHeaders(1, 1, Buffer.concat(encoded(trailers))),
      );
      const answer = await answerOn(client, 1);
      client.socket.destroy();
      return answer;
    },
  } satisfies Record<string, (sender: Sender, fields: readonly Field[], trailers: readonly Field[]) => Promise<Answer>>;
  const harmless: readonly Field[] = [['x-checksum', '1']];
  const bearer = `base64url.bearer.authorization.orch.io.${Buffer.from('secret-of-jane').toString('base64url')}`;
  const isCredential = credentialHeaders(undefined);

  for (const [protocol, answer] of Object.entries(answerOver)) {
    for (const [who, sender] of Object.entries(senders())) {
      for (const [name, value] of [...sender.fields, [webSocketProtocolHeader, bearer] as const]) {
        test(`${protocol}: ${name} of ${who}`, async () => {
          assert.ok(isCredential(name) || isImpersonationHeader(name));
          const { user } = await answer(sender, sender.fields, [[name, `${value}x`]]);
          assert.deepEqual(user, sender.user, 'with all fields in the head');
          const [none, alone] = [await answer(sender, [], harmless), await answer(sender, [], [[name, value]])];
          assert.deepEqual([alone.status, alone.user], [none.status, none.user], 'without fields in the head');
        });
      }
    }
  }
});
