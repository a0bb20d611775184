/**
 * Recently read map keys, so that the few hundred names that all objects share are not made anew for each. A table of fixed
 * size: what clients send replaces what is in it.
 */
export class FieldNames {
  readonly #names: string[] = Array.from({ length: slots }, () => '');

  /** The text of these bytes of ASCII; undefined if the table does not have it. */
  find(bytes: Uint8Array, start: number, end: number): string | undefined {
    const name = this.#names[slotOf(bytes, start, end)] as string;
    if (name.length !== end - start) return undefined;
    for (let at = start; at < end; at++) if (bytes[at] !== name.charCodeAt(at - start)) return undefined;
    return name;
  }

  /** Only ASCII is kept: `find` compares characters with bytes. */
  keep(bytes: Uint8Array, start: number, end: number, name: string): void {
    if (name.length === end - start) this.#names[slotOf(bytes, start, end)] = name;
  }
}

const slots = 1024;

function slotOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at++) hash = Math.imul(hash, 31) + (bytes[at] as number);
  return (hash ^ (hash >>> 10)) & (slots - 1);
}
