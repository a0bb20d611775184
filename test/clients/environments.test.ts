import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { environmentLibraries, environmentSteps } from '../support/environment-libraries.ts';
import { cacheFolder } from '../support/official-clients.ts';
import { prepareProgram } from '../support/prepared-program.ts';

/**
 * Libraries of several languages that start control planes for tests start what `orch envtest` makes, with their own defaults, and leave
 * nothing behind. One whose toolchain or registry is absent is skipped with the reason.
 */

const buildMsMax = 13 * 60_000;
const scriptMsMax = 3 * 60_000;
const launcher = new URL('../../bin/orch', import.meta.url).pathname;

for (const library of environmentLibraries) {
  describe(`${library.library} ${library.version} (${library.language})`, { timeout: buildMsMax + scriptMsMax }, () => {
    let notRun: string | undefined;

    test('builds', { timeout: buildMsMax }, async (t) => {
      notRun = library.leftOut ?? (await prepareProgram(library));
      if (notRun !== undefined) t.skip(notRun);
    });

    test('does the script', { timeout: scriptMsMax }, async (t) => {
      if (notRun !== undefined) return t.skip(notRun);
      const root = mkdtempSync(join(tmpdir(), 'orch-environment-'));
      try {
        const [folder, temporary] = [join(root, 'assets'), join(root, 'tmp')];
        mkdirSync(temporary);
        execFileSync(launcher, ['envtest', '--to', join(folder, library.assets)]);
        const { command, args, env } = library.run(folder);
        const child = spawn(command, args, {
          cwd: root,
          env: { ...process.env, TMPDIR: temporary, HOME: root, ORCH_CLIENTS_CACHE: cacheFolder, ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
          timeout: scriptMsMax,
          killSignal: 'SIGKILL',
        });
        let [out, err] = ['', ''];
        child.stdout.on('data', (chunk) => (out += chunk));
        child.stderr.on('data', (chunk) => (err += chunk));
        const [code] = await once(child, 'close');
        assert.equal(out, environmentSteps.map((step) => `ok ${step}\n`).join(''), err);
        assert.equal(code, 0, err);
        assert.deepEqual(readdirSync(temporary).filter(isLeft), []);
        assert.deepEqual(processesOf(folder), [], 'programs that still run');
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    });
  });
}

/** The runtime of Java keeps a folder of its own. */
const isLeft = (name: string): boolean => !name.startsWith('hsperfdata');

/** Processes whose command line names the folder: flags name certificates and data there, or below the temporary one. */
const processesOf = (folder: string): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => commandLine(pid))
    .filter((line) => line.includes('stand-in-') && line.includes(join(folder, '..')));

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return ''; // it has ended
  }
}

test('docs/CLIENTS.md lists them', () => {
  const document = readFileSync(new URL('../../docs/CLIENTS.md', import.meta.url), 'utf8');
  for (const { library, version, language } of environmentLibraries) {
    assert.ok(document.includes(`| ${library} (${language}) | ${version} |`), `${library} ${version}`);
  }
});
