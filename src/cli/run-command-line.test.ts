import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openSqliteStore } from '../store/drivers/sqlite/sqlite-store.ts';
import { StoreError } from '../store/store.ts';
import { commands } from './commands/commands.ts';
import { describeFailure } from './failure.ts';
import { runCommandLine } from './run-command-line.ts';
import { UsageError } from './usage-error.ts';

async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const terminal = { out: (text: string) => out.push(text), err: (text: string) => err.push(text), interactive: false };
  const code = await runCommandLine(args, terminal);
  return { code, out: out.join(''), err: err.join('') };
}

describe('the command line', () => {
  for (const args of [[], ['help'], ['--help'], ['-h']]) {
    it(`${JSON.stringify(args)} lists the commands`, async () => {
      const { code, out, err } = await run(...args);
      assert.deepEqual([code, err], [0, '']);
      for (const name of Object.keys(commands)) assert.match(out, new RegExp(`^ {2}${name} `, 'm'));
    });
  }

  for (const args of [['version'], ['--version']]) {
    it(`${args} prints versions`, async () => {
      const { code, out } = await run(...args);
      assert.equal(code, 0);
      assert.match(out, /^orch \d+\.\d+\.\d+, API v1\.32\.\d+\S*, Node\.js v\d+/);
    });
  }

  for (const name of Object.keys(commands)) {
    it(`${name} --help explains every flag`, async () => {
      const { code, out } = await run(name, '--nonsense', '--help');
      assert.equal(code, 0);
      const flags = Object.entries((await commands[name]?.())?.flags ?? {});
      for (const [flag, { help }] of flags) {
        assert.match(out, new RegExp(`^ {2}--?${flag}[=[]`, 'm'));
        assert.ok(out.includes(help) && help !== '');
      }
    });
  }

  for (const [args, message] of [
    [['upp'], 'orch: unknown command "upp"; did you mean up?\n'],
    [['frobnicate'], 'orch: unknown command "frobnicate"; see orch help\n'],
    [['toString'], 'orch: unknown command "toString"; see orch help\n'],
    [['up', '--data-dr=x'], 'orch up: unknown flag --data-dr; did you mean --data-dir?\n'],
    [['apiserver', 'now'], 'orch apiserver: unexpected argument "now"\n'],
    [['version', '--short'], 'orch version: unknown flag --short\n'],
    [['backup'], 'orch backup: --to is missing: --to=FILE\n'],
    [['restore', '--data-dir=x'], 'orch restore: --from is missing: --from=FILE\n'],
    [['restore', '--from=x'], 'orch restore: --data-dir is missing: --data-dir=DIR\n'],
  ] as const) {
    it(`orch ${args.join(' ')}: exit 1, one line`, async () => {
      assert.deepEqual(await run(...args), { code: 1, out: '', err: message });
    });
  }
});

describe('backup and restore', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'backup-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  it('carry the data over while a server runs', async () => {
    const at = (name: string): string => join(directory, name);
    const store = await openSqliteStore({ file: at('orch.db') });
    try {
      await store.create('/a', Buffer.from('1'));
      const made = await run('backup', `--to=${at('copy')}`, '--data-dir', directory);
      assert.equal(made.err, '');
      assert.match(made.out, /copy: [\d.]+ KiB, all of .*orch\.db up to revision 2\n$/);
      assert.equal(statSync(at('copy')).mode & 0o777, 0o600);
      const again = await run('backup', `--to=${at('copy')}`, '--data-dir', directory);
      assert.equal(again.code, 1);
      assert.match(again.err, /^orch backup: .*copy exists already.*\n$/);
    } finally {
      await store.close();
    }
    const restored = await run('restore', `--from=${at('copy')}`, `--data-dir=${at('new')}`);
    assert.deepEqual([restored.code, restored.err], [0, '']);
    assert.match(restored.out, /orch\.db: [\d.]+ KiB of .*copy; revisions go on from \d{7,}\n$/);
    assert.equal(statSync(at('new')).mode & 0o777, 0o700);
    const reopened = await openSqliteStore({ file: at('new/orch.db') });
    const record = await reopened.get('/a');
    await reopened.close();
    assert.equal(Buffer.from(record?.value ?? []).toString(), '1');
  });

  it('fail with one line if the source is missing', async () => {
    const { code, err } = await run('backup', `--to=${join(directory, 'none')}`, `--data-dir=${directory}/none`);
    assert.equal(code, 1);
    assert.match(err, /^orch backup: [^\n]*none\/orch\.db does not exist\n$/);
  });
});

describe('the message of a failure', () => {
  for (const [name, error, expected] of [
    ['a mistake of the user', new UsageError('--x: no'), /^orch up: --x: no\n$/],
    [
      'a store that is in use',
      new StoreError('unavailable', 'x is in use by process 7'),
      /^orch up: x is in use by process 7\n$/,
    ],
    ['damage', new StoreError('corrupt', 'x is damaged'), /^orch up: x is damaged: put .*: orch restore\n$/],
    [
      'damage of etcd',
      new StoreError('corrupt', 'x is damaged', { remedy: 'replace the member' }),
      /^orch up: x is damaged: replace the member\n$/,
    ],
    ['a cause that says more', new Error('no', { cause: new Error('because') }), /^orch up: no: because\n$/],
    [
      'a cause that is in the text',
      new Error('no: because', { cause: new Error('because') }),
      /^orch up: no: because\n$/,
    ],
    ['several lines', new Error('a\n  b'), /^orch up: a b\n$/],
    ['what is no error', 'text', /^orch up: text\n$/],
    ['a defect', new TypeError('undefined is not'), /^orch up: undefined is not\nTypeError: undefined is not\n +at /],
  ] as const) {
    it(name, () => assert.match(describeFailure('orch up', error), expected));
  }
});
