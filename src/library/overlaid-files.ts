import type { Files } from '../base/files.ts';

/** Files with an overlay of virtual ones, whose contents never change. */
export const overlaidFiles = (contents: ReadonlyMap<string, Buffer>, files: Files): Files => ({
  read: (path) => contents.get(path) ?? files.read(path),
  isRegular: (path) => contents.has(path) || files.isRegular(path),
  stamp: (path) => (contents.has(path) ? '' : files.stamp(path)),
});
