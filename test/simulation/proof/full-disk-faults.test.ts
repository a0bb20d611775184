import { copyFileSync, existsSync, mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../../src/base/limits.ts';
import { until } from '../../../src/base/waits-fixture.ts';
import { SharedSmallDisk, smallDiskMissing } from '../../../src/store/drivers/sqlite/small-disk-fixture.ts';
import type { OrchProcess } from '../../support/orch-process.ts';
import type { Dice } from '../dice.ts';
import { faultTests } from './fault-tests.ts';
import { createKeptLog, keptChanges } from './kept-log.ts';
import { attemptStart, Processes } from './processes.ts';
import { type Fault, runRounds } from './rounds.ts';

/** Clients of a real process on SQLite whose disk others fill for a while; it is killed then, and started on the full disk. */
const options = {
  rounds: 4,
  roundsPerStore: 25,
  roundMsMax: 30_000,
  batchRevisions: 'consecutive',
  skip: smallDiskMissing,
} as const;
const kibibytes = 96 * 1024;

faultTests('a full disk below a process on SQLite', options, async ({ dice, rounds, folder }) => {
  const [place, dataDir] = [join(folder, 'disk'), join(folder, 'data')];
  for (const made of [place, dataDir]) mkdirSync(made);
  await using disk = await SharedSmallDisk.mount({ folder: place, kibibytes });
  const file = join(disk.folder, 'orch.db');
  // A full disk has no room for history.
  await createKeptLog(join(folder, 'made.db'));
  copyFileSync(join(folder, 'made.db'), file);
  await using processes = new Processes();
  const flags = [`--sqlite-file=${join(place, 'orch.db')}`];
  const server = await processes.start(flags, { dataDir, within: disk.within });
  const fault = (): Fault => faultOf({ processes, server, disk, file, dice });
  const done = await runRounds({ servers: processes, dice, rounds, fault });
  await processes.kill();
  for (const suffix of ['', '-wal']) {
    if (existsSync(file + suffix)) copyFileSync(file + suffix, join(folder, `left.db${suffix}`));
  }
  const { changes, compacted } = keptChanges(join(folder, 'left.db'));
  const isCompacted = compacted > 0 || done.every((round) => round.fault !== fullDisk);
  return { rounds: done, changes, problems: isCompacted ? [] : ['a full disk has room for history'] };
});

const fullDisk = 'full disk';
/** What must be free between faults: what a server sets aside, and as much again. */
const leastBytes = 2 * limits.sqliteReserveBytes;
const fullMsMax = 1_000;
const fillerBytes = 50_000;
/** Longest time that a start is watched which the disk may keep from being ready. */
const startMsMax = 1_500;
/** What a start says that the disk ends. */
const ending = /ENOSPC|no room is left to write to .*: make room and start again/;

interface FaultParts {
  readonly processes: Processes;
  readonly server: OrchProcess;
  readonly disk: SharedSmallDisk;
  readonly file: string;
  readonly dice: Dice;
}

function faultOf({ processes, server, disk, file, dice }: FaultParts): Fault {
  const full = async (): Promise<void> => {
    // Otherwise the log has room for all that is written in a round.
    truncateLog(file);
    disk.fill();
    await until(() => isRefused(server, `filler-${dice.below(1_000_000)}`), 'a full disk takes everything');
    await delay(dice.below(fullMsMax));
  };
  const freed = async (): Promise<void> => {
    disk.free();
    const { bavail, bsize } = statfsSync(disk.folder);
    // The log of all that was ever written grows with the time that rounds take.
    if (bavail * bsize < leastBytes)
      throw new Error(`the disk of this test is too small: ${bavail * bsize} bytes are free`);
  };
  const faults: readonly Fault[] = [
    { name: fullDisk, strike: () => full().then(freed) },
    {
      name: 'full disk, and a kill',
      strike: async () => {
        await full();
        await processes.replace(0, { whileDown: freed });
      },
    },
    {
      name: 'full disk, a kill, and a start on it',
      strike: async () => {
        await full();
        await processes.replace(0, {
          whileDown: async (server) => {
            await attemptStart(server, { msMax: startMsMax, ending });
            await freed();
          },
        });
      },
    },
  ];
  return dice.pick(faults);
}

async function isRefused(server: OrchProcess, name: string): Promise<boolean> {
  const { status, text } = await server.post('/api/v1/namespaces/default/configmaps', {
    metadata: { name },
    data: { filler: 'x'.repeat(fillerBytes) },
  });
  return status === 503 && text.includes('the data store has no room left; the request was not carried out');
}

function truncateLog(file: string): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}
