import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { freePort } from '../../src/base/free-port-fixture.ts';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import { makeAuthority, makeIssued, makeSelfSigned } from '../../src/pki/ca.ts';
import { rbacPath, roleRef, user } from '../support/authorization.ts';
import type { Command } from '../support/command.ts';
import { ControllersApart } from '../support/controllers-apart.ts';

/** The port of a program with controllers: health for everybody, metrics for those whom the API server lets see them. */
const pki = { clock: systemClock, random: systemRandom };
const authority = makeAuthority('clients', pki);
const client = (commonName: string, ...organizations: readonly string[]) =>
  makeIssued(authority, { subject: { commonName, organizations }, use: 'clientAuth' }, pki);

let apart: ControllersApart;
let running: AsyncDisposableStack;
before(async () => {
  apart = await ControllersApart.start();
  for (const name of ['watcher', 'first']) {
    await apart.make(`${rbacPath}/clusterrolebindings`, {
      metadata: { name },
      roleRef: roleRef('ClusterRole', 'system:monitoring'),
      subjects: [user(name)],
    });
  }
});
after(() => apart[Symbol.asyncDispose]());
beforeEach(async () => {
  running = new AsyncDisposableStack();
  // The programs of the test before were killed.
  await apart.send('DELETE', '/apis/coordination.orch.io/v1/namespaces/orch-system/leases/orch-controller-manager');
});
afterEach(() => running.disposeAsync());

interface Shown {
  readonly token?: string;
  readonly certificate?: { readonly certificatePem: string; readonly keyPem: string };
  readonly method?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  /** Of the certificate that the program shows. */
  readonly fingerprint: string | undefined;
}

/** A program whose port the system chooses. */
class Program {
  readonly command: Command;
  url = '';

  private constructor(command: Command) {
    this.command = command;
  }

  static async start(...flags: readonly string[]): Promise<Program> {
    // The port is asked of the system by taking one and giving it back.
    const port = await freePort();
    return Program.of(running.use(apart.manager('--bind-address=127.0.0.1', `--secure-port=${port}`, ...flags)));
  }

  static async of(command: Command): Promise<Program> {
    const program = new Program(command);
    [, program.url = ''] = await program.command.prints(/"serving health and metrics","v":0,"url":"([^"]+)"/);
    return program;
  }

  get(path: string, { token, certificate, method = 'GET' }: Shown = {}): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const shown = certificate ? { cert: certificate.certificatePem, key: certificate.keyPem } : {};
    const options = { method, headers, agent: false, rejectUnauthorized: false, ...shown };
    const request = https.request(this.url + path, options, (answer) => {
      const socket = answer.socket as import('node:tls').TLSSocket;
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256;
      const chunks: Buffer[] = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString(), fingerprint }),
      );
    });
    request.on('error', reject);
    request.end();
    return within(promise, () => `no answer to ${path}: ${this.command.err}`);
  }

  async status(path: string, shown?: Shown): Promise<number> {
    return (await this.get(path, shown)).status;
  }
}

const delegated = (): readonly string[] =>
  ['authentication', 'authorization'].map((each) => `--${each}-kubeconfig=${apart.kubeconfig()}`);
const clientAuthority = (): string => `--client-ca-file=${apart.folder.write('clients.crt', authority.certificatePem)}`;

describe('health', () => {
  it('is for everybody: before it leads, and with the controllers that run', async () => {
    const waiting = await Program.start('--controllers=namespace', '--leader-elect-resource-namespace=none');
    assert.deepEqual(await waiting.get('/healthz?verbose').then(({ status, text }) => [status, text]), [
      200,
      '[+]leaderElection ok\nhealthz check passed\n',
    ]);
    const leading = await Program.start('--controllers=namespace,serviceaccount');
    await leading.command.prints(/"controllers run"/);
    const { status, text } = await leading.get('/healthz?verbose');
    const shown = ['leaderElection', 'namespace-controller', 'serviceaccount-controller'];
    assert.deepEqual([status, text], [200, `${shown.map((each) => `[+]${each} ok\n`).join('')}healthz check passed\n`]);
    assert.equal((await leading.get('/healthz')).text, 'ok');
    assert.equal(await leading.status('/healthz', { method: 'HEAD' }), 200);
  });

  it('has no check of the election where there is none', async () => {
    const program = await Program.start('--controllers=namespace', '--leader-elect=false');
    await program.command.prints(/"controllers run"/);
    const masters = { certificate: client('admin', 'system:masters') };
    assert.equal(await program.status('/healthz/leaderElection', masters), 403, 'no authority: no certificate counts');
    assert.match(
      (await program.get('/healthz?verbose')).text,
      /^\[\+\]namespace-controller ok\nhealthz check passed$/m,
    );
  });

  it('what everybody may see is what the flag says', async () => {
    const program = await Program.start('--authorization-always-allow-paths=/healthz/*,metrics');
    for (const [path, expected] of [
      ['/healthz', 403],
      ['/healthz/leaderElection', 200],
      ['/healthz/none', 404],
      ['/metrics', 200],
      ['/metrics/', 403],
      ['/readyz', 403],
    ] as const) {
      assert.equal(await program.status(path), expected, path);
    }
  });
});

