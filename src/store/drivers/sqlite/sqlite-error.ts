import { StoreError, type StoreErrorCode } from '../../store.ts';

/** Primary result codes of SQLite (sqlite.org/rescode.html); the low byte of an extended code. */
const sqlite = { busy: 5, locked: 6, ioError: 10, corrupt: 11, full: 13, tooBig: 18, notADatabase: 26 } as const;
/** SQLITE_IOERR_SHMSIZE: the index of the write-ahead log could not grow, because the disk is full. */
const sharedMemorySize = sqlite.ioError | (19 << 8);

/** The extended result code of an error thrown by SQLite; undefined for any other error. */
const resultCodeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined;

/** True for a failed read, write or sync of a file. */
export const isIoError = (error: unknown): boolean => ((resultCodeOf(error) ?? 0) & 0xff) === sqlite.ioError;

export const isBusy = (error: unknown): boolean => {
  const primary = (resultCodeOf(error) ?? 0) & 0xff;
  return primary === sqlite.busy || primary === sqlite.locked;
};

/** True for an operating system error of a full disk or an exceeded quota; errors of SQLite have their own codes. */
export const isFullDisk = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');

/**
 * Whether a failed COMMIT certainly wrote nothing that could be recovered as committed: the disk was full before its
 * end.
 */
export const isNeverCommitted = (error: unknown): boolean => resultCodeOf(error) === sqlite.full;

/** The StoreError for an error thrown by SQLite. Returns a StoreError unchanged. */
export const toStoreError = (error: unknown, file: string): StoreError => {
  if (error instanceof StoreError) return error;
  const result = resultCodeOf(error);
  const reason = error instanceof Error ? error.message : String(error);
  const code = isFullDisk(error) ? 'full' : storeCode(result);
  return new StoreError(code, `${explanations[code]} ${file}: ${reason}`, { cause: error });
};

type FileErrorCode = StoreErrorCode & ('full' | 'tooLarge' | 'corrupt' | 'unavailable');

const explanations: Readonly<Record<FileErrorCode, string>> = {
  full: 'no room is left to write to',
  tooLarge: 'the value is too large for',
  corrupt: 'damaged data was found in',
  unavailable: 'could not use',
};

const storeCode = (result: number | undefined): FileErrorCode => {
  if (result === sharedMemorySize) return 'full';
  switch ((result ?? 0) & 0xff) {
    case sqlite.full:
      return 'full';
    case sqlite.tooBig:
      return 'tooLarge';
    case sqlite.corrupt:
    case sqlite.notADatabase:
      return 'corrupt';
    default:
      return 'unavailable';
  }
};
