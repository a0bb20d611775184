import { file } from '../flags/flags.ts';
import { serverFlags } from '../flags/server-flags.ts';
import { databaseFile } from '../flags/server-options.ts';
import { UsageError } from '../usage-error.ts';
import { defineCommand } from './command.ts';
import { describeBytes, showProgress } from './copy-progress.ts';

export const backup = defineCommand({
  summary: 'Copies the data to a file, while the server runs',
  description:
    'Copies the database at one moment to a file that does not exist yet; the server may go on writing. The copy can be\n' +
    'served as it is with --sqlite-file, or be given to `orch restore`. It holds every secret of the server.',
  flags: {
    to: file({ help: 'the copy; must not exist' }),
    'data-dir': serverFlags['data-dir'],
    'sqlite-file': serverFlags['sqlite-file'],
  },
  async run(values, terminal) {
    const { to } = values;
    if (to === undefined) throw new UsageError('--to is missing: --to=FILE');
    const { backupSqlite } = await import('../../store/drivers/sqlite/backup.ts');
    const from = databaseFile(values);
    const { bytes, revision } = await backupSqlite({ file: from, to, progress: showProgress(terminal) });
    terminal.out(`${to}: ${describeBytes(bytes)}, all of ${from} up to revision ${revision}\n`);
    return 0;
  },
});
