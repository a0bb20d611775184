import type { Transferable, Worker } from 'node:worker_threads';
import type { SeatData } from '../../server/threads/thread-messages.ts';
import type { ThreadSeat } from '../../server/threads/thread-seat.ts';
import { type FlagTable, type FlagValues, parseFlags } from '../flags/flags.ts';
import { type IgnoredFlag, ignoredFlags, type PublishedFlags, publishedFlagTable } from '../flags/published-flags.ts';

/** Output of a command. Texts include their line breaks. */
export interface Terminal {
  readonly out: (text: string) => void;
  /** Returns false if the text is lost, because nobody reads what waits. */
  readonly err: (text: string) => unknown;
  /** True if `err` is a terminal, so that a progress line may be redrawn. */
  readonly interactive: boolean;
  /** For a server with several threads; absent where a server has one. */
  readonly threads?: TerminalThreads;
}

/** The threads that run one command line. */
type TerminalThreads =
  /** On the main thread: starts another one, which runs the same command line. */
  | { readonly type: 'main'; readonly start: StartThread }
  /** On one of the others. */
  | { readonly type: 'serving'; readonly seat: ThreadSeat };

export type StartThread = (seat: SeatData, transfer: readonly Transferable[]) => Worker;

/** One command of the command line. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** Text for its own help, with the line breaks as shown. */
  readonly description: string;
  readonly flags: FlagTable;
  /** Flags of the published program that the command accepts in addition. */
  readonly published: PublishedFlags;
  /** True if it answers `--help` and `--version` itself. */
  readonly readsAll?: boolean;
  /** Runs the command. Resolves to the exit code; the caller shows UsageErrors and other errors. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
  /** Ends what was begun when it was loaded and was not needed. */
  close?(): void;
}

interface CommandDefinition<Table extends FlagTable> {
  readonly summary: string;
  readonly description: string;
  readonly flags: Table;
  readonly published?: PublishedFlags;
  /** `ignored` are the given flags without effect: the command warns about them. */
  readonly run: (values: FlagValues<Table>, terminal: Terminal, ignored: readonly IgnoredFlag[]) => Promise<number>;
}

const none: PublishedFlags = { ignored: [], refused: [] };

/** Defines a command with its own flags and, in addition, those published flags that it does not implement. */
export const defineCommand = <const Table extends FlagTable>(definition: CommandDefinition<Table>): Command => {
  const { summary, description, flags, published = none } = definition;
  return {
    summary,
    description,
    flags,
    published,
    run: async (args, terminal) => {
      const values = parseFlags({ ...publishedFlagTable(published), ...flags }, args);
      return definition.run(values as FlagValues<Table>, terminal, ignoredFlags(published, values));
    },
  };
};
