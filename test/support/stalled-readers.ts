import { connect, type TLSSocket } from 'node:tls';
import { once } from '../../src/base/waits-fixture.ts';
import { frameType, preface, windowMax } from '../../src/http/h2/frames.ts';
import { rawField, rawFrame, rawHeaders, rawSettings, uint32 } from '../../src/http/h2/raw-frames-fixture.ts';
import { as } from './authorization.ts';
import type { OrchProcess } from './orch-process.ts';

/** Clients of one user that ask, and never read from their sockets; in HTTP/2 with windows as wide as they may be. */
export class StalledReaders implements Disposable {
  readonly #server: OrchProcess;
  readonly #protocol: 'h2' | 'http/1.1';
  readonly #headers: Readonly<Record<string, string>>;
  readonly #sockets: TLSSocket[] = [];
  /** Connections that the server has ended, as far as `probe` has shown. */
  ended = 0;

  /** `headers`: of each request; their names in lower case. */
  constructor(
    server: OrchProcess,
    name: string,
    protocol: 'h2' | 'http/1.1',
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#server = server;
    this.#protocol = protocol;
    this.#headers = { authorization: `Bearer ${as(name).token}`, ...headers };
  }

  /** Each connection sends so many requests at once. */
  async ask(count: number, path: string, requests: number): Promise<void> {
    const request = this.#protocol === 'h2' ? this.#frames(path, requests) : this.#text(path, requests);
    const atOnce = 25;
    for (let n = 0; n < count; n += atOnce) {
      const opened = Array.from({ length: Math.min(atOnce, count - n) }, () => this.#connect());
      this.#sockets.push(...opened);
      await Promise.all(opened.map((socket) => once(socket, 'secureConnect')));
      await Promise.all(opened.map((socket) => new Promise((resolve) => socket.write(request, resolve))));
    }
  }

  #connect(): TLSSocket {
    const { port, credentials } = this.#server;
    const socket = connect({ host: '127.0.0.1', port, ca: credentials.ca, ALPNProtocols: [this.#protocol] });
    socket.pause();
    socket.on('error', () => {}); // a reset is how the server ends it
    socket.on('close', () => {
      this.ended += 1;
    });
    return socket;
  }

  #frames(path: string, requests: number): Buffer {
    const fields = {
      ...{ ':method': 'GET', ':scheme': 'https', ':path': path, ':authority': '127.0.0.1' },
      ...this.#headers,
    };
    const block = Buffer.concat(Object.entries(fields).map(([name, value]) => rawField(name, value)));
    return Buffer.concat([
      preface,
      rawFrame(frameType.settings, 0, 0, rawSettings([4, windowMax])),
      rawFrame(frameType.settings, 1, 0),
      rawFrame(frameType.windowUpdate, 0, 0, uint32(windowMax - 65_535)),
      ...Array.from({ length: requests }, (_, n) => rawHeaders(2 * n + 1, 1, block)),
    ]);
  }

  #text(path: string, requests: number): Buffer {
    const headers = Object.entries(this.#headers).map(([name, value]) => `${name}: ${value}`);
    const lines = [`GET ${path} HTTP/1.1`, 'host: 127.0.0.1', ...headers];
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`.repeat(requests));
  }

  /** Sends what says nothing: a socket that is not read shows only by writing that it was closed. */
  probe(): void {
    const nothing = this.#protocol === 'h2' ? rawFrame(frameType.priority, 0, 1, Buffer.alloc(5)) : Buffer.from('\r\n');
    for (const socket of this.#sockets) if (!socket.destroyed) socket.write(nothing);
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
