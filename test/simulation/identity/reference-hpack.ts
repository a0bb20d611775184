import { huffmanDecode } from '../../../src/http/h2/hpack/huffman.ts';
import { staticTable } from '../../../src/http/h2/hpack/static-table.ts';
import type { Field } from './oracle.ts';

/**
 * A second reader of header blocks (RFC 7541), as plain as can be, for what a block of any bytes says. The product's own
 * reader must find the same; both share the tables of the RFC, which have vectors of their own.
 */
export class ReferenceHpack {
  table: Field[] = [];
  sizeMax = 4096;

  /** The field at a place of both tables, from 1 on. */
  at(index: number): Field | undefined {
    return index <= staticTable.length ? staticTable[index - 1] : this.table[index - 1 - staticTable.length];
  }

  /** The same tables, to go on with. */
  copy(): ReferenceHpack {
    const copy = new ReferenceHpack();
    copy.table = [...this.table];
    copy.sizeMax = this.sizeMax;
    return copy;
  }

  /** All fields of a block, or undefined where it cannot be read; the connection is of no use then. */
  read(block: Buffer): readonly Field[] | undefined {
    const fields: Field[] = [];
    let rest = block;
    const integer = (bits: number): number => {
      const mask = 2 ** bits - 1;
      let value = (rest[0] ?? Number.NaN) & mask;
      if (rest.length === 0) throw cutOff;
      rest = rest.subarray(1);
      if (value < mask) return value;
      for (let power = 0; power <= 3; power += 1) {
        const [byte] = rest;
        if (byte === undefined) throw cutOff;
        rest = rest.subarray(1);
        value += (byte % 128) * 128 ** power;
        if (byte < 128) {
          if (value > 2 ** 24) throw cutOff;
          return value;
        }
      }
      throw cutOff;
    };
    const text = (): string => {
      const isCoded = (rest[0] ?? 0) >= 128;
      const length = integer(7);
      if (length > rest.length) throw cutOff;
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      if (!isCoded) return bytes.toString('latin1');
      const target = Buffer.alloc(2 * length);
      const decoded = huffmanDecode(bytes, 0, length, target);
      if (decoded < 0) throw cutOff;
      return target.toString('latin1', 0, decoded);
    };
    const at = (index: number): Field => {
      const field = index === 0 ? undefined : this.at(index);
      if (!field) throw cutOff;
      return field;
    };
    try {
      while (rest.length > 0) {
        const first = rest[0] as number;
        if (first >= 0x80) fields.push(at(integer(7)));
        else if (first >= 0x40) {
          const index = integer(6);
          const field: Field = [index === 0 ? text() : at(index)[0], text()];
          this.table = [field, ...this.table];
          this.#evict();
          fields.push(field);
        } else if (first >= 0x20) {
          const size = integer(5);
          if (fields.length > 0 || size > 4096) return undefined;
          this.sizeMax = size;
          this.#evict();
        } else {
          const index = integer(4);
          fields.push([index === 0 ? text() : at(index)[0], text()]);
        }
      }
      return fields;
    } catch (error) {
      if (error === cutOff) return undefined;
      throw error;
    }
  }

  #evict(): void {
    const size = () => this.table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    while (this.table.length > 0 && size() > this.sizeMax) this.table.pop();
  }
}

const cutOff = new Error('the block cannot be read');
