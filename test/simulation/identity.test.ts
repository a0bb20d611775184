import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { OrchProcess } from '../support/orch-process.ts';
import { flags, proxies, run, tokensFile } from './identity/run.ts';

/** `ORCH_IDENTITY_REQUESTS=1000000 ORCH_IDENTITY_SEED=1` for a long run; the seed of a run is in its output. */
const requests = Number(process.env['ORCH_IDENTITY_REQUESTS'] ?? 4_000);
const seed = Number(process.env['ORCH_IDENTITY_SEED'] ?? 20_261_122);

test(`${requests} random requests are served as whom their credentials say, seed ${seed}`, {
  timeout: 60 * 60_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'identity-'));
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const files = { tokens: file('tokens.csv', tokensFile), proxies: file('proxies.pem', proxies.cert) };
  await using server = await OrchProcess.start({ flags: flags(files) });
  const started = performance.now();
  let told = started;
  const figures = await run(server, {
    requests,
    seed,
    progress({ requests: done }) {
      if (performance.now() - told < 30_000) return;
      told = performance.now();
      t.diagnostic(`${done} requests after ${Math.round((told - started) / 1_000)} s`);
    },
  });
  t.diagnostic(JSON.stringify(figures));
  t.diagnostic(`${Math.round((performance.now() - started) / 1_000)} s`);
  for (const kind of ['served', 'refused', 'unauthorized', 'forbidden']) {
    assert.ok((figures.verdicts[kind] ?? 0) > requests / 100, `${kind}: hardly any`);
  }
  for (const outcome of ['HTTP/2 201', 'HTTP/2 400', 'HTTP/1.1 201', 'HTTP/1.1 400']) {
    assert.ok((figures.outcomes[outcome] ?? 0) > 0, outcome);
  }
  assert.ok(figures.lost < requests / 20, `${figures.lost} without an answer`);
  assert.equal((await server.get('/readyz')).status, 200, 'the server still serves');
  rmSync(folder, { recursive: true });
});
