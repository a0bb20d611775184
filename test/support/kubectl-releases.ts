import { spawnSync } from 'node:child_process';
import { readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface KubectlRelease {
  readonly program: string;
  /** `1.32`; '' where only the one in use is there. */
  readonly release: string;
}

/** Every release of the client that stands beside the one in use, oldest first; that one where there is no other. */
export const kubectlReleases: readonly KubectlRelease[] = find();

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
