/** Test support: real etcd servers, started by tests from the installed binary. Imported by tests only. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../base/free-port-fixture.ts';
import { until } from '../../../base/waits-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';
import type { EtcdTls } from './etcd-tls.ts';

/** A skip option of node:test: why tests that need etcd are skipped, or false if etcd is installed. */
export const etcdMissing: string | false =
  spawnSync('etcd', ['--version']).status === 0 ? false : 'etcd is not installed: apt-get install etcd-server';

export interface EtcdProcessOptions {
  /** Files with which etcd serves TLS, and the authority of the client certificates that it requires. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile: string };
  /** TLS material for clients, if `tls` is set. */
  readonly clientTls?: EtcdTls;
  /** Additional flags for etcd. */
  readonly flags?: readonly string[];
  /** Default: this machine's loopback interface. */
  readonly host?: EtcdHost;
}

/** Where a member runs. */
export interface EtcdHost {
  readonly address: string;
  /** A command prefix that runs a command there. */
  readonly within: readonly string[];
}

const loopback: EtcdHost = { address: '127.0.0.1', within: [] };

export interface EtcdProcess {
  /** `http://127.0.0.1:port`, or `https`; unchanged by restarts. */
  readonly endpoint: string;
  /** Kills it like a crash; its data is kept. */
  kill(): Promise<void>;
  /** Restarts it on its data after `kill`; does nothing while it runs. Resolves when it answers. */
  start(): Promise<void>;
  /** Freezes it: connections stay open, but nothing answers. Resolves when each of its threads stands. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a single-member etcd with empty data on a free port of 127.0.0.1. Call `stop` when done; if a test does not,
 * etcd ends with this process: on exit through a handler, on a crash through the kernel (`setpriv --pdeathsig`, on
 * Linux).
 */
export const startEtcd = async (options: EtcdProcessOptions = {}): Promise<EtcdProcess> => {
  for (let attempt = 1; ; attempt++) {
    const etcd = new EtcdServer(options, await freePort());
    try {
      await etcd.start();
      return etcd;
    } catch (error) {
      await etcd.stop();
      // Another process may have taken the port between the search for a free one and its use.
      if (attempt === 3) throw error;
    }
  }
};

export interface EtcdCluster {
  readonly members: readonly EtcdProcess[];
  readonly endpoints: readonly string[];
  stop(): Promise<void>;
}

/** Starts a cluster of three members, whose elections are quick. */
export const startEtcdCluster = async (
  hosts: readonly EtcdHost[] = [loopback, loopback, loopback],
): Promise<EtcdCluster> => {
  for (let attempt = 1; ; attempt++) {
    const peers: string[] = [];
    for (const { address } of hosts) peers.push(`http://${address}:${await freePort()}`);
    const initial = peers.map((peer, index) => `m${index}=${peer}`).join(',');
    const members: EtcdServer[] = [];
    for (const [index, host] of hosts.entries()) {
      const peer = peers[index] ?? '';
      const flags = ['--name', `m${index}`, '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer];
      flags.push('--initial-cluster', initial, '--heartbeat-interval', '50', '--election-timeout', '500');
      members.push(new EtcdServer({ flags, host }, await freePort()));
    }
    const stop = async (): Promise<void> => void (await Promise.all(members.map((member) => member.stop())));
    try {
      await Promise.all(members.map((member) => member.start()));
      return { members, endpoints: members.map(({ endpoint }) => endpoint), stop };
    } catch (error) {
      await stop();
      // Another process may have taken a port between the search for a free one and its use.
      if (attempt === 3) throw error;
    }
  }
};

/** Whether each thread of a process is stopped, by the letter after its command's name (proc(5)). */
const hasStopped = (pid: number | undefined): boolean =>
  readdirSync(`/proc/${pid}/task`).every((thread) =>
    /\) T [^)]*$/.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')),
  );

class EtcdServer implements EtcdProcess {
  readonly endpoint: string;
  readonly #options: EtcdProcessOptions;
  readonly #directory = mkdtempSync(join(tmpdir(), 'orch-etcd-'));
  readonly #endWithUs = () => {
    this.#child?.kill('SIGKILL');
    this.#removeData();
  };
  #child: ChildProcess | undefined;
  #log = '';

  constructor(options: EtcdProcessOptions, port: number) {
    this.#options = options;
    this.endpoint = `${options.tls ? 'https' : 'http'}://${(options.host ?? loopback).address}:${port}`;
    process.once('exit', this.#endWithUs);
  }

  async start(): Promise<void> {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) return;
    const [command, ...args] = [...(this.#options.host ?? loopback).within, 'etcd', ...this.#flags()] as const;
    const child = spawnToDieWithUs(command ?? 'etcd', args);
    this.#child = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-4_000);
    });
    const exited = new Promise<never>((_, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`etcd ended at its start:\n${this.#log}`)));
    });
    await Promise.race([this.#answers(), exited]);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async freeze(): Promise<void> {
    const child = this.#child;
    if (!child?.kill('SIGSTOP')) return;
    // A thread that runs while the signal is sent stops a moment later.
    await until(() => child.exitCode !== null || hasStopped(child.pid));
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.kill();
    process.off('exit', this.#endWithUs);
    this.#removeData();
  }

  #removeData(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #answers(): Promise<void> {
    const { clientTls } = this.#options;
    const store = await openEtcdStore({ endpoints: [this.endpoint], ...(clientTls ? { tls: clientTls } : {}) });
    await store.close();
  }

  #flags(): readonly string[] {
    const { tls, flags = [] } = this.#options;
    return [
      ...['--data-dir', this.#directory],
      ...['--listen-client-urls', this.endpoint, '--advertise-client-urls', this.endpoint],
      // Nothing joins a single-member cluster: any free port will do.
      ...['--listen-peer-urls', 'http://127.0.0.1:0'],
      ...['--logger', 'zap', '--log-level', 'error'],
      ...(tls ? ['--cert-file', tls.certFile, '--key-file', tls.keyFile] : []),
      ...(tls ? ['--client-cert-auth', '--trusted-ca-file', tls.clientCaFile] : []),
      ...flags,
    ];
  }
}

export const spawnToDieWithUs = (command: string, args: readonly string[]): ChildProcess => {
  const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((file) => existsSync(file));
  // 3.4 refuses to run on arm64 without this variable. Nothing else in the environment may configure it.
  const env = { PATH: process.env['PATH'], ETCD_UNSUPPORTED_ARCH: process.arch };
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  return setpriv
    ? spawn(setpriv, ['--pdeathsig', 'KILL', command, ...args], { env, stdio: [...stdio] })
    : spawn(command, args, { env, stdio: [...stdio] });
};
