import { isUtf8 } from 'node:buffer';
import { limits } from '../../base/limits.ts';

/** Frames of RFC 6455 section 5. */

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Close codes (section 7.4.1). */
export const closeCodes = { normal: 1000, protocolError: 1002, invalidText: 1007, tooBig: 1009 } as const;

/** A complete message or control frame, as a server sends it: one frame, unmasked. */
export function frameOf(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + lengthBytes + length);
  frame[0] = fin | opcode;
  if (lengthBytes === 0) frame[1] = length;
  else if (lengthBytes === 2) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.set(payload, 2 + lengthBytes);
  return frame;
}

/** A close frame without a reason text. */
export function closeFrame(code: number): Buffer {
  const payload = Buffer.allocUnsafe(2);
  payload.writeUInt16BE(code);
  return frameOf(opcodes.close, payload);
}

const fin = 0x80;
const masked = 0x80;

/** A protocol violation by the client that ends the WebSocket; the code is sent to the client. */
export class FrameError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'FrameError';
    this.code = code;
  }
}

/** Control frames from the client. */
interface FrameEvents {
  ping(payload: Buffer): void;
  /** `code` must be sent back to the client. No frame is read after it. */
  close(code: number): void;
}

/** Two bytes, the longest length field, and the mask. */
const headBytesMax = 14;

/**
 * Reads the frames of a client whose messages are ignored: pings and close are passed on, messages are validated and
 * dropped as they arrive, without buffering. Throws a FrameError for a protocol violation, and for a message longer
 * than `limits.webSocketMessageBytesMax`, however it is fragmented.
 */
export class ClientFrameReader {
  readonly #on: FrameEvents;
  readonly #head = Buffer.allocUnsafe(headBytesMax);
  #headBytes = 0;
  /** Bytes of the frame's payload still to come; undefined while the head is read. */
  #missing: number | undefined;
  /** The control frame being read; undefined for frames of messages. */
  #control: { readonly opcode: number; readonly payload: Buffer } | undefined;
  /** Bytes of the fragmented message so far; undefined between messages. */
  #messageBytes: number | undefined;
  #closed = false;

  constructor(on: FrameEvents) {
    this.#on = on;
  }

  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#closed) {
      if (this.#missing === undefined) {
        this.#head[this.#headBytes] = chunk[at] as number;
        this.#headBytes += 1;
        at += 1;
        this.#readHead();
      } else {
        const taken = Math.min(this.#missing, chunk.length - at);
        if (this.#control) this.#collect(this.#control.payload, chunk.subarray(at, at + taken), this.#missing);
        this.#missing -= taken;
        at += taken;
      }
      if (this.#missing === 0) this.#finish();
    }
  }

  /** Starts the payload once the head is complete. */
  #readHead(): void {
    const have = this.#headBytes;
    if (have < 2) return;
    if (have === 2) this.#checkStart();
    const lengthBytes = this.#lengthBytes;
    if (have < 2 + lengthBytes + 4) return;
    const length = this.#length(lengthBytes);
    const opcode = this.#opcode;
    this.#missing = length;
    if (isControl(opcode)) {
      this.#control = { opcode, payload: Buffer.allocUnsafe(length) };
      return;
    }
    this.#messageBytes = (this.#messageBytes ?? 0) + length;
    if (this.#messageBytes > limits.webSocketMessageBytesMax) {
      throw new FrameError(closeCodes.tooBig, 'a message that nobody reads is too long');
    }
  }

  get #opcode(): number {
    return (this.#head[0] as number) & 0x0f;
  }

  get #lengthBytes(): 0 | 2 | 8 {
    const length = (this.#head[1] as number) & 0x7f;
    return length === 126 ? 2 : length === 127 ? 8 : 0;
  }

  /** Checks the first two bytes. */
  #checkStart(): void {
    const [first, second] = [this.#head[0] as number, this.#head[1] as number];
    const opcode = this.#opcode;
    const last = (first & fin) !== 0;
    if ((first & 0x70) !== 0) throw violation('no extension was agreed on');
    if ((second & masked) === 0) throw violation('a client must mask its frames');
    if (isControl(opcode)) {
      if (opcode > opcodes.pong) throw violation('there is no such control frame');
      if (!last || this.#lengthBytes !== 0) throw violation('a control frame is one short frame');
      return;
    }
    if (opcode > opcodes.binary) throw violation('there is no such frame');
    const begun = this.#messageBytes !== undefined;
    if (begun !== (opcode === opcodes.continuation)) throw violation('the pieces of a message are out of order');
  }

  #length(lengthBytes: 0 | 2 | 8): number {
    if (lengthBytes === 0) return (this.#head[1] as number) & 0x7f;
    const length = lengthBytes === 2 ? this.#head.readUInt16BE(2) : Number(this.#head.readBigUInt64BE(2));
    if (length < (lengthBytes === 2 ? 126 : 65_536)) throw violation('a length is written with too many bytes');
    return length;
  }

  /** Adds unmasked bytes to the payload of a control frame, of which `missing` are still to come. */
  #collect(payload: Buffer, bytes: Buffer, missing: number): void {
    let to = payload.length - missing;
    for (const byte of bytes) {
      payload[to] = byte ^ (this.#head[2 + (to % 4)] as number);
      to += 1;
    }
  }

  /** The frame is complete. */
  #finish(): void {
    const control = this.#control;
    if (control?.opcode === opcodes.ping) this.#on.ping(control.payload);
    if (control?.opcode === opcodes.close) {
      this.#closed = true;
      this.#on.close(checkClose(control.payload));
    }
    if (!control && ((this.#head[0] as number) & fin) !== 0) this.#messageBytes = undefined;
    this.#control = undefined;
    this.#missing = undefined;
    this.#headBytes = 0;
  }
}

const isControl = (opcode: number): boolean => opcode >= opcodes.close;

const violation = (message: string): FrameError => new FrameError(closeCodes.protocolError, message);

/** The close code to be sent back; the normal one if the frame has none (section 5.5.1). */
function checkClose(payload: Buffer): number {
  if (payload.length === 0) return closeCodes.normal;
  if (payload.length === 1) throw violation('a close frame has half a code');
  const code = payload.readUInt16BE();
  if (!isSendable(code)) throw violation('a close frame has a code that nobody may send');
  if (!isUtf8(payload.subarray(2)))
    throw new FrameError(closeCodes.invalidText, 'the words of a close frame are not UTF-8');
  return code;
}

/** Section 7.4: defined codes that are not reserved, and those of libraries and applications. */
const isSendable = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
