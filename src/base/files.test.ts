import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readWhole } from './files.ts';

test('a file is read to its end, whatever its size', () => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-files-'));
  try {
    const path = join(directory, 'file');
    for (const size of [0, 1, 64 * 1024, 64 * 1024 + 1, 200_000]) {
      const content = Buffer.alloc(size, 'abc');
      writeFileSync(path, content);
      assert.ok(readWhole(path).equals(content), `${size} bytes`);
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a device without an end is refused', () => {
  assert.throws(() => readWhole('/dev/zero'), /it is larger than \d+ bytes/);
});

test('a pipe is read', () => {
  const file = new URL('./files.ts', import.meta.url).href;
  const script = `import { readWhole } from ${JSON.stringify(file)}; process.stdout.write(readWhole('/dev/stdin'));`;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
  const { stdout } = spawnSync('sh', ['-c', 'printf "from a pipe" | "$0" "$@"', process.execPath, ...flags], {
    encoding: 'utf8',
  });
  assert.equal(stdout, 'from a pipe');
});
