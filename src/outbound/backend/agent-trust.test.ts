import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemFiles } from '../../base/files.ts';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { TlsFixture } from '../tls-fixture.ts';
import { AgentTrust } from './agent-trust.ts';

describe('what agents are verified by and shown', () => {
  const verified = { verified: true };

  it('nothing, if nothing is given: any certificate is accepted, as published', () => {
    const trust = new AgentTrust({ clock: new ManualClock(), files: systemFiles, logger: silentLogger });
    assert.deepEqual(trust.tls(verified), { insecure: true });
  });

  it('files are read again when they change; an unusable one changes nothing', async () => {
    const [first, second] = [new TlsFixture(), new TlsFixture()];
    for (const each of [first, second]) {
      await each.listen();
      each.issue('api');
    }
    const directory = mkdtempSync(join(tmpdir(), 'agents-'));
    const path = (name: string): string => join(directory, name);
    const take = (from: TlsFixture): void => {
      for (const name of ['ca.crt', 'api.crt', 'api.key']) copyFileSync(join(from.directory, name), path(name));
    };
    take(first);
    const text = (name: string): string => readFileSync(path(name), 'utf8');
    const clock = new ManualClock();
    const files = { certificate: path('api.crt'), key: path('api.key') };
    const trust = new AgentTrust({
      authorities: { path: path('ca.crt'), content: readFileSync(path('ca.crt')) },
      client: { files, pair: { certificate: text('api.crt'), key: text('api.key') } },
      ...{ clock, files: systemFiles, logger: silentLogger },
    });
    const expected = () => ({
      authorities: text('ca.crt'),
      certificate: { certificate: text('api.crt'), key: text('api.key') },
    });
    const before = expected();
    assert.deepEqual(trust.tls(verified), before);
    for (const name of ['ca.crt', 'api.crt']) writeFileSync(path(name), 'damaged');
    clock.advance(limits.fileRereadMs + limits.fileLookMs);
    assert.deepEqual(trust.tls(verified), before);
    take(second);
    clock.advance(limits.fileRereadMs + limits.fileLookMs);
    assert.deepEqual(trust.tls(verified), expected());
    assert.notDeepEqual(trust.tls(verified), before);
    // A client that asks not to verify is shown as the server all the same.
    assert.deepEqual(trust.tls({ verified: false }), { insecure: true, certificate: expected().certificate });
    trust.close();
    assert.equal(clock.pending, 0, 'a timer is left');
    for (const each of [first, second]) await each.close();
    rmSync(directory, { recursive: true });
  });
});
