import assert from 'node:assert/strict';
import { runCommand } from './client-script.ts';
import type { ClientCommand, OfficialClient } from './official-clients.ts';

/** A program in another language, and how it is built. */
export type Program = Pick<OfficialClient, 'folder' | 'toolchain' | 'fetch' | 'registry' | 'build'>;

/** Builds the program. A reason where something of the machine is missing; rejects where the program is wrong. */
export async function prepareProgram(program: Program): Promise<string | undefined> {
  for (const command of program.toolchain) {
    if (!(await works(command, program.folder))) return `${command.tool ?? command.command} is not installed`;
  }
  for (const command of program.fetch) {
    const { code, output } = await runCommand(command, program.folder);
    if (code === 0) continue;
    if (program.registry && !(await answers(program.registry))) return `${program.registry} does not answer`;
    assert.fail(output);
  }
  for (const command of program.build) {
    const { code, output } = await runCommand(command, program.folder);
    assert.equal(code, 0, output);
  }
  return undefined;
}

async function works(command: ClientCommand, folder: string): Promise<boolean> {
  try {
    return (await runCommand(command, folder)).code === 0;
  } catch {
    return false; // there is no such program
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(20_000) });
    return true;
  } catch {
    return false; // whatever is between us and it
  }
}
