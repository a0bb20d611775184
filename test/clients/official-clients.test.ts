import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { runScript, steps } from '../support/client-script.ts';
import { type ClientRow, clientRow, clientsDocument, clientsFile, type Outcome } from '../support/clients-table.ts';
import { followCustomObjects } from '../support/followed-objects.ts';
import { officialClients } from '../support/official-clients.ts';
import { prepareProgram } from '../support/prepared-program.ts';

/**
 * Official clients of several languages do one script, each with its own server, which restarts under them. What they could do is in
 * docs/CLIENTS.md. Some follow objects of kinds that they do not know, as well. A client whose toolchain or registry is absent is skipped with the reason.
 */

const buildMsMax = 13 * 60_000;
const scriptMsMax = 10 * 60_000;

const rows: ClientRow[] = [];
/** Of the table; a run may be of a part of the tests. */
const rowCount = officialClients.flatMap(({ runs }) => runs.filter(({ unlisted }) => !unlisted)).length;

for (const client of officialClients) {
  describe(`${client.library} (${client.language})`, { timeout: buildMsMax + client.runs.length * scriptMsMax }, () => {
    let notRun: string | undefined;

    test('builds', { timeout: buildMsMax }, async (t) => {
      notRun = await prepareProgram(client);
      if (notRun !== undefined) t.skip(notRun);
    });

    for (const run of client.runs) {
      const name = run.name === '' ? 'does the script' : `${run.name}: does the script`;
      test(name, { timeout: scriptMsMax }, async (t) => {
        const note = (outcome: Outcome) => {
          if (!run.unlisted) rows.push({ client, run, outcome });
        };
        const reason = notRun ?? run.missing;
        if (reason !== undefined) {
          note({ notRun: reason });
          t.skip(reason);
          return;
        }
        const { lines, code, standardError } = await runScript(run, client.folder);
        note({ lines });
        tell(t, standardError);
        const failed = lines.filter(({ ok }) => !ok);
        assert.deepEqual(failed, [], standardError);
        assert.deepEqual(
          lines.map(({ step }) => step),
          steps,
          standardError,
        );
        assert.equal(code, 0, standardError);
      });
    }

    const { follower } = client;
    if (follower) {
      test('follows custom objects', { timeout: scriptMsMax }, async (t) => {
        if (notRun !== undefined) t.skip(notRun);
        else tell(t, await followCustomObjects(follower, client.folder));
      });
    }
  });
}

/** What the library said of its own accord is for whoever reads the log. */
function tell(t: TestContext, standardError: string): void {
  if (standardError !== '') t.diagnostic(standardError.trimEnd());
}

test('docs/CLIENTS.md says what they could do', (t) => {
  for (const row of rows) t.diagnostic(clientRow(row));
  const document = clientsDocument(rows);
  const whole = rows.length === rowCount;
  if (process.env['ORCH_WRITE_CLIENTS']) {
    assert.ok(whole, 'a run of a part of the clients would write a part of the document');
    writeFileSync(clientsFile, document);
  }
  const recorded = readFileSync(clientsFile, 'utf8');
  const ran = rows.filter(({ outcome }) => 'lines' in outcome);
  for (const row of ran) assert.ok(recorded.split('\n').includes(clientRow(row)), clientRow(row));
  // Where something did not run, the document knows more than this run does.
  if (ran.length === rowCount) assert.equal(recorded, document);
});
