import { readFileSync, statSync } from 'node:fs';

/**
 * Files that others may change, injected so that tests and simulations can provide their own. All methods throw if the
 * file does not exist.
 */
export interface Files {
  read(path: string): Buffer;
  /** True for a regular file; false for a directory or device. */
  isRegular(path: string): boolean;
  /** Changes if the file may have changed; cheaper than reading it. */
  stamp(path: string): string;
}

export const systemFiles: Files = {
  read: (path) => readFileSync(path),
  isRegular: (path) => statSync(path).isFile(),
  stamp(path) {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${dev}.${ino}.${size}.${mtimeNs}.${ctimeNs}`;
  },
};
