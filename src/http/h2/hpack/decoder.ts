import { type HeaderField, headerField } from '../header-field.ts';
import { DynamicTable } from './dynamic-table.ts';
import { huffmanDecode, huffmanGrowthMax } from './huffman.ts';
import { staticTable } from './static-table.ts';

/** An undecodable header block. The state of the dynamic table is then unknown, so the connection must be closed. */
export class HpackError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HpackError';
  }
}

/** Index 0 is unused. */
const staticFields: readonly (HeaderField | undefined)[] = [
  undefined,
  ...staticTable.map(([name, value]) => headerField(name, value)),
];

/** More than any length or index in a block within the limits can need. */
const integerMax = 2 ** 24;

let scratch = Buffer.allocUnsafeSlow(16 * 1024);

/** Decodes the header blocks of one direction of a connection, in order (RFC 7541 section 3). */
export class HpackDecoder {
  readonly #table: DynamicTable;
  readonly #tableBytesMax: number;
  #block: Buffer = noBytes;
  #at = 0;
  #end = 0;

  /** `tableBytesMax` is the SETTINGS_HEADER_TABLE_SIZE that we sent to the peer. */
  constructor(tableBytesMax: number) {
    this.#tableBytesMax = tableBytesMax;
    this.#table = new DynamicTable(tableBytesMax);
  }

  /** Size of the dynamic table, in the units of RFC 7541 section 4.1. */
  get tableSize(): number {
    return this.#table.size;
  }

  /**
   * Calls `onField` with each field of a complete block. Every block must be decoded, or later ones are misread.
   * @throws HpackError
   */
  decode(block: Buffer, onField: (field: HeaderField) => void): void {
    this.#block = block;
    this.#at = 0;
    this.#end = block.length;
    let first = true;
    while (this.#at < this.#end) {
      const byte = block[this.#at] as number;
      if (byte & 0x80) {
        onField(this.#fieldAt(this.#integer(0x7f)));
      } else if ((byte & 0xe0) === 0x20) {
        if (!first) throw new HpackError('a size of the table stands behind a field');
        this.#resize(this.#integer(0x1f));
        continue;
      } else if (byte & 0x40) {
        const field = this.#literal(0x3f);
        this.#table.add(field);
        onField(field);
      } else {
        onField(this.#literal(0x0f));
      }
      first = false;
    }
    this.#block = noBytes;
  }

  #resize(bytes: number): void {
    if (bytes > this.#tableBytesMax) throw new HpackError('the table is to be larger than is allowed');
    this.#table.resize(bytes);
  }

  #fieldAt(index: number): HeaderField {
    const field = index < staticFields.length ? staticFields[index] : this.#table.at(index - staticFields.length);
    if (!field) throw new HpackError('an index names nothing');
    return field;
  }

  #literal(prefixMask: number): HeaderField {
    const index = this.#integer(prefixMask);
    const name = index === 0 ? this.#string() : this.#fieldAt(index).name;
    return headerField(name, this.#string());
  }

  /** RFC 7541 section 5.1. */
  #integer(prefixMask: number): number {
    let value = this.#byte() & prefixMask;
    if (value < prefixMask) return value;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (value > integerMax || factor > integerMax) throw new HpackError('an integer is too large');
      if (byte < 0x80) return value;
    }
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new HpackError('the block ends within a field');
    const byte = this.#block[this.#at] as number;
    this.#at += 1;
    return byte;
  }

  /** RFC 7541 section 5.2. */
  #string(): string {
    const huffman = this.#at < this.#end && (this.#block[this.#at] as number) >= 0x80;
    const length = this.#integer(0x7f);
    const from = this.#at;
    const to = from + length;
    if (to > this.#end) throw new HpackError('the block ends within a text');
    this.#at = to;
    if (!huffman) return this.#block.toString('latin1', from, to);
    const bytesMax = Math.ceil(length * huffmanGrowthMax);
    if (bytesMax > scratch.length) scratch = Buffer.allocUnsafeSlow(bytesMax);
    const written = huffmanDecode(this.#block, from, to, scratch);
    if (written < 0) throw new HpackError('a text is not in the code');
    return scratch.toString('latin1', 0, written);
  }
}

const noBytes = Buffer.alloc(0);
