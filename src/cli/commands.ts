import type { CommandLoaders } from './help.ts';

/** All commands, each loaded only when it is wanted: the time that loading takes is part of every start. */
export const commands: CommandLoaders = {
  up: async () => (await import('./up.ts')).up,
  apiserver: async () => (await import('./apiserver.ts')).apiserver,
  version: async () => (await import('./version.ts')).version,
  help: async () => (await import('./help.ts')).helpOf(commands),
};
