import { parentPort, workerData } from 'node:worker_threads';
import { type ConnectOptions, Http2Client, PreparedRequest, type RequestOptions } from './http2-client.ts';

/** What the thread is to do. */
export interface FloodOrder {
  readonly access: ConnectOptions;
  readonly clients: number;
  readonly request: RequestOptions;
}

const connectedAtOnce = 40;

/**
 * Clients on connections of their own, on a thread of their own, so that they do not hold up who is measured. While it floods, each sends
 * its next request when it has the answer to its last. Messages: 'begin' and 'end', answered when all are connected and when none
 * waits any more.
 */
const { access, clients: count, request: options }: FloodOrder = workerData;
const clients: Http2Client[] = [];
for (let n = 0; n < count; n += connectedAtOnce) {
  const few = Array.from({ length: Math.min(connectedAtOnce, count - n) }, () => Http2Client.connect(access));
  clients.push(...(await Promise.all(few)));
}
const request = new PreparedRequest(options);
let floods = false;
let underWay = 0;
let ended: () => void = () => {};

function send(client: Http2Client): void {
  underWay += 1;
  client.send(request, {
    end({ status }) {
      if (status !== 200 && status !== 429) throw new Error(`a request of the flood was answered ${status}`);
      underWay -= 1;
      if (floods) send(client);
      else if (underWay === 0) ended();
    },
    failed(why) {
      throw new Error(why);
    },
  });
}

parentPort?.on('message', (order: 'begin' | 'end') => {
  floods = order === 'begin';
  if (floods) for (const client of clients) send(client);
  else ended = () => parentPort?.postMessage('ended');
});
parentPort?.postMessage('connected');
