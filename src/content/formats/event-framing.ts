import type { ByteSpan } from '../../base/collections/byte-span.ts';
import type { TimeSlice } from '../../base/time/time-slice.ts';
import { watchFrame as cborFrame } from '../../codec/cbor/watch-frame.ts';
import { watchFrame } from '../../codec/protobuf/watch-frame.ts';
import { type Chunk, gatherEvents, gatherList, smallChunkBytes } from '../../http/gather.ts';
import { frameOf, opcodes } from '../../http/websocket/frames.ts';

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** Framing of watch events (spec section 4.4). */
export interface EventFraming {
  /** Frames an event; the object is encoded in the framing's format. */
  frame(type: EventType, object: Uint8Array): Buffer;
  /** ADDED events of many objects, time-sliced as in gather.ts. */
  added(objects: Iterable<ByteSpan>, slice?: Pick<TimeSlice, 'over'>): Generator<Chunk, void>;
}

const prefixOf = (type: EventType): Buffer => Buffer.from(`{"type":"${type}","object":`);

const prefixes: Readonly<Record<EventType, Buffer>> = {
  ADDED: prefixOf('ADDED'),
  MODIFIED: prefixOf('MODIFIED'),
  DELETED: prefixOf('DELETED'),
  BOOKMARK: prefixOf('BOOKMARK'),
  ERROR: prefixOf('ERROR'),
};
const suffix = Buffer.from('}\n');

const addedFraming = {
  head: `${prefixes.ADDED}`,
  separator: `${suffix}${prefixes.ADDED}`,
  tail: `${suffix}`,
  chunkBytes: smallChunkBytes,
};

/** One JSON document per event and line; objects are single-line JSON. */
export const jsonLines: EventFraming = {
  frame(type, object) {
    const prefix = prefixes[type];
    const frame = Buffer.allocUnsafe(prefix.length + object.length + suffix.length);
    frame.set(prefix, 0);
    frame.set(object, prefix.length);
    frame.set(suffix, prefix.length + object.length);
    return frame;
  },
  added: (objects, slice) => gatherList(addedFraming, objects, slice),
};

/** A stream of frames without anything between them. */
const frames = (frame: EventFraming['frame']): EventFraming => ({
  frame,
  added: (objects, slice) =>
    gatherEvents(
      Iterator.from(objects).map(({ memory, start, end }) => frame('ADDED', memory.subarray(start, end))),
      slice,
    ),
});

/** One length-prefixed protobuf message per event; objects are in their envelopes. */
export const protobufFrames: EventFraming = frames(watchFrame);

/** One item of a CBOR sequence per event. */
export const cborItems: EventFraming = frames(cborFrame);

/** One WebSocket message per event. */
const messages = (frame: EventFraming['frame']): EventFraming => ({
  frame,
  added: (objects) =>
    gatherEvents(Iterator.from(objects).map(({ memory, start, end }) => frame('ADDED', memory.subarray(start, end)))),
});

/** The JSON line as a text message. */
export const jsonMessages: EventFraming = messages((type, object) =>
  frameOf(opcodes.text, jsonLines.frame(type, object)),
);

const lengthBytes = 4;

/** The protobuf message without its length prefix, which the WebSocket frame replaces. */
export const protobufMessages: EventFraming = messages((type, object) =>
  frameOf(opcodes.binary, watchFrame(type, object).subarray(lengthBytes)),
);

/** The CBOR item, one per message. */
export const cborMessages: EventFraming = messages((type, object) => frameOf(opcodes.binary, cborFrame(type, object)));
