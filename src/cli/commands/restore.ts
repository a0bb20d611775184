import { dirname } from 'node:path';
import { makePrivateDirectory } from '../../base/atomic-file.ts';
import { file } from '../flags/flags.ts';
import { databaseFile } from '../flags/server-options.ts';
import { UsageError } from '../usage-error.ts';
import { defineCommand } from './command.ts';
import { describeBytes, showProgress } from './copy-progress.ts';

export const restore = defineCommand({
  summary: 'Makes the data of a server that starts next from a backup',
  description:
    'Puts a backup in the place of the database, which must not exist. Revisions go on above any that clients of the lost\n' +
    'server may have seen, so that their watches list again instead of missing what the restore took back.',
  flags: {
    from: file({ help: 'the backup; stays as it is' }),
    'data-dir': file({ placeholder: 'DIR', help: 'the --data-dir of the server' }),
    'sqlite-file': file({
      help: 'the --sqlite-file of the server, where it has one',
      defaultText: '<data-dir>/orch.db',
    }),
  },
  async run(values, terminal) {
    const { from, 'data-dir': dataDirectory, 'sqlite-file': sqliteFile } = values;
    if (from === undefined) throw new UsageError('--from is missing: --from=FILE');
    if (dataDirectory === undefined && sqliteFile === undefined) {
      throw new UsageError('--data-dir is missing: --data-dir=DIR');
    }
    const { restoreSqlite } = await import('../../store/drivers/sqlite/restore.ts');
    const to = databaseFile({ 'data-dir': dataDirectory ?? '', 'sqlite-file': sqliteFile });
    makePrivateDirectory(dirname(to));
    const { bytes, revision } = await restoreSqlite({ from, to, progress: showProgress(terminal) });
    terminal.out(`${to}: ${describeBytes(bytes)} of ${from}; revisions go on from ${revision}\n`);
    return 0;
  },
});
