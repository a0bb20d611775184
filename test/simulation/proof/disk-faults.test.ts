import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FailingDisk, failingDiskMissing } from '../../../src/store/drivers/sqlite/failing-disk-fixture.ts';
import { Dice } from '../dice.ts';
import { faultTests } from './fault-tests.ts';
import { createKeptLog, keptChanges } from './kept-log.ts';
import { attemptStart, Processes } from './processes.ts';
import { type Fault, runRounds } from './rounds.ts';

/**
 * Clients of a real process on SQLite whose disk fails to sync, also while it starts, and loses what it failed to write; the
 * process is killed then, and the power is cut.
 */
const options = {
  rounds: 4,
  roundsPerStore: 50,
  roundMsMax: 20_000,
  batchRevisions: 'consecutive',
  skip: failingDiskMissing,
} as const;

faultTests('faults of the disk below a process on SQLite', options, async ({ dice, rounds, folder }) => {
  using disk = new FailingDisk();
  await using processes = new Processes();
  const file = join(folder, 'orch.db');
  // What a start wrote of the file's identity may be lost: then it is taken for a copy, which has no history.
  await createKeptLog(file);
  await processes.start([], { dataDir: folder, within: disk.within });
  const fault = (): Fault => faultOf({ processes, disk, file, dice });
  const done = await runRounds({ servers: processes, dice, rounds, fault });
  await processes.kill();
  disk.cutPower(file, () => dice.chance(0.5));
  return { rounds: done, changes: keptChanges(file).changes };
});

test('a disk that loses what it says it keeps is found out', { skip: failingDiskMissing }, async () => {
  using disk = new FailingDisk();
  await using processes = new Processes();
  const { dataDir } = await processes.start([], { within: disk.within });
  const file = join(dataDir, 'orch.db');
  disk.fail({ error: 'none', percent: 100, seed: 1 });
  const strike = (): Promise<void> => processes.replace(0, { whileDown: async () => disk.cutPower(file, () => false) });
  const rounds = runRounds({
    servers: processes,
    dice: new Dice(1),
    rounds: 1,
    fault: () => ({ name: 'cut', strike }),
  });
  await assert.rejects(rounds, /round-0 was acknowledged and is lost/);
});

const failingMsMax = 400;
/** Longest time that a start is watched which the disk may keep from being ready. */
const startMsMax = 1_500;
/** What a start says that the disk ends. */
const ending = /(?:could not use|no room is left to write to) .*orch\.db.*: (?:disk I\/O error|EIO|ENOSPC)/;

interface FaultParts {
  readonly processes: Processes;
  readonly disk: FailingDisk;
  readonly file: string;
  readonly dice: Dice;
}

function faultOf({ processes, disk, file, dice }: FaultParts): Fault {
  const fail = (): void => {
    const [error, percent, seed] = [dice.pick(['EIO', 'ENOSPC'] as const), dice.pick([100, 50, 20]), dice.below(1_000)];
    disk.fail({ error, percent, seed });
  };
  const failing = async (): Promise<void> => {
    fail();
    await delay(dice.below(failingMsMax));
  };
  const cut = async (): Promise<void> => {
    disk.mend();
    disk.cutPower(file, () => dice.chance(0.5));
  };
  const faults: readonly Fault[] = [
    {
      name: 'syncs fail',
      strike: async () => {
        await failing();
        disk.mend();
      },
    },
    {
      name: 'syncs fail, and a kill',
      strike: async () => {
        await failing();
        await processes.replace(0, { whileDown: async () => disk.mend() });
      },
    },
    {
      name: 'syncs fail, and a power cut',
      strike: async () => {
        await failing();
        await processes.replace(0, { whileDown: cut });
      },
    },
    {
      name: 'syncs fail during a start, and a power cut',
      strike: () =>
        processes.replace(0, {
          whileDown: async (server) => {
            fail();
            await attemptStart(server, { msMax: startMsMax, ending });
            await cut();
          },
        }),
    },
    { name: 'power cut', strike: () => processes.replace(0, { whileDown: cut }) },
  ];
  return dice.pick(faults);
}
