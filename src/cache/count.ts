/** Something that is counted, in whatever way the owner of the cache counts. */
export interface Count {
  inc(): void;
}
