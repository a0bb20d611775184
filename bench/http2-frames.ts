import { frameFlag, frameType, frameHeadBytes as headBytes, windowMax } from '../src/http/h2/frames.ts';

export { frameFlag, frameType, windowMax };

interface FrameHandler {
  /** A part of a DATA frame; `last` with its last part. Valid only during the call. */
  data(frame: FrameHead, part: Buffer, last: boolean): void;
  /** Any other frame. Valid only during the call. */
  frame(frame: FrameHead, payload: Buffer): void;
}

export interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
}

/** Finds the frames in what a connection brings. Keeps only what is cut in the middle, and of DATA frames nothing. */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #head = Buffer.alloc(headBytes);
  #headFilled = 0;
  #type = 0;
  #flags = 0;
  #stream = 0;
  /** Bytes of the payload that are still to come. */
  #missing = 0;
  #payload: Buffer[] = [];

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#headFilled < headBytes) {
        const taken = Math.min(headBytes - this.#headFilled, bytes.length - at);
        bytes.copy(this.#head, this.#headFilled, at, at + taken);
        this.#headFilled += taken;
        at += taken;
        if (this.#headFilled < headBytes) return;
        this.#readHead();
        if (this.#missing > 0) continue;
      }
      const taken = Math.min(this.#missing, bytes.length - at);
      this.#missing -= taken;
      this.#hand(bytes.subarray(at, at + taken), this.#missing === 0);
      at += taken;
    }
  }

  #readHead(): void {
    const head = this.#head;
    this.#missing = head.readUIntBE(0, 3);
    this.#type = head[3] ?? 0;
    this.#flags = head[4] ?? 0;
    this.#stream = head.readUInt32BE(5) & windowMax;
  }

  #hand(part: Buffer, last: boolean): void {
    const frame = { type: this.#type, flags: this.#flags, stream: this.#stream };
    if (last) this.#headFilled = 0;
    if (frame.type === frameType.data) this.#handler.data(frame, part, last);
    else if (!last) this.#payload.push(Buffer.from(part));
    else if (this.#payload.length === 0) this.#handler.frame(frame, part);
    else {
      const payload = Buffer.concat([...this.#payload, part]);
      this.#payload = [];
      this.#handler.frame(frame, payload);
    }
  }
}

export function frameOf({ type, flags, stream }: FrameHead, payload: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export function windowUpdate(increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment, 0);
  return frameOf({ type: frameType.windowUpdate, flags: 0, stream: 0 }, payload);
}

/** Settings by their identifiers (section 6.5.2), as the client's first frame. */
export function settingsFrame(settings: Readonly<Record<number, number>>): Buffer {
  const payload = Buffer.concat(
    Object.entries(settings).map(([identifier, value]) => {
      const setting = Buffer.alloc(6);
      setting.writeUInt16BE(Number(identifier), 0);
      setting.writeUInt32BE(value, 2);
      return setting;
    }),
  );
  return frameOf({ type: frameType.settings, flags: 0, stream: 0 }, payload);
}
