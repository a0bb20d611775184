import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommandLine } from '../run-command-line.ts';

async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const terminal = { out: (text: string) => out.push(text), err: (text: string) => err.push(text), interactive: false };
  const code = await runCommandLine(args, terminal);
  return { code, out: out.join(''), err: err.join('') };
}

const apiserver = 'stand-in-apiserver';
const etcd = 'stand-in-etcd';
const servers = '--etcd-servers=http://127.0.0.1:1';

describe('what ends a start, in the words of the published programs', () => {
  for (const [args, code, message] of [
    [[apiserver, '--nonsense'], 1, 'Error: unknown flag: --nonsense\n'],
    [[apiserver, '--nonsense=1', servers], 1, 'Error: unknown flag: --nonsense\n'],
    [[apiserver, '--dialect=orch', servers], 1, 'Error: unknown flag: --dialect\n'],
    [[apiserver, '--data-dir=x', servers], 1, 'Error: unknown flag: --data-dir\n'],
    [[apiserver, '-x'], 1, "Error: unknown shorthand flag: 'x' in -x\n"],
    [[apiserver, '-v'], 1, "Error: flag needs an argument: 'v' in -v\n"],
    [[apiserver, '--secure-port'], 1, 'Error: flag needs an argument: --secure-port\n'],
    [[apiserver, 'now'], 1, 'Error: "kube-apiserver" does not take any arguments, got ["now"]\n'],
    [
      [apiserver, '--allow-privileged', 'true'],
      1,
      /^Error: "kube-apiserver" does not take any arguments, got \["true"\]/,
    ],
    [[apiserver, '--secure-port', 'x'], 1, /^Error: invalid argument "x" for "--secure-port" flag: .+\n$/],
    [[apiserver, '--profiling=maybe'], 1, /^Error: invalid argument "maybe" for "--profiling" flag: .+\n$/],
    [[apiserver, '--log-flush-frequency=5'], 1, /^Error: invalid argument "5" for "--log-flush-frequency" flag: .+\n$/],
    [
      [apiserver, '--insecure-port=8080'],
      1,
      /"--insecure-port" flag: invalid port value 8080: only zero is allowed\n$/,
    ],
    [[apiserver], 1, 'Error: --etcd-servers must be specified\n'],
    [[apiserver, '--insecure-port=0'], 1, 'Error: --etcd-servers must be specified\n'],
    [[apiserver, servers, '--storage-backend=sqlite'], 1, /"--storage-backend" flag: .+etcd3/],
    [[apiserver, servers, '--client-ca-file=/none'], 1, /^Error: --client-ca-file: \/none/],
    [[etcd, '--nonsense'], 2, /^flag provided but not defined: -nonsense\n/],
    [[etcd, '-nonsense=1'], 2, /^flag provided but not defined: -nonsense\n/],
    [[etcd, '--data-dir'], 2, /^flag needs an argument: -data-dir\n/],
    [[etcd, '--heartbeat-interval=fast'], 2, /^invalid value "fast" for flag -heartbeat-interval: /],
    [[etcd, 'gateway'], 1, "'gateway' is not a valid flag. See 'etcd --help'.\n"],
    [[etcd, '--listen-client-urls=https://127.0.0.1:1'], 1, /plain HTTP alone/],
    [[etcd, '--listen-client-urls=http://example.com:1'], 1, /is not of the form http:\/\/IP:PORT/],
    [[etcd, '--listen-client-urls=unix://x'], 1, /is not of the form http:\/\/IP:PORT/],
  ] as const) {
    it(args.join(' '), async () => {
      const result = await run(...args);
      assert.deepEqual([result.code, result.out], [code, '']);
      if (typeof message === 'string') assert.equal(result.err, message);
      else assert.match(result.err, message);
    });
  }
});

describe('help and versions', () => {
  for (const [args, pattern] of [
    [[apiserver, '--version'], /^Kubernetes v1\.32\.\d/],
    [[apiserver, '--version', '--secure-port=1'], /^Kubernetes v1\.32\.\d/],
    [[etcd, '--version'], /^etcd Version: 3\.5\./],
    [[etcd, '-version'], /^etcd Version: 3\.5\./],
    [[apiserver, '--help'], /^ {2}--service-account-issuer=/m],
    [[apiserver, '-h'], /^ {2}--encryption-provider-config=/m],
    [[etcd, '--help'], /^ {2}--unsafe-no-fsync\b/m],
    [[etcd, '-h'], /^ {2}--listen-client-urls=/m],
  ] as const) {
    it(args.join(' '), async () => {
      const { code, out, err } = await run(...args);
      assert.deepEqual([code, err], [0, '']);
      assert.match(out, pattern);
      // Libraries give this flag to releases whose help has it, and only to those.
      assert.doesNotMatch(out, /insecure-port/);
    });
  }
});
