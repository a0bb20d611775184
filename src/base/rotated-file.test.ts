import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { openRotatedFile, type RotatedFileOptions } from './rotated-file.ts';
import { ManualClock } from './time/clock.ts';

const root = mkdtempSync(join(tmpdir(), 'orch-rotated-'));
after(() => rmSync(root, { recursive: true }));
let directories = 0;

const dayMs = 24 * 3600_000;

function opened(options: Partial<RotatedFileOptions> = {}, existing: Readonly<Record<string, string>> = {}) {
  const directory = join(root, String(++directories), 'logs');
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(existing)) writeFileSync(join(directory, name), content);
  const clock = new ManualClock(Date.UTC(2026, 0, 31, 12));
  const problems: unknown[] = [];
  const path = join(directory, 'audit.log');
  const all = { path, bytesMax: 10, backupsMax: 0, ageMsMax: 0, compress: false, ...options };
  const file = openRotatedFile(all, { clock, onProblem: (error) => problems.push(error) });
  const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
  /** Each line in a write of its own. */
  const add = async (...lines: string[]): Promise<void> => {
    for (const line of lines) {
      await file.write([[line, '\n']]);
      clock.advance(1);
    }
  };
  return { directory, file, clock, problems, read, add, names: () => readdirSync(directory).sort() };
}

describe('a rotated file', () => {
  it('is for its owner alone, and so is its directory', () => {
    const path = join(root, 'made', 'here', 'audit.log');
    const parts = { clock: new ManualClock(), onProblem() {} };
    openRotatedFile({ path, bytesMax: 1, backupsMax: 0, ageMsMax: 0, compress: false }, parts);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(root, 'made', 'here')).mode & 0o777, 0o700);
  });

  it('is refused if it cannot be written', () => {
    const path = join(root, 'blocked');
    mkdirSync(path);
    const parts = { clock: new ManualClock(), onProblem() {} };
    assert.throws(
      () => openRotatedFile({ path, bytesMax: 1, backupsMax: 0, ageMsMax: 0, compress: false }, parts),
      /EISDIR/,
    );
  });

  it('is renamed before a line that does not fit, with the time in its name', async () => {
    const { file, add, names, read } = opened();
    await add('1234', '5678', 'abcd', 'efgh', 'x');
    await file.close();
    assert.deepEqual(names(), ['audit-2026-01-31T12-00-00.002.log', 'audit-2026-01-31T12-00-00.004.log', 'audit.log']);
    assert.equal(read('audit-2026-01-31T12-00-00.002.log'), '1234\n5678\n');
    assert.equal(read('audit-2026-01-31T12-00-00.004.log'), 'abcd\nefgh\n');
    assert.equal(read('audit.log'), 'x\n');
  });

  it('goes on where it ended, and keeps its mode when it is renamed', async () => {
    const { file, add, names, read, directory } = opened({}, { 'audit.log': 'before\n' });
    chmodSync(join(directory, 'audit.log'), 0o640);
    await add('x', 'next');
    await file.close();
    assert.deepEqual(names(), ['audit-2026-01-31T12-00-00.001.log', 'audit.log']);
    assert.equal(read('audit-2026-01-31T12-00-00.001.log'), 'before\nx\n');
    assert.equal(statSync(join(directory, 'audit.log')).mode & 0o777, 0o640);
  });

  it('never replaces another renamed file', async () => {
    const { file, names, read } = opened({}, { 'audit-2026-01-31T12-00-00.000.log': 'old\n' });
    await file.write([['123456789\n']]);
    await file.write([['abc\n']]);
    await file.close();
    assert.deepEqual(names().slice(0, 2), ['audit-2026-01-31T12-00-00.000.log', 'audit-2026-01-31T12-00-00.001.log']);
    assert.equal(read('audit-2026-01-31T12-00-00.000.log'), 'old\n');
  });

  it('refuses a line that is longer than a file, and takes the next', async () => {
    const { file, read } = opened();
    await assert.rejects(file.write([['12345678901\n']]), /write length 12 exceeds maximum file size 10/);
    await file.write([['1\n']]);
    await file.close();
    assert.equal(read('audit.log'), '1\n');
  });

  it('has parts of lines as text and bytes, in order', async () => {
    const { file, read } = opened({ bytesMax: 1_000 });
    await Promise.all([
      file.write([['a', Buffer.from('é'), 'b\n'], ['c\n']]),
      file.write([[Buffer.from('d\n')]]),
      file.write([]),
      file.write([['e\n']]),
    ]);
    await file.close();
    assert.equal(read('audit.log'), 'aéb\nc\nd\ne\n');
  });

  const old = (days: number): string =>
    `audit-${new Date(Date.UTC(2026, 0, 31, 12) - days * dayMs).toISOString().slice(0, -1).replaceAll(':', '-')}.log`;
  const others = {
    'audit-other.log': '',
    'audit-2026-01-01.log': '',
    'b-2026-01-01T00-00-00.000.log': '',
    'audit.txt': '',
  };

  it('keeps so many renamed files, and touches no others', async () => {
    const { file, add, names } = opened(
      { backupsMax: 2 },
      { [old(3)]: '', [old(2)]: '', [`${old(1)}.gz`]: '', [old(1)]: '', ...others },
    );
    await add('123456789', 'x');
    await file.close();
    assert.deepEqual(
      names(),
      ['audit-2026-01-31T12-00-00.001.log', old(1), `${old(1)}.gz`, ...Object.keys(others), 'audit.log'].sort(),
    );
  });

  it('keeps renamed files for so long', async () => {
    const { file, add, names } = opened(
      { ageMsMax: 2 * dayMs },
      { [old(3)]: '', [`${old(4)}.gz`]: '', [old(2)]: '', [old(1)]: '', ...others },
    );
    await add('x');
    await file.close();
    assert.deepEqual(names(), [old(2), old(1), ...Object.keys(others), 'audit.log'].sort());
  });

  it('compresses renamed files', async () => {
    const { file, add, names, directory, problems } = opened({ compress: true }, { [old(1)]: 'old' });
    await add('123456789', 'x');
    await file.close();
    assert.deepEqual(names(), ['audit-2026-01-31T12-00-00.001.log.gz', `${old(1)}.gz`, 'audit.log'].sort());
    const content = gunzipSync(readFileSync(join(directory, 'audit-2026-01-31T12-00-00.001.log.gz'))).toString();
    assert.equal(content, '123456789\n');
    assert.deepEqual(problems, []);
  });

  it('loses no line of many that come at once', async () => {
    const { file, names, read } = opened({ bytesMax: 4_000 });
    const numbers = Array.from({ length: 2_000 }, (_, index) => String(index).padStart(6, '0'));
    await Promise.all(numbers.map((number) => file.write([[number, '\n']])));
    for (const number of numbers.slice(0, 50)) await file.write([[number, '\n']]);
    await file.close();
    const lines = names().flatMap((name) => read(name).split('\n').slice(0, -1));
    assert.deepEqual(lines.sort(), [...numbers, ...numbers.slice(0, 50)].sort());
  });
});
