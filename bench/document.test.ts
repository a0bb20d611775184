import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeResults } from './document.ts';
import { statsOf } from './stats.ts';

test('each scenario has its section, in their order; one that is run again replaces its own', () => {
  const root = mkdtempSync(join(tmpdir(), 'orch-bench-document-'));
  const file = join(root, 'docs', 'BENCHMARKS.md');
  try {
    mkdirSync(join(root, 'docs'));
    writeFileSync(file, '# Title\n<!-- bench: begin -->\n\nold\n<!-- bench: end -->\nafter\n');
    const write = (name: string, value: number): void =>
      writeResults(root, ['a', 'b', 'c'], {
        name,
        machine: 'a machine',
        rows: [{ what: `row of ${name}`, unit: 'ms', measured: statsOf([value]) }],
      });
    write('c', 1);
    write('a', 2);
    write('c', 3);
    const text = readFileSync(file, 'utf8');
    assert.deepEqual(
      [...text.matchAll(/^### (\w)$/gm)].map(([, name]) => name),
      ['a', 'c'],
    );
    assert.match(text, /row of a.*\| 2 \/ 2 \/ 2 ms/);
    assert.match(text, /row of c.*\| 3 \/ 3 \/ 3 ms/);
    assert.doesNotMatch(text, /old|1 \/ 1 \/ 1 ms/);
    assert.match(text, /^# Title\n[\s\S]*\nafter\n$/);
  } finally {
    rmSync(root, { recursive: true });
  }
});
