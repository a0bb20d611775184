import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { UsageError } from '../usage-error.ts';
import { readAudit, warnOfAudit } from './audit-options.ts';
import { parseFlags } from './flags.ts';
import { serverFlags } from './server-flags.ts';

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'audit-options-'));
  const policy = { apiVersion: 'audit.orch.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };
  writeFileSync(join(directory, 'policy'), JSON.stringify(policy));
  writeFileSync(join(directory, 'bad'), JSON.stringify({ ...policy, rules: [{ level: 'All' }] }));
  const named = [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' }, context: { cluster: 'a' } }];
  const connection = { clusters: named, contexts: named, 'current-context': 'a' };
  writeFileSync(join(directory, 'connection'), JSON.stringify(connection));
});
after(() => rmSync(directory, { recursive: true }));

/** Expands `@name` to a file of the test. */
const flags = (args: readonly string[]) =>
  parseFlags(
    serverFlags,
    args.map((arg) => `--audit-${arg.replace('@', `${directory}/`)}`),
  );
const read = (...args: readonly string[]) => readAudit(flags(args));
const policy = 'policy-file=@policy';
const webhook = 'webhook-config-file=@connection';

describe('audit flags', () => {
  for (const [what, args] of [
    ['nothing', []],
    ['a policy alone', [policy]],
    ['a log alone', ['log-path=-']],
    ['a webhook alone', [webhook]],
  ] as const) {
    it(`${what}: nothing is recorded`, () => assert.equal(read(...args), undefined));
  }

  it('have the published defaults', () => {
    const config = read(policy, 'log-path=/var/log/audit.log', webhook);
    assert.deepEqual(config?.log, {
      output: {
        type: 'file',
        path: '/var/log/audit.log',
        bytesMax: 100 * 1024 * 1024,
        backupsMax: 0,
        ageMsMax: 0,
        compress: false,
      },
      format: 'json',
      mode: 'blocking',
      truncate: undefined,
    });
    assert.deepEqual(config?.webhook, {
      file: join(directory, 'connection'),
      initialBackoffMs: 10_000,
      mode: { type: 'batch', bufferSize: 10_000, sizeMax: 400, waitMs: 30_000, throttle: { perSecond: 10, burst: 15 } },
      truncate: undefined,
    });
    const batch = read(policy, 'log-path=-', 'log-mode=batch', 'log-truncate-enabled')?.log;
    assert.deepEqual(batch?.mode, { type: 'batch', bufferSize: 10_000, sizeMax: 1, waitMs: 0, throttle: undefined });
    assert.deepEqual(batch?.truncate, { eventBytesMax: 102_400, batchBytesMax: 10_485_760 });
  });

  it('say how the log is kept', () => {
    const args = ['log-maxage=2', 'log-maxbackup=3', 'log-maxsize=4', 'log-compress', 'log-format=legacy'];
    const log = read(policy, 'log-path=/a', ...args, 'log-mode=blocking-strict', 'log-version=audit.orch.io/v1')?.log;
    assert.deepEqual(
      [log?.output, log?.format, log?.mode],
      [
        {
          type: 'file',
          path: '/a',
          bytesMax: 4 * 1024 * 1024,
          backupsMax: 3,
          ageMsMax: 2 * 24 * 3600_000,
          compress: true,
        },
        'legacy',
        'blocking-strict',
      ],
    );
    assert.deepEqual(read(policy, 'log-path=-')?.log?.output, { type: 'standardOutput' });
  });

  it('take the former name of the back-off', () => {
    assert.equal(read(policy, webhook, 'webhook-batch-initial-backoff=3s')?.webhook?.initialBackoffMs, 3_000);
  });
});

const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [['policy-file=@absent'], /^--audit-policy-file: .*absent cannot be read: ENOENT/],
  [['policy-file=@bad'], /^--audit-policy-file: rules\[0\]\.level: Unsupported value: "All": supported values/],
  [['policy-file=@connection'], /^--audit-policy-file: apiVersion: Required value/],
  [['webhook-config-file=@absent'], /^--audit-webhook-config-file: .*absent: cannot be read/],
  [['webhook-config-file=@policy'], /^--audit-webhook-config-file: .*policy: it does not say which context is meant/],
  [['log-format=xml'], /^--audit-log-format: "xml" is not one of json, legacy/],
  [['log-mode=fast'], /^--audit-log-mode: "fast" is not one of batch, blocking, blocking-strict/],
  [['log-batch-throttle-qps=many'], /^--audit-log-batch-throttle-qps: "many" is not a number/],
  [['log-path=-', 'log-maxage=-1'], /^--audit-log-maxage -1 can't be a negative number/],
  [['log-path=-', 'log-maxbackup=-1'], /^--audit-log-maxbackup -1 can't be a negative number/],
  [['log-path=-', 'log-maxsize=-1'], /^--audit-log-maxsize -1 can't be a negative number/],
  ...(['log-path=-', webhook] as const).flatMap((place) => {
    const name = place === webhook ? 'webhook' : 'log';
    const flag = (text: string): readonly string[] => [place, `${name}-mode=batch`, `${name}-${text}`];
    const positive = (what: string) =>
      new RegExp(`invalid audit batch ${name} ${what} -?\\d+, must be a positive number`);
    return [
      [flag('version=audit.k8s.io/v1'), /invalid group version, allowed versions are \["audit\.orch\.io\/v1"\]/],
      [flag('batch-buffer-size=0'), positive('buffer size')],
      [flag('batch-max-size=-1'), positive('max batch size')],
      [[...flag('batch-throttle-enable'), `--audit-${name}-batch-throttle-qps=0`.slice(8)], positive('throttle QPS')],
      [
        [...flag('batch-throttle-enable'), `${name}-batch-throttle-qps=1`, `${name}-batch-throttle-burst=0`],
        positive('throttle burst'),
      ],
      [
        flag('truncate-max-event-size=0'),
        new RegExp(`invalid audit truncate ${name} max event size 0, must be a positive`),
      ],
      [
        flag('truncate-max-batch-size=5'),
        new RegExp(`invalid audit truncate ${name} max batch size 5, must be greater than max event size \\(102400\\)`),
      ],
    ] as const;
  }),
];

describe('wrong audit flags are refused:', () => {
  for (const [args, message] of wrong) {
    it(args.join(' '), () => {
      assert.throws(
        () => read(policy, ...args),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  it('but not of a backend or mode that is not used, as published', () => {
    assert.equal(read(policy, 'log-maxage=-1', 'webhook-version=x'), undefined);
    assert.ok(read(policy, 'log-path=-', 'log-batch-buffer-size=0'));
  });
});

describe('warnings about audit flags', () => {
  for (const [args, warnings] of [
    [[], []],
    [[policy, 'log-path=-'], []],
    [[policy], ['no requests are recorded without --audit-log-path or --audit-webhook-config-file']],
    [['log-path=-'], ['no requests are recorded without --audit-policy-file']],
    [[policy, webhook, 'webhook-batch-initial-backoff=1s'], ['a flag is deprecated']],
  ] as const) {
    it(args.join(' ') || 'none', () => {
      const logged: string[] = [];
      const warn = (message: string): void => void logged.push(message);
      warnOfAudit(flags(args), { warn, error: assert.fail, info: assert.fail, debug: assert.fail });
      assert.deepEqual(logged, warnings);
    });
  }
});
