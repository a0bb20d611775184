import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { within } from './within.ts';
import type { Workspace } from './workspace.ts';

const startMsMax = 15_000;
const pollMs = 20;

/** One member of etcd, with its data in the workspace. */
export class Etcd implements AsyncDisposable {
  readonly url: string;
  readonly #workspace: Workspace;
  readonly #child: ChildProcess;

  private constructor(workspace: Workspace, child: ChildProcess, url: string) {
    this.#workspace = workspace;
    this.#child = child;
    this.url = url;
  }

  /** Undefined where none is on the PATH. */
  static async start(workspace: Workspace): Promise<Etcd | undefined> {
    const [url, peers] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
    const child = workspace.spawn({
      command: 'etcd',
      args: [
        ...['--data-dir', workspace.freshPath('etcd'), '--log-level', 'error'],
        ...['--listen-client-urls', url, '--advertise-client-urls', url],
        ...[
          '--listen-peer-urls',
          peers,
          '--initial-advertise-peer-urls',
          peers,
          '--initial-cluster',
          `default=${peers}`,
        ],
      ],
    });
    child.stderr?.resume();
    const spawned = await once(child, 'spawn').then(
      () => true,
      () => false,
    );
    if (!spawned) return undefined;
    await within(untilHealthy(url), startMsMax, 'starting etcd');
    return new Etcd(workspace, child, url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workspace.stop(this.#child);
  }
}

async function untilHealthy(url: string): Promise<void> {
  for (;;) {
    const isHealthy = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isHealthy) return;
    await pause(pollMs);
  }
}
