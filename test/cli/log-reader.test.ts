import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** A reader of the log that stops reading must not stop the server, nor make it grow. */

let area: string;
before(() => {
  area = mkdtempSync(join(tmpdir(), 'log-reader-'));
});
after(() => rmSync(area, { recursive: true }));

const selector = `a!=${'b'.repeat(60)}`;
const target = `/api/v1/namespaces/default/configmaps?labelSelector=${Array.from({ length: 24 }, () => selector).join('%2C')}`;
/** More than may wait, by a good deal. */
const requests = Math.ceil((1.5 * limits.logWaitingMax) / target.length);

async function flood(server: OrchProcess): Promise<void> {
  for (let sent = 0; sent < requests; sent += 100) {
    const answers = await Promise.all(Array.from({ length: 100 }, () => server.get(target)));
    for (const { status } of answers) assert.equal(status, 200);
  }
}

describe('the log has no reader', { timeout: 300_000 }, () => {
  for (const format of ['json', 'text']) {
    test(`of a socket, in ${format}: the server goes on, and says what is lost`, async () => {
      await using server = await OrchProcess.start({ flags: ['--v=3', `--logging-format=${format}`] });
      server.readLog(false);
      await flood(server);
      server.readLog(true);
      await until(() => server.log.includes('/configmaps?'), 'nothing waited for the reader');
      await until(async () => {
        await server.get('/version');
        return server.log.includes('lines of the log were lost: nobody reads it');
      }, 'not told');
      const told = server.log.split('\n').filter((line) => line.includes('lines of the log were lost'));
      assert.equal(told.length, 1);
      assert.match(told[0] ?? '', /"?lines"?[=:][1-9]\d*/);
      assert.ok(server.log.length < 2 * limits.logWaitingMax, 'too much waited');
    });
  }

  test('of a pipe: the server goes on, and ends when it is asked to', async () => {
    const path = join(area, 'fifo');
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const within = ['sh', '-c', 'exec "$@" 2>"$0"', path];
      await using server = await OrchProcess.start({ flags: ['--v=3'], within });
      await flood(server);
      assert.ok(readSync(reader, Buffer.alloc(1024)) > 0);
      assert.equal(await server.stop(), 0);
    } finally {
      closeSync(reader);
    }
  });
});
