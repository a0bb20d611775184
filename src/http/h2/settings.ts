import { limits } from '../../base/limits.ts';
import { ConnectionError, errorCode, framePayloadMax, framePayloadMin, windowMax } from './frames.ts';

/** RFC 9113 section 6.5.2. */
const setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** The client's settings that matter to a server that uses neither push nor the encoder's table. */
export interface PeerSettings {
  readonly initialWindow: number | undefined;
  readonly payloadMax: number | undefined;
}

/** Parses the payload of SETTINGS. @throws ConnectionError for invalid values. */
export function readSettings(bytes: Buffer, from: number, to: number): PeerSettings {
  if ((to - from) % 6 !== 0) throw new ConnectionError(errorCode.frameSizeError, 'SETTINGS are cut off');
  if ((to - from) / 6 > limits.settingsMax) throw new ConnectionError(errorCode.enhanceYourCalm, 'too many SETTINGS');
  let initialWindow: number | undefined;
  let payloadMax: number | undefined;
  for (let at = from; at < to; at += 6) {
    const value = bytes.readUInt32BE(at + 2);
    switch (bytes.readUInt16BE(at)) {
      case setting.enablePush:
        if (value > 1) throw new ConnectionError(errorCode.protocolError, 'ENABLE_PUSH is neither 0 nor 1');
        break;
      case setting.initialWindowSize:
        if (value > windowMax)
          throw new ConnectionError(errorCode.flowControlError, 'INITIAL_WINDOW_SIZE is too large');
        initialWindow = value;
        break;
      case setting.maxFrameSize:
        if (value < framePayloadMin || value > framePayloadMax) {
          throw new ConnectionError(errorCode.protocolError, 'MAX_FRAME_SIZE cannot be that');
        }
        payloadMax = value;
        break;
      default:
        break;
    }
  }
  return { initialWindow, payloadMax };
}

/** The payload of the server's first SETTINGS. */
export function ourSettings(max: { readonly streams: number; readonly headerBytes: number }): Buffer {
  const entries: readonly (readonly [identifier: number, value: number])[] = [
    [setting.headerTableSize, limits.headerTableBytes],
    [setting.maxConcurrentStreams, max.streams],
    [setting.initialWindowSize, limits.streamWindowBytes],
    [setting.maxFrameSize, limits.framePayloadBytesMax],
    [setting.maxHeaderListSize, max.headerBytes],
  ];
  const payload = Buffer.alloc(entries.length * 6);
  for (const [index, [identifier, value]] of entries.entries()) {
    payload.writeUInt16BE(identifier, index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  }
  return payload;
}
