import type { CommandLoaders } from './help.ts';
import { startStorageThread } from './storage-thread.ts';

/** All commands, each loaded on demand, since loading time is part of every start. */
export const commands: CommandLoaders = {
  up: async (args) => {
    const thread = args && startStorageThread(args);
    return (await import('./up.ts')).up(thread);
  },
  apiserver: async (args) => {
    const thread = args && startStorageThread(args);
    return (await import('./apiserver.ts')).apiserver(thread);
  },
  'controller-manager': async () => (await import('./controller-manager.ts')).controllerManager,
  envtest: async () => (await import('./envtest.ts')).envtest,
  'stand-in-apiserver': async () => (await import('./stand-in-apiserver.ts')).standInApiserver,
  'stand-in-etcd': async () => (await import('./stand-in-etcd.ts')).standInEtcd,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  rewrite: async () => (await import('./rewrite.ts')).rewrite,
  migrate: async () => (await import('./migrate.ts')).migrate,
  version: async () => (await import('./version.ts')).version,
  help: async () => (await import('./help.ts')).helpOf(commands),
};
