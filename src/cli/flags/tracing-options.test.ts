import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { UsageError } from '../usage-error.ts';
import { parseFlags } from './flags.ts';
import { serverFlags } from './server-flags.ts';
import { readTracing } from './tracing-options.ts';

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'tracing-options-'));
  const good = { apiVersion: 'apiserver.config.orch.io/v1beta1', kind: 'TracingConfiguration' };
  writeFileSync(join(directory, 'good'), JSON.stringify(good));
  writeFileSync(join(directory, 'bad'), JSON.stringify({ ...good, samplingRatePerMillion: 1_000_001 }));
  writeFileSync(join(directory, 'yaml'), 'kind: [\n');
});
after(() => rmSync(directory, { recursive: true }));

/** Expands `@name` to a file of the test. */
const read = (...args: readonly string[]) =>
  readTracing(
    parseFlags(
      serverFlags,
      args.map((arg) => `--${arg.replace('@', `${directory}/`)}`),
    ),
  );

const off = 'feature-gates=APIServerTracing=false';
const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [['tracing-config-file=@absent'], /^--tracing-config-file: .*absent cannot be read: ENOENT/],
  [['tracing-config-file=@bad'], /^--tracing-config-file: samplingRatePerMillion: Invalid value: 1000001: /],
  [['tracing-config-file=@yaml'], /^--tracing-config-file: .*line 2/],
  [['tracing-config-file=@good', 'dialect=kubernetes'], /^--tracing-config-file: apiVersion: Unsupported value/],
  [
    ['tracing-config-file=@good', off],
    /^--tracing-config-file: APIServerTracing feature is not enabled, but tracing config file was provided$/,
  ],
];

describe('--tracing-config-file', () => {
  it('is optional', () => {
    assert.equal(read(), undefined);
    assert.equal(read(off), undefined);
    assert.equal(read('tracing-config-file=@good')?.samplingRatePerMillion, 0);
  });

  for (const [args, message] of wrong) {
    it(`is refused: ${args.join(' ')}`, () => {
      assert.throws(
        () => read(...args),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.match(error.message, message);
          assert.ok(!error.message.includes('\n'), 'one line');
          return true;
        },
      );
    });
  }
});
