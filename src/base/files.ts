import { readFileSync, statSync } from 'node:fs';

/** Files that others change, injected so that tests and simulations have their own. All throw where there is no such file. */
export interface Files {
  read(path: string): Buffer;
  /** Whether it is a file, and no directory or device. */
  isRegular(path: string): boolean;
  /** Differs when the file may have changed; cheaper than to read it. */
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
