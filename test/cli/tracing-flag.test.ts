import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Folder } from '../support/authorization.ts';
import { Command } from '../support/command.ts';

/** What is wrong with the configuration of traces ends the start with one line that names the flag, and exit 1. */

const folder = new Folder();
after(() => folder[Symbol.dispose]());

let count = 0;
const config = (fields: string, version = 'v1beta1'): string => {
  count += 1;
  const head = `apiVersion: apiserver.config.orch.io/${version}\nkind: TracingConfiguration\n`;
  return `--tracing-config-file=${folder.write(`c${count}.yaml`, `${head}${fields}\n`)}`;
};

/** What else files may have wrong is tested where they are read. */
const rows: readonly (readonly [what: string, flags: readonly string[], expected: RegExp])[] = [
  ['no such file', [`--tracing-config-file=${join(folder.path, 'absent')}`], /absent cannot be read: ENOENT/],
  [
    'values that are none',
    [config('samplingRatePerMillion: 1000001\nendpoint: http://a:1')],
    /samplingRatePerMillion: .*one million; endpoint: .*unsupported scheme: http/,
  ],
  ['no YAML', [config('endpoint: [')], /line 4/],
  ['a field that is none', [config('samplingRate: 1')], /unknown field "samplingRate"/],
  ['a version that is none', [config('', 'v1')], /apiVersion: Unsupported value: .*v1beta1.*v1alpha1/],
  ['the gate off', [config(''), '--feature-gates=APIServerTracing=false'], /APIServerTracing feature is not enabled/],
];

describe('a start with a wrong configuration of traces', () => {
  for (const [index, [what, flags, expected]] of rows.entries()) {
    test(what, async () => {
      const dataDirectory = join(folder.path, `data-${index}`);
      await using run = new Command('apiserver', `--data-dir=${dataDirectory}`, '--secure-port=0', ...flags);
      assert.equal(await run.exit(), 1, run.out);
      assert.match(run.err, /^[^\n]*--tracing-config-file[^\n]*\n$/);
      assert.match(run.err, expected);
      assert.ok(!existsSync(dataDirectory), 'nothing is left behind');
    });
  }
});
