import { readWhole } from '../../base/files.ts';
import { readCertificates } from '../../pki/key-pair-files.ts';
import { UsageError } from '../usage-error.ts';

/** The contents of a file; errors name the file. */
export function readBytes(file: string): Buffer {
  try {
    return readWhole(file);
  } catch (error) {
    throw new Error(`${file} cannot be read: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** The certificates in the file of a flag, validated, as PEM. */
export function readBundle(flag: string, file: string): string {
  return named(flag, () =>
    readCertificates(file)
      .map((certificate) => certificate.toString())
      .join(''),
  );
}

/** Runs code for a flag; errors become UsageErrors that name the flag. */
export function named<T>(flag: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`--${flag}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** Runs a check of flags; its errors, which name the flags, become UsageErrors. */
export function usage<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
