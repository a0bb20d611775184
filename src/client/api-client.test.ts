import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ApiClient, ApiError, hasCause, hasReason } from './api-client.ts';
import { ScriptedServer } from './scripted-server-fixture.ts';

const setUp = () => {
  const server = new ScriptedServer();
  return { server, client: new ApiClient(server, 'tester/1') };
};

describe('watches', () => {
  it('of one large event parse it in turns of their own', async () => {
    const { server, client } = setUp();
    const large = { type: 'ADDED', object: { metadata: { name: 'x'.repeat(limits.inlineBytesMax) } } };
    const signal = new AbortController().signal;
    let inThisTurn = 0;
    let most = 0;
    const read = (line: Buffer) => {
      // Runs after the first work of the next turn.
      if (inThisTurn === 0) {
        setImmediate(() => {
          inThisTurn = 0;
        });
      }
      most = Math.max(most, ++inThisTurn);
      return JSON.parse(line.toString());
    };
    const watched = Array.from({ length: 10 }, async () => {
      server.answerRaw(200, `${JSON.stringify(large)}\n`);
      for await (const { type } of client.watch('/a?watch=1', { signal, read })) assert.equal(type, 'ADDED');
    });
    await Promise.all(watched);
    assert.ok(most <= 2, `${most} in one turn`);
  });
});

describe('requests', () => {
  it('write back integers beyond 2^53 as they were read', async () => {
    const { server, client } = setUp();
    const text = '{"spec":{"large":9007199254740993}}';
    server.answerRaw(200, text);
    server.answer(200, {});
    await client.update('/a', await client.get('/a'));
    assert.equal(server.sent.at(-1)?.body, text);
  });

  it('carry JSON and the User-Agent', async () => {
    const { server, client } = setUp();
    for (let answers = 0; answers < 5; answers++) server.answer(200, { n: answers });
    assert.deepEqual(await client.get('/a'), { n: 0 });
    assert.deepEqual(await client.create('/a', { x: 1 }), { n: 1 });
    await client.update('/a/b', { x: 2 });
    await client.mergePatch('/a/b', { x: null });
    await client.delete('/a/b', { y: 1 });
    assert.deepEqual(
      server.sent.map(({ method, target, body }) => [method, target, body]),
      [
        ['GET', '/a', undefined],
        ['POST', '/a', '{"x":1}'],
        ['PUT', '/a/b', '{"x":2}'],
        ['PATCH', '/a/b', '{"x":null}'],
        ['DELETE', '/a/b', '{"y":1}'],
      ],
    );
    const json = { accept: 'application/json', 'user-agent': 'tester/1' };
    assert.deepEqual(server.sent[0]?.headers, json);
    assert.deepEqual(server.sent[1]?.headers, { ...json, 'content-type': 'application/json' });
    assert.deepEqual(server.sent[3]?.headers, { ...json, 'content-type': 'application/merge-patch+json' });
  });
});

describe('error responses', () => {
  const status = {
    kind: 'Status',
    status: 'Failure',
    reason: 'Forbidden',
    message: 'no',
    details: { causes: [{ reason: 'NamespaceTerminating' }] },
    code: 403,
  };

  for (const [what, code, body, message] of [
    ['a Status', 403, JSON.stringify(status), 'no'],
    ['a page of a proxy', 502, '<html>bad gateway</html>', 'the server answered 502'],
    ['nothing', 500, '', 'the server answered 500'],
    ['JSON of something else', 400, '["Status"]', 'the server answered 400'],
    ['null', 400, 'null', 'the server answered 400'],
    // Never followed, never treated as a response.
    ['a redirect', 302, '{"items":[]}', 'the server answered 302'],
  ] as const) {
    it(what, async () => {
      const { server, client } = setUp();
      server.answerRaw(code, body);
      await assert.rejects(client.get('/a'), (error) => {
        assert.ok(error instanceof ApiError);
        assert.deepEqual([error.code, error.message], [code, message]);
        assert.equal(hasReason(error, 'Forbidden'), code === 403);
        assert.equal(hasReason(error, 'Conflict', 'Forbidden'), code === 403);
        assert.equal(hasReason(error, 'Conflict', 'Gone'), false);
        assert.equal(hasCause(error, 'NamespaceTerminating'), code === 403);
        return true;
      });
    });
  }

  it('are thrown by watches too', async () => {
    const { server, client } = setUp();
    server.answer(403, status);
    const watch = client.watch('/a', { signal: new AbortController().signal });
    await assert.rejects(async () => watch.next(), /^ApiError: no$/);
  });

  it('other errors have neither reason nor cause', () => {
    assert.equal(hasReason(new Error('x'), 'Forbidden'), false);
    assert.equal(hasCause(new Error('x'), 'Forbidden'), false);
  });
});

describe('the events of a watch', () => {
  const a = '{"type":"ADDED","object":{"metadata":{"name":"ä"}}}';
  const b = '{"type":"DELETED","object":{"metadata":{"name":"b"}}}';
  const text = `${a}\n${b}\n`;
  const names = async (...pieces: readonly string[]): Promise<readonly unknown[]> => {
    const { server, client } = setUp();
    server.answerRaw(200, ...pieces);
    const found: unknown[] = [];
    for await (const { object } of client.watch('/a', { signal: new AbortController().signal })) {
      found.push((object as { metadata: { name: string } }).metadata.name);
    }
    return found;
  };

  for (let at = 0; at <= text.length; at += 7) {
    it(`cut at ${at}`, async () => assert.deepEqual(await names(text.slice(0, at), text.slice(at)), ['ä', 'b']));
  }
  it('one character at a time', async () => assert.deepEqual(await names(...text), ['ä', 'b']));
  it('empty lines', async () => assert.deepEqual(await names('\n', text, '\n\n', text), ['ä', 'b', 'ä', 'b']));
  it('a truncated line is dropped', async () => assert.deepEqual(await names(`${a}\n${b}`), ['ä']));
});
