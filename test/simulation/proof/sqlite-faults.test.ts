import { join } from 'node:path';
import type { Dice } from '../dice.ts';
import { faultTests } from './fault-tests.ts';
import { changesOfFile } from './history.ts';
import { Processes } from './processes.ts';
import { type Fault, runRounds } from './rounds.ts';

/**
 * Clients of a real process on SQLite, which is killed, killed again while it starts, and paused; with one serving thread, and with several, of which one
 * ends at times.
 */
const options = {
  roundsPerStore: 50,
  roundMsMax: 20_000,
  batchRevisions: 'consecutive',
  skip: false,
} as const;

for (const { threads, rounds } of [
  { threads: 1, rounds: 5 },
  { threads: 3, rounds: 3 },
]) {
  faultTests(
    `faults of a process on SQLite, serving threads: ${threads}`,
    { ...options, rounds },
    async ({ dice, rounds, folder }) => {
      await using processes = new Processes({ threads });
      await processes.start([], { dataDir: folder });
      const done = await runRounds({
        servers: processes,
        dice,
        rounds,
        fault: () => faultOf({ processes, dice, threads }),
      });
      await processes.kill();
      return { rounds: done, changes: await changesOfFile(join(folder, 'orch.db')) };
    },
  );
}

/** Of the faults of a process with several threads. */
const threadEndRate = 0.5;
const pauseMsMax = 150;
/** Longest time after which a start is killed: about that of a start. */
const startMsMax = 700;

interface FaultParts {
  readonly processes: Processes;
  readonly dice: Dice;
  readonly threads: number;
}

function faultOf({ processes, dice, threads }: FaultParts): Fault {
  if (threads > 1 && dice.chance(threadEndRate)) {
    return { name: 'end of a serving thread', strike: () => processes.endThread(0) };
  }
  const chosen = dice.below(10);
  if (chosen < 4) return { name: 'pause', strike: () => processes.pause(0, dice.below(pauseMsMax)) };
  if (chosen < 5) {
    const startsMs = [dice.below(startMsMax)];
    return { name: 'kill, also while it starts', strike: () => processes.replace(0, { startsMs }) };
  }
  return { name: 'kill', strike: () => processes.replace(0) };
}
