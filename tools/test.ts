/**
 * `npm test`: builds, checks types and style, and runs every test; its last words are those of the test runner.
 * Arguments choose test files instead of all: `npm test -- src/store/**\/*.test.ts`. Every step runs, so that one look
 * shows all that is wrong; the exit code is 1 when any failed.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

interface Step {
  readonly name: string;
  readonly args: readonly string[];
}

const checks: readonly Step[] = [
  { name: 'build', args: ['tools/build.ts'] },
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '-p', '.'] },
  { name: 'style', args: ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'] },
];

const allTests = ['src', 'tools', 'test', 'bench'].map((directory) => `${directory}/**/*.test.ts`);

/** As many files at once as keep two cores busy, although some wait; more would disturb the tests that measure. */
const concurrency = 3;

/** For a case that says nothing of its own time: one that hangs must not hang the run. */
const caseMsMax = 2 * 60_000;

/** Programs that some tests start. Where one is absent those tests are skipped, and say so. */
const programs: readonly (readonly [program: string, args: readonly string[], without: string])[] = [
  ['etcd', ['--version'], 'the etcd driver is not tested'],
  ['kubectl', ['version', '--client'], 'the command-line client is not tested'],
  ['openssl', ['version'], 'certificates are not checked by another implementation'],
];

function run({ name, args }: Step): boolean {
  const started = performance.now();
  const { status, error } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  if (status !== 0) process.stdout.write(`${name}: FAILED${error ? `: ${error.message}` : ''}\n`);
  else process.stdout.write(`${name}: ok (${seconds} s)\n`);
  return status === 0;
}

const failed = checks.filter((step) => !run(step)).map((step) => step.name);
if (failed.length > 0) process.stdout.write(`FAILED, whatever the tests say: ${failed.join(', ')}\n`);
for (const [program, args, without] of programs) {
  const { error } = spawnSync(program, args, { stdio: 'ignore' });
  if (error) process.stdout.write(`${program} is not installed: ${without}\n`);
}
const chosen = process.argv.slice(2);
const flags = [
  '--disable-warning=ExperimentalWarning',
  '--test',
  `--test-concurrency=${concurrency}`,
  `--test-timeout=${caseMsMax}`,
  '--import=./tools/test-setup.ts',
];
const { status } = spawnSync(process.execPath, [...flags, ...(chosen.length > 0 ? chosen : allTests)], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status === 0 && failed.length === 0 ? 0 : 1;
