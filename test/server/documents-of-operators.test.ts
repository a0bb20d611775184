import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { backup } from '../../src/cli/commands/backup.ts';
import { commands } from '../../src/cli/commands/commands.ts';
import { migrate } from '../../src/cli/commands/migrate.ts';
import { restore } from '../../src/cli/commands/restore.ts';
import { serverFlags } from '../../src/cli/flags/server-flags.ts';
import { orch } from '../../src/dialect/orch.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import { featureGates } from '../../src/server/wiring/features.ts';

/** What operators read says all that there is, and nothing that is not. */

const root = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');

describe('OPERATIONS.md', () => {
  const text = read('docs/OPERATIONS.md');

  /** `controller-manager` has flags of the same names in a table of its own. */
  const rowsOfFlags = text.slice(text.indexOf('## Flags'), text.indexOf('### Flags of published servers')).split('\n');

  test('has every flag, with its default', () => {
    for (const [name, flag] of Object.entries(serverFlags)) {
      const spelled = name.length === 1 ? `-${name}` : `--${name}`;
      const row = text
        .slice(text.indexOf('## Flags'))
        .split('\n')
        .find((line) => line.startsWith('| `') && new RegExp(`\`${spelled}[=[\`]`).test(line));
      assert.ok(row, spelled);
      const words = flag.defaultText.split(' ')[0] ?? '';
      assert.ok(row.includes(words), `${spelled}: the default is ${flag.defaultText}`);
    }
    for (const name of Object.keys({ ...backup.flags, ...migrate.flags, ...restore.flags }))
      assert.ok(text.includes(`--${name}`), name);
  });

  test('has no flag that is none', () => {
    const known = new Set(Object.keys({ ...serverFlags, ...backup.flags, ...migrate.flags, ...restore.flags }));
    const named = rowsOfFlags.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`--?([a-z][-a-z0-9]*)[=[]/g)]);
    assert.ok(named.length >= Object.keys(serverFlags).length);
    for (const [, name = ''] of named) assert.ok(known.has(name), name);
  });

  test('has every version that is off by default, with its kinds', () => {
    const off = kinds(orch).filter(({ offByDefault }) => offByDefault);
    const byVersion = Map.groupBy(off, ({ group, version }) => `${group}/${version}`);
    const rows = [...text.matchAll(/^\| `([a-z.]+\/v\d+(?:alpha|beta)\d+)` \| ([A-Za-z, ]+)/gm)].map(
      ([, version = '', names = '']) => `${version}: ${names.trim()}`,
    );
    const expected = [...byVersion].map(([version, each]) => {
      const names = each.map(({ kind }) => kind).sort();
      return `${version}: ${names.join(', ')}`;
    });
    assert.deepEqual(rows, expected.sort());
  });

  test('has every command and feature gate', () => {
    for (const name of Object.keys(commands)) assert.match(text, new RegExp(`\\| \`bin/orch ${name}\\b`), name);
    for (const [name, gate] of Object.entries(featureGates)) {
      assert.ok(text.includes(`| \`${name}\` | ${gate.stage}, ${gate.default ? 'on' : 'off'} |`), name);
    }
  });
});

describe('SECURITY.md', () => {
  const text = read('docs/SECURITY.md');
  const cited = [...text.matchAll(/`((?:src|test)\/[\w/-]+\.test\.ts)`((?:,? "[^"]+")*)/g)];

  test('cites tests that exist', () => {
    assert.ok(cited.length > 20);
    for (const [, file = '', names = ''] of cited) {
      assert.ok(existsSync(resolve(root, file)), file);
      const source = read(file).replaceAll("\\'", "'");
      const quoted = [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name);
      assert.ok(quoted.length > 0, `${file} is cited without a test`);
      for (const name of quoted) assert.ok(source.includes(name), `${file} has no test "${name}"`);
    }
  });

  test('has a test in every row, or says that the part is not built', () => {
    const tables = text.slice(text.indexOf('## Published vulnerabilities'), text.indexOf('## Reporting'));
    const rows = tables.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| what it was'));
    assert.ok(rows.length > 20);
    for (const row of rows) assert.match(row, /\.test\.ts` "|part not built|\| the same \|/);
  });
});
