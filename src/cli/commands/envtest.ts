import { chmodSync, existsSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { makePrivateDirectory, replaceFile } from '../../base/atomic-file.ts';
import { publishedPrograms } from '../../dialect/published-programs.ts';
import { file } from '../flags/flags.ts';
import { UsageError } from '../usage-error.ts';
import { defineCommand, type Terminal } from './command.ts';
import { apiserverHelp } from './stand-in-apiserver.ts';
import { etcdHelp } from './stand-in-etcd.ts';

const { server, commandLineClient } = publishedPrograms;

export const envtest = defineCommand({
  summary: `Puts ${server}, etcd and ${commandLineClient} into a folder, for libraries that start test environments`,
  description:
    `Makes DIR/${server} and DIR/etcd, which start this product, and a link to the ${commandLineClient} of PATH. Environment\n` +
    'libraries find them by the variable that it prints.',
  flags: { to: file({ placeholder: 'DIR', help: 'the folder; made if it is missing' }) },
  async run({ to }, terminal) {
    if (to === undefined) throw new UsageError('--to is missing: --to=DIR');
    const directory = resolve(to);
    const programs = {
      [server]: ['stand-in-apiserver', apiserverHelp()],
      etcd: ['stand-in-etcd', etcdHelp()],
    } as const;
    for (const name of Object.keys(programs)) refuseForeign(join(directory, name));
    makePrivateDirectory(directory);
    for (const [name, [command = '', help = '']] of Object.entries(programs)) {
      writeProgram(join(directory, name), { command, help });
    }
    linkClient(join(directory, commandLineClient), terminal);
    terminal.out(`export KUBEBUILDER_ASSETS=${shellWord(directory)}\n`);
    return 0;
  },
});

const mark = '# Made by `orch envtest`.';

/** A program that is there and not ours may be a real one. */
function refuseForeign(path: string): void {
  if (!existsSync(path)) return;
  if (statSync(path).isFile() && readFileSync(path, 'latin1').slice(0, 200).includes(mark)) return;
  throw new UsageError(`--to: ${path} is there and was not made by this command: remove it, or choose another folder`);
}

/** The help is in the file: libraries ask for it before each start, and it needs no runtime. */
function writeProgram(path: string, { command, help }: { readonly command: string; readonly help: string }): void {
  const lines = [
    '#!/bin/sh',
    mark,
    'if [ "$*" = --help ]; then',
    "  cat <<'END_OF_HELP'",
    help.trimEnd(),
    'END_OF_HELP',
    '  exit 0',
    'fi',
    `exec ${quoted(launcher())} ${command} "$@"`,
    '',
  ];
  replaceFile(path, lines.join('\n'), { mode: 0o755 });
  // Whatever the mask of the process says.
  chmodSync(path, 0o755);
}

/** The launcher of this installation, beside the sources or the bundle. */
function launcher(): string {
  for (let directory = import.meta.dirname; directory !== dirname(directory); directory = dirname(directory)) {
    const path = join(directory, 'bin', 'orch');
    if (existsSync(path) && existsSync(join(directory, 'package.json'))) return path;
  }
  throw new Error(`bin/orch is not found above ${import.meta.dirname}: install the package again`);
}

/** Leaves alone what is there, if it works. */
function linkClient(path: string, terminal: Terminal): void {
  if (existsSync(path)) return;
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((directory) => resolve(directory, commandLineClient))
    .find((each) => each !== path && isProgram(each));
  if (found === undefined) {
    terminal.err(`${commandLineClient} is not on PATH: put it into ${dirname(path)} for libraries that need it\n`);
    return;
  }
  // A link to nothing may be there.
  rmSync(path, { force: true });
  symlinkSync(realpathSync(found), path);
}

function isProgram(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status?.isFile() === true && (status.mode & 0o111) !== 0;
}

const shellWord = (word: string): string => (/^[-\w./:@%+=,]+$/.test(word) ? word : quoted(word));
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
