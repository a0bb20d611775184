/**
 * Records on their way from the thread of the data file: values in slabs, which become the memory of whoever keeps them, and
 * all else in one table. Nothing is copied on arrival.
 */
import { decimalDigits } from '../../../base/decimal-digits.ts';
import { limits } from '../../../base/limits.ts';
import type { Revision, StoreRecord } from '../../store.ts';
import { Packer, Unpacker } from './packing.ts';

export interface PackedRecords {
  /** For each slab the number of its records, and of each its revision, key, and length of its value. */
  readonly table: ArrayBuffer;
  readonly slabs: readonly ArrayBuffer[];
}

export type RecordRow = readonly [key: string, revision: Revision, value: Uint8Array];

export class RecordPacker {
  /** See `ListOptions.room`. */
  readonly #room: number | undefined;
  readonly #table = new Packer();
  readonly #slabs: ArrayBuffer[] = [];
  /** Rows of the next slab, and their bytes. */
  #rows: RecordRow[] = [];
  #bytes = 0;

  constructor(room: number | undefined) {
    this.#room = room;
  }

  add(row: RecordRow): void {
    const bytes = roomOf(this.#room, row[1]) + row[2].length;
    if (this.#bytes + bytes > limits.slabBytes && this.#bytes > 0) this.#packSlab(limits.slabBytes);
    this.#rows.push(row);
    this.#bytes += bytes;
  }

  /** The packer must not be used afterwards. */
  finish(): PackedRecords {
    if (this.#rows.length > 0) this.#packSlab(0);
    return { table: this.#table.finish(), slabs: this.#slabs };
  }

  #packSlab(bytesMin: number): void {
    const slab = Buffer.allocUnsafeSlow(Math.max(bytesMin, this.#bytes));
    this.#table.number(this.#rows.length);
    let at = 0;
    for (const [key, revision, value] of this.#rows) {
      this.#table.number(revision);
      this.#table.text(key);
      this.#table.number(value.length);
      at += roomOf(this.#room, revision);
      slab.set(value, at);
      at += value.length;
    }
    this.#slabs.push(slab.buffer);
    this.#rows = [];
    this.#bytes = 0;
  }
}

/** Values are views on the slabs. `room`: as for the packer. */
export function unpackRecords({ table, slabs }: PackedRecords, room: number | undefined): StoreRecord[] {
  const unpacker = new Unpacker(table);
  const records: StoreRecord[] = [];
  for (const slab of slabs) {
    const memory = Buffer.from(slab);
    const count = unpacker.number();
    for (let index = 0, end = 0; index < count; index++) {
      const revision = unpacker.number();
      const key = unpacker.text();
      const before = end;
      const start = before + roomOf(room, revision);
      end = start + unpacker.number();
      const value = memory.subarray(start, end);
      if (room === undefined) records.push({ key, value, revision });
      else records.push({ key, value, revision, room: { memory, start: before, end: start } });
    }
  }
  return records;
}

const roomOf = (room: number | undefined, revision: Revision): number =>
  room === undefined ? 0 : room + decimalDigits(revision);
