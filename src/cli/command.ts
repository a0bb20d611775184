import { type FlagTable, type FlagValues, parseFlags } from './flags.ts';

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
  /** Runs to its end. Resolves to the exit code; UsageError and other errors are for the caller to show. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

export interface CommandDefinition<Table extends FlagTable> {
  readonly summary: string;
  readonly description: string;
  readonly flags: Table;
  readonly run: (values: FlagValues<Table>, terminal: Terminal) => Promise<number>;
}

/** A command whose arguments are read by its own table. */
export const defineCommand = <const Table extends FlagTable>(definition: CommandDefinition<Table>): Command => ({
  summary: definition.summary,
  description: definition.description,
  flags: definition.flags,
  run: async (args, terminal) => definition.run(parseFlags(definition.flags, args), terminal),
});
