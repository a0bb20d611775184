/** Client side of WebSockets, byte by byte, for tests. */

const mask = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);

/** A frame as a client sends it: masked. */
export function clientFrame(
  opcode: number,
  payload: Buffer | string = '',
  { last = true }: { readonly last?: boolean } = {},
): Buffer {
  const bytes = Buffer.from(payload as string);
  const length = lengthOf(bytes.length);
  length[0] = (length[0] as number) | 0x80;
  return Buffer.concat([
    Buffer.from([(last ? 0x80 : 0) | opcode]),
    length,
    mask,
    bytes.map((byte, at) => byte ^ (mask[at % 4] as number)),
  ]);
}

function lengthOf(length: number): Buffer {
  if (length < 126) return Buffer.from([length]);
  const bytes = Buffer.alloc(length < 65_536 ? 3 : 9);
  if (length < 65_536) {
    bytes[0] = 126;
    bytes.writeUInt16BE(length, 1);
  } else {
    bytes[0] = 127;
    bytes.writeBigUInt64BE(BigInt(length), 1);
  }
  return bytes;
}

/** A frame sent by the server. */
export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Parses frames of a server; `rest` is the incomplete last frame. Throws for a masked or fragmented frame. */
export function serverFrames(bytes: Buffer): { readonly frames: readonly ServerFrame[]; readonly rest: Buffer } {
  const frames: ServerFrame[] = [];
  let rest = bytes;
  for (;;) {
    const [first, second] = rest;
    if (first === undefined || second === undefined) return { frames, rest };
    if ((first & 0xf0) !== 0x80 || (second & 0x80) !== 0)
      throw new Error(`a frame of a server begins so: ${first} ${second}`);
    const lengthBytes = second === 126 ? 2 : second === 127 ? 8 : 0;
    const start = 2 + lengthBytes;
    if (rest.length < start) return { frames, rest };
    const length =
      lengthBytes === 0 ? second : lengthBytes === 2 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
    if (rest.length < start + length) return { frames, rest };
    frames.push({ opcode: first & 0x0f, payload: rest.subarray(start, start + length) });
    rest = rest.subarray(start + length);
  }
}
