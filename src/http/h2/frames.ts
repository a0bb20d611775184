/** HTTP/2 frames (RFC 9113 sections 4, 6 and 7). */

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const frameFlag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const frameHeadBytes = 9;

/** The largest flow-control window, and the largest stream identifier. */
export const windowMax = 0x7fff_ffff;

/** Initial window before any SETTINGS and WINDOW_UPDATE (section 6.9.2). */
export const defaultWindow = 65_535;

/** Limits of SETTINGS_MAX_FRAME_SIZE; every peer accepts the minimum (section 4.2). */
export const framePayloadMin = 16_384;
export const framePayloadMax = 2 ** 24 - 1;

/** Section 7. */
export const errorCode = {
  noError: 0x0,
  protocolError: 0x1,
  internalError: 0x2,
  flowControlError: 0x3,
  settingsTimeout: 0x4,
  streamClosed: 0x5,
  frameSizeError: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compressionError: 0x9,
  enhanceYourCalm: 0xb,
} as const;

export type ErrorCode = (typeof errorCode)[keyof typeof errorCode];

/** The connection preface that a client sends first (section 3.4). */
export const preface: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** A connection error (section 5.4.1). */
export class ConnectionError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = 'ConnectionError';
    this.code = code;
  }
}
