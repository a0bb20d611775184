/** Test support: kine, an etcd-compatible server over SQLite, from the PATH. Imported by tests only. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../base/free-port-fixture.ts';
import { spawnToDieWithUs } from './etcd-process-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';

/** A skip option of node:test: why tests that need kine are skipped, or false if it is on the PATH. */
export const kineMissing: string | false =
  spawnSync('kine', ['--version']).status === 0
    ? false
    : 'kine is not on the PATH: go install github.com/k3s-io/kine@latest';

interface KineProcess {
  /** `http://127.0.0.1:port`. */
  readonly endpoint: string;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a kine with empty data. It compacts when told to, to any revision, as etcd does (`--compact-min-retain=0`).
 * Call `stop` when done; it ends with this process otherwise.
 */
export const startKine = async (): Promise<KineProcess> => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-kine-'));
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const options = '_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate';
  const child = spawnToDieWithUs('kine', [
    ...['--listen-address', `127.0.0.1:${port}`, '--metrics-bind-address', '0', '--compact-min-retain', '0'],
    ...['--endpoint', `sqlite://${join(directory, 'kine.db')}?${options}`],
  ]);
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4_000);
  });
  const exited = once(child, 'exit');
  const ended = exited.then(() => Promise.reject(new Error(`kine ended at its start:\n${log}`)));
  ended.catch(() => {});
  const answers = openEtcdStore({ endpoints: [endpoint] }).then((store) => store.close());
  await Promise.race([answers, ended]);
  return {
    endpoint,
    async stop() {
      child.kill('SIGKILL');
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
