import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Parts of Node.js that a start does not need, and that an import elsewhere may bring in: memory of every server, and time
 * of every start.
 */
const unneeded: readonly string[] = ['internal/deps/undici/undici', 'stream/web', 'http2', 'inspector', 'repl', 'test'];

/** Runs in each thread of the server; the main thread tells what it has loaded when it ends. */
const reporter = (file: string): string => `
  const { isMainThread } = process.getBuiltinModule('node:worker_threads');
  const { writeFileSync } = process.getBuiltinModule('node:fs');
  if (isMainThread) process.on('exit', () => writeFileSync(${JSON.stringify(file)}, process.moduleLoadList.join('\\n')));
`;

test('a start loads no parts of Node.js that it does not use', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'loaded-modules-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'loaded');
  const script = `data:text/javascript;base64,${Buffer.from(reporter(file)).toString('base64')}`;
  await using server = await OrchProcess.start({ within: ['env', `NODE_OPTIONS=--import=${script}`] });
  assert.equal((await server.get('/api/v1/namespaces/default')).status, 200);
  assert.equal(await server.stop(), 0);
  const loaded = new Set(readFileSync(file, 'utf8').split('\n'));
  // What surely is there is found by this way of looking.
  assert.ok(loaded.has('NativeModule https'));
  assert.deepEqual(
    unneeded.filter((name) => loaded.has(`NativeModule ${name}`)),
    [],
  );
});
