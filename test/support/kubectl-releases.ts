import { spawnSync } from 'node:child_process';
import { readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface KubectlRelease {
  readonly program: string;
  /** `1.32`; '' where only the one in use is there. */
  readonly release: string;
}

/** Every client of the table in docs/CLIENTS.md is tried. Otherwise those that differ most: that takes a third of the time. */
export const triesAllClients = process.env['ORCH_ALL_CLIENTS'] !== undefined;
export const leftOutReason = 'left out: with ORCH_ALL_CLIENTS=1 it is tried';

/** Every release of the client that stands beside the one in use, oldest first; that one where there is no other. */
const installed: readonly KubectlRelease[] = find();

/** The oldest release, that of the API which is served, and the newest one; or all. */
export const kubectlReleases: readonly KubectlRelease[] = installed.filter(
  ({ release }, index) => triesAllClients || index === 0 || index === installed.length - 1 || release === '1.32',
);

/** Releases that are installed and not tried. */
export const kubectlLeftOut: readonly KubectlRelease[] = installed.filter((each) => !kubectlReleases.includes(each));

function find(): readonly KubectlRelease[] {
  const used = spawnSync('sh', ['-c', 'command -v kubectl'], { encoding: 'utf8' }).stdout.trim();
  if (used === '') return [];
  const folder = dirname(realpathSync(used));
  const releases = readdirSync(folder)
    .map((name) => /^kubectl\.(\d+\.\d+)$/.exec(name)?.[1])
    .filter((release) => release !== undefined)
    .sort();
  if (releases.length === 0) return [{ program: used, release: '' }];
  return releases.map((release) => ({ program: join(folder, `kubectl.${release}`), release }));
}
