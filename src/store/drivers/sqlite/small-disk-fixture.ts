/** Test support: a small file system, visible only to one process and its children, and removed with them. */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';

export interface SmallDisk {
  /** Must exist. Its contents are hidden from the process. */
  readonly folder: string;
  readonly kibibytes: number;
}

/** A command prefix that runs the command with the disk mounted. */
export const withSmallDisk = ({ folder, kibibytes }: SmallDisk): readonly string[] => [
  ...['unshare', '--map-root-user', '--mount'],
  ...['sh', '-c', `mount -t tmpfs -o size=${kibibytes}k tmpfs "$0" && exec "$@"`, folder],
];

/** A skip option of node:test: why such a disk is impossible here, or false if it is possible. */
export const smallDiskMissing: string | false =
  spawnSync('unshare', ['--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status === 0
    ? false
    : 'this system lets nobody mount a small file system (unshare, tmpfs)';
