/** Test support: a small file system that only one process and its children see, and that goes with them. */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';

export interface SmallDisk {
  /** Must exist. What is in it is hidden from the process. */
  readonly folder: string;
  readonly kibibytes: number;
}

/** What to put before a command so that it runs with the disk. */
export const withSmallDisk = ({ folder, kibibytes }: SmallDisk): readonly string[] => [
  ...['unshare', '--map-root-user', '--mount'],
  ...['sh', '-c', `mount -t tmpfs -o size=${kibibytes}k tmpfs "$0" && exec "$@"`, folder],
];

/** An option of node:test: why there can be no such disk here, or false where there can. */
export const smallDiskMissing: string | false =
  spawnSync('unshare', ['--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status === 0
    ? false
    : 'this system lets nobody mount a small file system (unshare, tmpfs)';
