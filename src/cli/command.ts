import { type FlagTable, type FlagValues, parseFlags } from './flags.ts';
import { type IgnoredFlag, ignoredFlags, type PublishedFlags, publishedFlagTable } from './published-flags.ts';

/** Where a command writes for people. Lines carry their line breaks. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Someone looks at `err` while the command runs: a line that grows makes sense there. */
  readonly interactive: boolean;
}

/** One command of the launcher. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** What it does, for its own help; lines as they are shown. */
  readonly description: string;
  readonly flags: FlagTable;
  /** What else may stand on its line. */
  readonly published: PublishedFlags;
  /** Runs to its end. Resolves to the exit code; UsageError and other errors are for the caller to show. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

interface CommandDefinition<Table extends FlagTable> {
  readonly summary: string;
  readonly description: string;
  readonly flags: Table;
  readonly published?: PublishedFlags;
  /** `ignored` are the flags that were given and change nothing: the command warns of them. */
  readonly run: (values: FlagValues<Table>, terminal: Terminal, ignored: readonly IgnoredFlag[]) => Promise<number>;
}

const none: PublishedFlags = { ignored: [], refused: [] };

/** A command whose arguments are read by its own table, and by that of published flags where it has none of the name. */
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
