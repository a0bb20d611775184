import type { Command, Terminal } from './commands/command.ts';
import { commands } from './commands/commands.ts';
import { describeFailure } from './failure.ts';
import { suggestion } from './flags/flags.ts';
import { UsageError } from './usage-error.ts';

/** Runs one command line and returns the exit code. Errors are shown, never thrown. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const [first, ...rest] = args;
  const name =
    first === undefined || first === '--help' || first === '-h' ? 'help' : first === '--version' ? 'version' : first;
  let command: Command | undefined;
  try {
    // The data file of a serving thread is opened by the main one.
    command = await load(name, terminal.threads?.type === 'serving' ? undefined : rest);
    if (command.readsAll) return await command.run(rest, terminal);
    if (!rest.includes('--help') && !rest.includes('-h')) {
      const asksVersion = rest.some((arg) => /^--version(=true|=raw)?$/.test(arg));
      return await (asksVersion ? (await load('version')).run([], terminal) : command.run(rest, terminal));
    }
    const { commandHelp } = await import('./commands/help.ts');
    terminal.out(commandHelp(name, command));
    return 0;
  } catch (error) {
    terminal.err(describeFailure(Object.hasOwn(commands, name) ? `orch ${name}` : 'orch', error));
    return 1;
  } finally {
    command?.close?.();
  }
}

function load(name: string, args?: readonly string[]): Promise<Command> {
  const loader = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (loader) return loader(args);
  const hint = suggestion(name, Object.keys(commands), '') || `; see orch help`;
  throw new UsageError(`unknown command ${JSON.stringify(name)}${hint}`);
}
