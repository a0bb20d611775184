import type { Files } from '../base/files.ts';

/** Files of which some are no files: what stands under those names never changes. */
export const overlaidFiles = (contents: ReadonlyMap<string, Buffer>, files: Files): Files => ({
  read: (path) => contents.get(path) ?? files.read(path),
  isRegular: (path) => contents.has(path) || files.isRegular(path),
  stamp: (path) => (contents.has(path) ? '' : files.stamp(path)),
});
