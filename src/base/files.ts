import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { limits } from './limits.ts';

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
  read: readWhole,
  isRegular: (path) => statSync(path).isFile(),
  stamp(path) {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${dev}.${ino}.${size}.${mtimeNs}.${ctimeNs}`;
  },
};

/**
 * The contents of a file of configuration, key or certificates. A pipe is read to its end. Throws if it is larger than
 * `limits.configurationFileBytesMax`: a device may have no end.
 */
export function readWhole(path: string): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const part = Buffer.allocUnsafe(readBytes);
      const read = readSync(descriptor, part, 0, part.length, null);
      if (read === 0) return Buffer.concat(parts, bytes);
      bytes += read;
      if (bytes > limits.configurationFileBytesMax) {
        throw new RangeError(`it is larger than ${limits.configurationFileBytesMax} bytes`);
      }
      parts.push(part.subarray(0, read));
    }
  } finally {
    closeSync(descriptor);
  }
}

const readBytes = 64 * 1024;
