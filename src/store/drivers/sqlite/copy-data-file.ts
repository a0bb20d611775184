import { backup, type DatabaseSync } from 'node:sqlite';
import { type Revision, StoreError } from '../../store.ts';
import { headOf, openDataFileBeside, readNumber } from './data-file.ts';
import { unmarkCopy } from './file-identity.ts';
import { realFileOf } from './real-file.ts';

/** Progress of a long operation. Called repeatedly, and at the end of each phase with `done` equal to `total`. */
export type CopyProgress = (progress: {
  readonly phase: 'copy' | 'check';
  /** Bytes. */
  readonly done: number;
  readonly total: number;
}) => void;

export interface CopyResult {
  /** The revision of the copy. */
  readonly revision: Revision;
  readonly bytes: number;
}

/** Pages copied between two progress reports: 8 MiB. */
const stepPages = 1_024;

/**
 * Copies one state of a data file, while its owner may go on writing, into the empty file `to`, and verifies the copy.
 * Fails with `corrupt` if the source is damaged: a backup that cannot be restored must not look like a good one.
 */
export const copyDataFile = async (
  from: string,
  to: string,
  progress: CopyProgress = () => {},
): Promise<CopyResult> => {
  const source = openDataFileBeside(realFileOf(from));
  try {
    // An open read transaction pins the copy, which is made in steps, to one state.
    source.exec('BEGIN');
    const revision = headOf(source);
    const pageBytes = readNumber(source, 'PRAGMA page_size');
    const pages = await backup(source, to, {
      rate: stepPages,
      progress: ({ totalPages, remainingPages }) =>
        progress({ phase: 'copy', done: (totalPages - remainingPages) * pageBytes, total: totalPages * pageBytes }),
    });
    const bytes = pages * pageBytes;
    progress({ phase: 'copy', done: bytes, total: bytes });
    finishCopy(from, to);
    progress({ phase: 'check', done: bytes, total: bytes });
    return { revision, bytes };
  } finally {
    source.close();
  }
};

/** Verifies the copy, and removes the mark that identifies the original. */
const finishCopy = (from: string, to: string): void => {
  const copy = openDataFileBeside(to);
  try {
    assertSound(copy, from);
    unmarkCopy(copy);
  } finally {
    copy.close();
  }
};

/** Checks every page (sqlite.org/pragma.html#pragma_quick_check), and that index and log have the same rows. */
const assertSound = (database: DatabaseSync, file: string): void => {
  const finding = String(Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0]);
  if (finding !== 'ok') throw new StoreError('corrupt', `damaged data was found in ${file}: ${finding}`);
};
