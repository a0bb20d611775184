import { join } from 'node:path';
import type { Dice } from '../dice.ts';
import { faultTests } from './fault-tests.ts';
import { changesOfFile } from './history.ts';
import { Processes } from './processes.ts';
import { type Fault, runRounds } from './rounds.ts';

/** Clients of a real process on SQLite, which is killed, killed again while it starts, and paused. */
const options = {
  rounds: 5,
  roundsPerStore: 50,
  roundMsMax: 20_000,
  batchRevisions: 'consecutive',
  skip: false,
} as const;

faultTests('faults of a process on SQLite', options, async ({ dice, rounds, folder }) => {
  await using processes = new Processes();
  await processes.start([], { dataDir: folder });
  const done = await runRounds({ servers: processes, dice, rounds, fault: () => faultOf(processes, dice) });
  await processes.kill();
  return { rounds: done, changes: await changesOfFile(join(folder, 'orch.db')) };
});

const pauseMsMax = 150;
/** Longest time after which a start is killed: about that of a start. */
const startMsMax = 700;

function faultOf(processes: Processes, dice: Dice): Fault {
  const chosen = dice.below(10);
  if (chosen < 4) return { name: 'pause', strike: () => processes.pause(0, dice.below(pauseMsMax)) };
  if (chosen < 5) {
    const startsMs = [dice.below(startMsMax)];
    return { name: 'kill, also while it starts', strike: () => processes.replace(0, { startsMs }) };
  }
  return { name: 'kill', strike: () => processes.replace(0) };
}
