import type { FlagTable } from '../flags/flags.ts';
import { type Command, defineCommand } from './command.ts';

/** Commands by name, each loaded on demand. With arguments that it will run with, one may begin at once what they need. */
export type CommandLoaders = Readonly<Record<string, (args?: readonly string[]) => Promise<Command>>>;

/** The command that lists all commands. */
export const helpOf = (commands: CommandLoaders): Command =>
  defineCommand({
    summary: 'This text; `orch COMMAND --help` for the flags of a command',
    description: 'Lists the commands.',
    flags: {},
    async run(_values, terminal) {
      terminal.out(await overview(commands));
      return 0;
    },
  });

async function overview(commands: CommandLoaders): Promise<string> {
  const rows = await Promise.all(
    Object.entries(commands).map(async ([name, load]) => `  ${name.padEnd(20)}${(await load()).summary}\n`),
  );
  return `A cluster control plane without a cluster.\n\nUsage: orch COMMAND [FLAGS]\n\n${rows.join('')}`;
}

/** For scripts written for kube-apiserver and kube-controller-manager. */
const aboutPublished =
  'Flags of published servers that change nothing here are taken with a warning; those that must not be ignored end the\n' +
  'command with a line that says why. docs/OPERATIONS.md lists both.\n';

/** The help of one command. */
export function commandHelp(name: string, command: Command): string {
  const flags = describeFlags(command.flags);
  return (
    `Usage: orch ${name}${flags === '' ? '' : ' [FLAGS]'}\n\n${command.description}\n` +
    (flags === '' ? '' : `\nFlags, as --name=value or --name value:\n${flags}`) +
    (command.published.ignored.length === 0 ? '' : `\n${aboutPublished}`)
  );
}

/** The rows of flags in a help text. */
export const describeFlags = (flags: FlagTable): string =>
  Object.entries(flags)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, flag]) => {
      const shape = `${name.length === 1 ? '-' : '--'}${name}${flag.isSwitch ? '[=false]' : `=${flag.placeholder}`}`;
      const standard = flag.defaultText === '' ? '' : ` (default ${flag.defaultText})`;
      return `  ${shape}\n      ${flag.help}${standard}\n`;
    })
    .join('');
