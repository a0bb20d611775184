import { readFileSync } from 'node:fs';
import { readCertificates } from '../pki/key-pair-files.ts';
import { UsageError } from './usage-error.ts';

/** The content of a file; the error that it throws names the file. */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Error(`${file} cannot be read: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** The certificates in the file of a flag, each of them checked, as PEM. */
export function readBundle(flag: string, file: string): string {
  return named(flag, () =>
    readCertificates(file)
      .map((certificate) => certificate.toString())
      .join(''),
  );
}

/** Runs what a flag asks for; what goes wrong is that flag's fault. */
export function named<T>(flag: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`--${flag}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** Runs a check of flags whose errors name them. */
export function usage<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
