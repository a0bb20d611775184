import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { constants } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { limits } from '../../src/base/limits.ts';
import { once, within } from '../../src/base/waits-fixture.ts';
import { preface } from '../../src/http/h2/frames.ts';
import { rawField, rawFrame } from '../../src/http/h2/raw-frames-fixture.ts';
import { closed } from '../../src/http/socket-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Status, openHttp2, openTls, requestText, sendRaw, statusOf } from '../support/raw-client.ts';

/** What one client can make the server do is bounded, and others are served meanwhile. */
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start();
});
after(async () => {
  assert.equal((await server.get('/readyz')).status, 200, 'the server still serves');
  await server[Symbol.asyncDispose]();
});

const configMaps = '/api/v1/namespaces/default/configmaps';
const yaml = { 'content-type': 'application/yaml' };
const mergePatch = { 'content-type': 'application/merge-patch+json' };

/** Memory that the server holds now, in MiB. */
const residentMiB = (): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

describe('HTTP/2', () => {
  test('a client that resets its requests is cut off (CVE-2023-44487)', async () => {
    const session = await openHttp2(server);
    // In step with the server, so that none are sent after it has had enough.
    const answered = (): Promise<void> =>
      new Promise((resolve) => {
        session.once('close', () => resolve());
        if (!session.destroyed) session.ping(() => resolve());
      });
    let sent = 0;
    while (!session.destroyed && !session.closed && sent <= 3 * limits.streamResetsPerSecondMax) {
      for (let batch = 0; batch < 20; batch++, sent++) {
        const stream = session.request({ ':path': configMaps });
        stream.on('error', () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
      await answered();
    }
    session.destroy();
    assert.ok(sent <= 3 * limits.streamResetsPerSecondMax, `${sent} requests were reset`);
    assert.equal((await server.get('/readyz')).status, 200);
  });

  const literal = rawField('xxxx', 'yyyy');
  const many = Buffer.concat(Array.from({ length: 1_400 }, () => literal));

  const floods: readonly (readonly [what: string, first: Buffer, repeated: Buffer])[] = [
    ['headers that never end (CONTINUATION)', rawFrame(1, 0, 1, literal), rawFrame(9, 0, 1, many)],
    ['empty CONTINUATION frames', rawFrame(1, 0, 1, literal), rawFrame(9, 0, 1)],
    ['frames of a closed stream', rawFrame(3, 0, 1, Buffer.alloc(4)), rawFrame(0, 0, 1, Buffer.alloc(100))],
    ['window updates of nothing', Buffer.alloc(0), rawFrame(8, 0, 0, Buffer.alloc(4))],
    ['too long frames', Buffer.alloc(0), rawFrame(0, 0, 1, Buffer.alloc(70_000))],
  ];
  for (const [what, first, repeated] of floods) {
    test(`${what}: the connection ends`, async () => {
      const before = residentMiB();
      const socket = await openTls(server, { ALPNProtocols: ['h2'] });
      socket.resume();
      socket.write(Buffer.concat([preface, rawFrame(4, 0, 0), first]));
      const gone = closed(socket);
      let frames = 0;
      for (; frames < 20_000 && !socket.destroyed && socket.writable; frames++) {
        if (!socket.write(repeated)) await Promise.race([once(socket, 'drain').catch(() => {}), gone]);
        else if (frames % 100 === 0) await turn();
      }
      // Buffers on the way may have taken the rest.
      await within(gone, `the connection is open after ${frames} frames`);
      assert.ok(residentMiB() - before < 192, `${residentMiB() - before} MiB more`);
    });
  }
});

describe('headers and targets', () => {
  test('that are too large are refused in HTTP/1.1', async () => {
    const rows: readonly (readonly [lines: readonly string[], target: string, status: number])[] = [
      [[`x: ${'y'.repeat(limits.headerBytesMax)}`], '/readyz', 431],
      [Array.from({ length: 20_000 }, (_, n) => `a${n}: 1`), '/readyz', 431],
      [[`authorization: Bearer ${'y'.repeat(limits.headerBytesMax)}`], '/readyz', 431],
      [[], `/readyz?${'x'.repeat(limits.targetBytesMax)}`, 414],
      [[], `/${'x/'.repeat(limits.targetBytesMax / 2)}`, 414],
      [[], `/${'x'.repeat(limits.headerBytesMax)}`, 431],
      [[`x: ${'y'.repeat(limits.headerBytesMax / 2)}`], '/readyz', 200],
    ];
    for (const [lines, target, status] of rows) {
      const answer = await sendRaw(server, requestText('GET', target, ...lines));
      assert.equal(statusOf(answer), status, `${target.slice(0, 40)} ${lines.length}`);
    }
  });

  test('that are too large are refused in HTTP/2', async () => {
    const rows: readonly (readonly [headers: Record<string, string>, status: number])[] = [
      [{ ':path': '/readyz', x: 'y'.repeat(limits.headerBytesMax) }, Number.NaN],
      [{ ':path': `/readyz?${'x'.repeat(limits.targetBytesMax)}` }, 414],
      [Object.fromEntries([[':path', '/readyz'], ...Array.from({ length: 2_000 }, (_, n) => [`a${n}`, '1'])]), 0],
      [{ ':path': '/readyz', x: 'y'.repeat(limits.headerBytesMax / 2) }, 200],
    ];
    for (const [headers, expected] of rows) {
      const session = await openHttp2(server);
      const status = await http2Status(session, headers);
      session.destroy();
      if (expected === 0) assert.ok(Number.isNaN(status) || status === 431, `many headers: ${status}`);
      else assert.ok(Object.is(status, expected), `${status} instead of ${expected}`);
    }
  });

  test('selectors are bounded in length and in number', async () => {
    const select = async (name: string, text: string): Promise<number> =>
      (await server.get(`${configMaps}?${name}=${encodeURI(text)}`)).status;
    for (const name of ['labelSelector', 'fieldSelector']) {
      const requirement = name === 'labelSelector' ? 'a!=b' : 'metadata.name!=b';
      const fits = Math.floor(limits.selectorBytesMax / (requirement.length + 1)) - 1;
      assert.equal(await select(name, Array.from({ length: Math.min(fits, 900) }, () => requirement).join(',')), 200);
      assert.equal(await select(name, Array.from({ length: fits + 10 }, () => requirement).join(',')), 400);
      assert.equal(await select(name, `${requirement}${','.repeat(limits.selectorBytesMax)}`), 400);
    }
    assert.equal(await select('labelSelector', Array.from({ length: 1_100 }, () => 'a').join(',')), 400);
    assert.equal(await select('labelSelector', `a in (${'b,'.repeat(4_500)}b)`), 400);
    assert.equal(await select('labelSelector', '('.repeat(8_000)), 400);
    const token = Buffer.alloc(limits.continueTokenBytesMax + 1, 'A').toString();
    assert.equal((await server.get(`${configMaps}?continue=${token}`)).status, 400);
  });

  /** Two readers of one connection must agree where a request ends (RFC 9112 section 6.3). */
  const smuggled: readonly (readonly [what: string, lines: readonly string[]])[] = [
    ['two lengths', ['content-length: 1', 'content-length: 2']],
    ['a length twice', ['content-length: 1, 1']],
    ['a length and an encoding', ['content-length: 1', 'transfer-encoding: chunked']],
    ['an encoding that is not the last', ['transfer-encoding: chunked, identity']],
    ['a length that is no number', ['content-length: +1']],
    ['a length beyond all numbers', [`content-length: ${'9'.repeat(30)}`]],
    ['a space before the colon', ['content-length : 1']],
    ['a folded header', ['x: a', ' transfer-encoding: chunked']],
    ['a NUL in a header', ['x: a\0b']],
    ['a bare CR', ['x: a\rtransfer-encoding: chunked']],
  ];
  for (const [what, lines] of smuggled) {
    test(`${what}: refused and closed`, async () => {
      const text = `${['POST /readyz HTTP/1.1', 'host: x', ...lines].join('\r\n')}\r\n\r\n0\r\n\r\nGET /version HTTP/1.1\r\nhost: x\r\n\r\n`;
      const answer = await sendRaw(server, text);
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.doesNotMatch(answer, /gitVersion/, 'what followed was not taken for a request');
    });
  }
});

describe('documents that say much in few bytes', () => {
  const deep = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
  const names = (n: number): string => String.fromCharCode(97 + n);
  const tenfold = (what: (name: string) => string): string =>
    Array.from({ length: 9 }, (_, n) => `${names(n + 1)}: &${names(n + 1)} ${what(names(n))}`).join('\n');
  const bombs: readonly (readonly [what: string, body: string, headers?: Readonly<Record<string, string>>])[] = [
    ['aliases of lists', `a: &a [x]\n${tenfold((of) => `[${Array(10).fill(`*${of}`).join(',')}]`)}`, yaml],
    [
      'aliases of maps',
      `a: &a {x: y}\n${tenfold((of) => `{${Array.from({ length: 9 }, (_, n) => `k${n}: *${of}`)}}`)}`,
      yaml,
    ],
    ['merges of merges', `a: &a {x: y}\n${tenfold((of) => `{<<: [${Array(9).fill(`*${of}`).join(',')}]}`)}`, yaml],
    ['an alias within its own anchor', 'a: &a [*a]', yaml],
    ['one long text repeated', `a: &a ${'x'.repeat(200_000)}\nb: [${Array(90).fill('*a').join(',')}]`, yaml],
    [
      'many aliases',
      `a: &a x\nb: [${Array(limits.yamlAliasesMax + 1)
        .fill('*a')
        .join(',')}]`,
      yaml,
    ],
    ['many words', `a: [${'x,'.repeat(limits.yamlTokensMax)}]`, yaml],
    ['many documents', '---\n'.repeat(100_000), yaml],
    ['deep YAML', `a: ${deep(1_000, '[', ']')}`, yaml],
    ['deep YAML by indentation', Array.from({ length: 400 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'), yaml],
    ['deep lists by dashes', `${'- '.repeat(50_000)}a`, yaml],
    ['deep lists in JSON', `{"data":${deep(1_000_000, '[', ']')}}`],
    ['deep objects in JSON', `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`],
    ['deep JSON that does not end', '['.repeat(3_000_000)],
  ];
  for (const [what, body, headers] of bombs) {
    test(`${what}: refused, and cheaply`, async () => {
      const before = residentMiB();
      const answer = await server.post(configMaps, body, { headers });
      assert.equal(answer.status, 400, answer.text);
      assert.ok(answer.text.length < 10_000, 'the answer is short');
      assert.ok(residentMiB() - before < 256, `${residentMiB() - before} MiB more`);
    });
  }

  test('depth is bounded wherever a body is read', async () => {
    await server.post(configMaps, { metadata: { name: 'depth' } });
    const json = (depth: number): string => `{"x":${deep(depth - 1, '[', ']')}}`;
    const doors: readonly (readonly [method: string, path: string, headers?: Readonly<Record<string, string>>])[] = [
      ['POST', configMaps],
      ['POST', configMaps, yaml],
      ['PUT', `${configMaps}/depth`],
      ['PATCH', `${configMaps}/depth`, mergePatch],
      ['DELETE', `${configMaps}/depth`],
      ['DELETE', configMaps],
    ];
    for (const [method, path, headers] of doors) {
      const answer = await server.request(method, path, { headers, body: json(limits.depthMax + 1) });
      assert.equal(answer.status, 400, `${method}: ${answer.text}`);
      assert.match(answer.text, /deep|nest|depth/, method);
    }
    const allowed = { body: json(limits.depthMax), headers: mergePatch };
    assert.equal(
      (await server.request('PATCH', `${configMaps}/depth`, allowed)).status,
      200,
      'the limit itself is allowed',
    );
  });

  test('what is reported of an object is bounded', async () => {
    const labels = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`-${n}`, '!']));
    const unknown = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`f${n}`, 1]));
    const invalid = await server.post(configMaps, { metadata: { name: 'x', labels } });
    assert.equal(invalid.status, 422);
    assert.ok(invalid.text.length < 1_000_000, `${invalid.text.length} characters`);
    const strict = await server.post(`${configMaps}?fieldValidation=Strict`, { metadata: { name: 'x' }, ...unknown });
    assert.equal(strict.status, 400, strict.text.slice(0, 200));
    assert.ok(strict.text.length < 1_000_000, `${strict.text.length} characters`);
    const warned = await server.post(`${configMaps}?fieldValidation=Warn`, { metadata: { name: 'y' }, ...unknown });
    assert.ok(warned.status === 201 || warned.status === 400, warned.text.slice(0, 200));
    assert.ok(String(warned.headers['warning'] ?? '').length < limits.headerBytesMax);
  });
});

