import type { CommandLoaders } from './help.ts';

/** All commands, each loaded on demand, since loading time is part of every start. */
export const commands: CommandLoaders = {
  up: async () => (await import('./up.ts')).up,
  apiserver: async () => (await import('./apiserver.ts')).apiserver,
  'controller-manager': async () => (await import('./controller-manager.ts')).controllerManager,
  envtest: async () => (await import('./envtest.ts')).envtest,
  'stand-in-apiserver': async () => (await import('./stand-in-apiserver.ts')).standInApiserver,
  'stand-in-etcd': async () => (await import('./stand-in-etcd.ts')).standInEtcd,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  version: async () => (await import('./version.ts')).version,
  help: async () => (await import('./help.ts')).helpOf(commands),
};
