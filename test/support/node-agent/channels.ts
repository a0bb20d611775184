import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { frameOf, opcodes } from '../../../src/http/websocket/frames.ts';
import { runProgram } from './process-streams.ts';

/** A shell over a WebSocket in the form `v5.channel.k8s.io`: the first byte of a message is its stream. */

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const;

export function serveChannels(request: IncomingMessage, socket: Duplex, command: readonly string[]): void {
  const key = request.headers['sec-websocket-key'] ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  lines.push(`Sec-WebSocket-Accept: ${accept}`, 'Sec-WebSocket-Protocol: v5.channel.k8s.io');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const send = (to: number, chunk: Uint8Array): void => {
    socket.write(frameOf(opcodes.binary, Buffer.concat([Buffer.from([to]), chunk])));
  };
  const hasInput = new URL(request.url ?? '', 'https://agent').searchParams.has('input');
  runProgram(command, {
    ...(hasInput && { stdin: { read: (on) => readMessages(socket, on) } }),
    stdout: (chunk) => send(channel.stdout, chunk),
    stderr: (chunk) => send(channel.stderr, chunk),
    ended: (status) => {
      send(channel.error, Buffer.from(status));
      socket.end(frameOf(opcodes.close, Buffer.from([0x03, 0xe8])));
    },
  });
  if (!hasInput) socket.resume();
}

function readMessages(socket: Duplex, on: { readonly data: (chunk: Buffer) => void; readonly end: () => void }): void {
  let input: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    input = Buffer.concat([input, chunk]);
    for (let read = readFrame(input); read; read = readFrame(input)) {
      input = input.subarray(read.bytes);
      const [to] = read.payload;
      if (read.opcode === opcodes.binary && to === channel.stdin) on.data(read.payload.subarray(1));
      if (read.opcode === opcodes.binary && to === channel.close) on.end();
    }
  });
}

function readFrame(input: Buffer) {
  if (input.length < 6) return undefined;
  const short = (input[1] as number) & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (input.length < 6 + extra) return undefined;
  const length = extra === 0 ? short : extra === 2 ? input.readUInt16BE(2) : Number(input.readBigUInt64BE(2));
  const start = 6 + extra;
  if (input.length < start + length) return undefined;
  const payload = Buffer.from(input.subarray(start, start + length));
  for (let at = 0; at < length; at++) payload[at] = (payload[at] as number) ^ (input[start - 4 + (at % 4)] as number);
  return { opcode: (input[0] as number) & 0x0f, payload, bytes: start + length };
}