test('metrics do not grow by what clients choose (CVE-2020-8552)', async () => {
  const [choicesPerRound, roundsMax] = [10, 50];
  /** Names and labels of all series. */
  const series = async (): Promise<ReadonlySet<string>> => {
    const { text } = await server.get('/metrics');
    assert.doesNotMatch(text, /chosen-|METHOD\d/);
    const lines = text.split('\n').filter((line) => line !== '' && line[0] !== '#');
    return new Set(lines.map((line) => line.slice(0, line.lastIndexOf(' '))));
  };
  const choose = async (n: number): Promise<void> => {
    const chosen = `chosen-${n}`;
    await Promise.all([
      server.get(`/${chosen}`),
      server.get(`/apis/${chosen}/v1/${chosen}`),
      server.get(`${configMaps}/${chosen}`),
      server.get(`${configMaps}/${chosen}/${chosen}`),
      server.get(`/api/v1/namespaces/${chosen}/configmaps`),
      server.get(`${configMaps}?fieldSelector=${chosen}=x&${chosen}=1`),
      server.get(configMaps, { headers: { 'user-agent': chosen, accept: `application/${chosen}` } }),
      server.post(configMaps, '{}', { headers: { 'content-type': `application/${chosen}` } }),
      sendRaw(server, requestText(`METHOD${n}`, configMaps)).catch(() => ''),
    ]);
  };
  // Every round chooses anew, so a single one without a new series shows that none is made of a choice. The first ones
  // have some: refusals are counted for the first time, and the server is doing the work of its start.
  let grown: readonly string[] = [];
  let known = await series();
  for (let round = 0; round < roundsMax; round++) {
    for (let n = 0; n < choicesPerRound; n++) await choose(round * choicesPerRound + n);
    const now = await series();
    grown = [...now].filter((each) => !known.has(each));
    if (grown.length === 0) return;
    known = now;
  }
  assert.fail(`the last of ${roundsMax} rounds had ${grown.length} new series, such as ${grown[0]}`);
});