describe('metrics', () => {
  it('are for whom the API server lets see them, by token or certificate', async () => {
    const program = await Program.start('--controllers=namespace', ...delegated(), clientAuthority());
    await program.command.prints(/"controllers run"/);
    for (const [who, shown, expected] of [
      ['nobody', {}, 403],
      ['a token that may', { token: 'token-of-first' }, 200],
      ['a token that may not', { token: 'token-of-second' }, 403],
      ['a token of a master', { token: 'token-of-admin' }, 200],
      ['an unknown token', { token: 'made-up' }, 401],
      ['a certificate that may', { certificate: client('watcher') }, 200],
      ['a certificate that may not', { certificate: client('stranger') }, 403],
      ['a certificate of a master', { certificate: client('somebody', 'system:masters') }, 200],
      [
        'a certificate of another authority',
        { certificate: makeSelfSigned({ subject: { commonName: 'watcher' }, use: 'clientAuth' }, pki) },
        401,
      ],
    ] as const) {
      const { status, text } = await program.get('/metrics', shown);
      assert.equal(status, expected, `${who}: ${text.slice(0, 300)}`);
      if (status !== 200) assert.doesNotMatch(text, /^# TYPE/m, who);
    }
    assert.equal(await program.status('/metrics', { token: 'token-of-admin', method: 'POST' }), 405);
    assert.equal(await program.status('/debug/pprof', { token: 'token-of-admin' }), 404);
    assert.equal(
      await program.status('/debug/pprof', { token: 'token-of-first' }),
      403,
      'whether it is there is not told',
    );
  });

  it('without a server to ask are for masters only', async () => {
    const program = await Program.start(clientAuthority());
    assert.equal(await program.status('/metrics', { certificate: client('watcher') }), 403);
    assert.equal(await program.status('/metrics', { token: 'token-of-admin' }), 401);
    assert.equal(await program.status('/metrics', { certificate: client('m', 'system:masters') }), 200);
  });

  it('show the queues, the controllers, the lease and the requests', async () => {
    const program = await Program.start('--controllers=namespace', ...delegated());
    await program.command.prints(/"controllers run"/);
    await apart.make('/api/v1/namespaces', { metadata: { name: 'gone' } });
    await apart.remove('/api/v1/namespaces/gone');
    await apart.gone('/api/v1/namespaces/gone');
    const { text } = await program.get('/metrics', { token: 'token-of-admin' });
    for (const line of [
      /^running_managed_controllers\{manager="orch-controller-manager",name="namespace-controller"\} 1$/m,
      /^leader_election_master_status\{name="orch-controller-manager"\} 1$/m,
      /^workqueue_adds_total\{name="namespace"\} [1-9]\d*$/m,
      /^workqueue_depth\{name="namespace"\} 0$/m,
      /^rest_client_requests_total\{code="201",host="127\.0\.0\.1:\d+",method="POST"\} [1-9]\d*$/m,
    ]) {
      assert.match(text, line);
    }
    assert.doesNotMatch(text, /token-of/);
  });
});

describe('without its server', () => {
  it('a program that stands by is healthy; its metrics are for masters by certificate, and for nobody by token', async () => {
    await using own = await ControllersApart.start();
    const flags = ['authentication', 'authorization'].map((each) => `--${each}-kubeconfig=${own.kubeconfig()}`);
    const port = await freePort();
    const authorities = `--client-ca-file=${own.folder.write('clients.crt', authority.certificatePem)}`;
    const address = ['--bind-address=127.0.0.1', `--secure-port=${port}`];
    const command = running.use(own.manager(...address, ...flags, authorities, '--leader-elect=false'));
    const program = await Program.of(command);
    await command.prints(/"controllers run"/);
    own.server.signal('SIGKILL');
    await own.server.exit();
    assert.equal(await program.status('/healthz'), 200);
    assert.equal(await program.status('/metrics', { certificate: client('m', 'system:masters') }), 200);
    assert.equal(await program.status('/metrics', { certificate: client('watcher') }), 403);
    assert.equal(await program.status('/metrics', { token: 'token-of-admin' }), 401);
    const shown = async (): Promise<string> =>
      (await program.get('/metrics', { certificate: client('m', 'system:masters') })).text;
    await until(
      async () => (await shown()).includes('rest_client_requests_total{code="<error>"'),
      'its requests do not fail',
    );
  });
});

describe('the port', () => {
  it('is none with --secure-port=0', async () => {
    const program = running.use(apart.manager('--secure-port=0'));
    await program.prints(/"controllers run"|"waits for the lease"/);
    assert.doesNotMatch(program.err, /serving health/);
  });

  it('that another program has ends the command with one line', async () => {
    const { url } = await Program.start();
    const port = new URL(url).port;
    const second = running.use(apart.manager('--bind-address=127.0.0.1', `--secure-port=${port}`));
    assert.equal(await second.exit(), 1);
    assert.equal(
      second.err,
      `orch controller-manager: 127.0.0.1 port ${port} is in use: stop the program that listens there, or choose another --secure-port\n`,
    );
  });

  it('has the certificate that is given, and its successor', async () => {
    const pair = () => makeSelfSigned({ subject: { commonName: 'm' }, use: 'serverAuth', hosts: ['127.0.0.1'] }, pki);
    const write = ({ certificatePem, keyPem }: ReturnType<typeof pair>): readonly string[] => [
      `--tls-cert-file=${apart.folder.write('port.crt', certificatePem)}`,
      `--tls-private-key-file=${apart.folder.write('port.key', keyPem)}`,
    ];
    const [first, second] = [pair(), pair()];
    const program = await Program.start(...write(first));
    assert.equal((await program.get('/healthz')).fingerprint, first.certificate.fingerprint256);
    write(second);
    const shown = async (): Promise<string | undefined> => (await program.get('/healthz')).fingerprint;
    await until(async () => (await shown()) === second.certificate.fingerprint256, 'the new certificate is not served');
  });

  it('keeps a certificate of its own in --cert-dir', async () => {
    const directory = `--cert-dir=${apart.folder.path}/own`;
    const one = await Program.start(directory);
    const { fingerprint } = await one.get('/healthz');
    const two = await Program.start(directory);
    assert.equal((await two.get('/healthz')).fingerprint, fingerprint);
    assert.match(readFileSync(`${apart.folder.path}/own/orch-controller-manager.crt`, 'utf8'), /BEGIN CERTIFICATE/);
  });

  for (const [flags, message] of [
    [['--tls-cert-file=/none'], /--tls-cert-file and --tls-private-key-file must be given together/],
    [['--tls-cert-file=/none', '--tls-private-key-file=/none'], /--tls-cert-file: .*ENOENT/],
    [['--client-ca-file=/dev/null'], /--client-ca-file: /],
    [['--authentication-kubeconfig=/none'], /--authentication-kubeconfig: .*ENOENT/],
    [['--authorization-kubeconfig=/none'], /--authorization-kubeconfig: .*ENOENT/],
    [
      ['--authorization-always-allow-paths=/a*b'],
      /--authorization-always-allow-paths: "\/a\*b" has a \* before its end/,
    ],
    [['--secure-port=65536'], /--secure-port: /],
    [['--bind-address=192.0.2.1'], /--bind-address: 192\.0\.2\.1 is not an address of this machine/],
  ] as const) {
    it(`${flags.join(' ')}: exit 1, one line`, async () => {
      const command = running.use(apart.manager('--secure-port=12345', ...flags));
      assert.equal(await command.exit(), 1);
      assert.match(command.err, new RegExp(`^orch controller-manager: .*${message.source}.*\n$`));
    });
  }
});

describe('flags of metrics', () => {
  const shownTo = ['--authorization-always-allow-paths=/metrics', '--controllers=namespace', '--leader-elect=false'];
  for (const [what, flag] of [
    ['a flag', () => '--allow-metric-labels=rest_client_requests_total,method=GET'],
    [
      'a file',
      () =>
        `--allow-metric-labels-manifest=${apart.folder.write('labels.yaml', 'rest_client_requests_total,method: GET\n')}`,
    ],
  ] as const) {
    it(`values of labels that ${what} allows, metrics that are off, hidden ones`, async () => {
      const program = await Program.start(
        ...shownTo,
        flag(),
        '--disabled-metrics=process_open_fds',
        '--show-hidden-metrics-for-version=1.31',
      );
      await program.command.prints(/"controllers run"/);
      const metrics = async (): Promise<string> => (await program.get('/metrics')).text;
      await until(async () => /^rest_client_requests_total\{.*method="GET"\}/m.test(await metrics()), 'no request yet');
      await apart.send('POST', '/api/v1/namespaces', { metadata: { name: `made-for-${what.replace(' ', '-')}` } });
      await apart.send('DELETE', `/api/v1/namespaces/made-for-${what.replace(' ', '-')}`);
      await until(async () => /method="unexpected"/.test(await metrics()), 'no other request');
      const text = await metrics();
      assert.doesNotMatch(text, /process_open_fds|method="(?:PUT|DELETE|PATCH)"/);
      assert.match(text, /^process_max_fds \d/m);
      assert.match(text, /^nodejs_eventloop_lag_p99_seconds \d/m);
      assert.match(text, /^orch_build_info\{/m);
      assert.match(text, /^rest_client_request_duration_seconds_count\{verb="GET",host="[^"]+"\} [1-9]/m);
      assert.match(text, /^disabled_metrics_total 1$/m);
      assert.match(text, /^hidden_metrics_total 0$/m);
    });
  }

  it('a release that is not the one before is refused', async () => {
    const command = running.use(apart.manager('--show-hidden-metrics-for-version=1.30'));
    assert.equal(await command.exit(), 1);
    assert.match(command.err, /--show-hidden-metrics-for-version: .*only the previous minor version is allowed/);
  });
});
