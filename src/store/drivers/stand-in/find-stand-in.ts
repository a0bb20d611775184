import { request as openRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { standInLimits } from '../../../base/stand-in-limits.ts';
import { protocol, storePath } from './protocol.ts';

/** Who is at an address that should be etcd's: a connection to the store of a stand-in, or another program. */
type Found = { readonly type: 'standIn'; readonly connection: Duplex } | { readonly type: 'other' };

/** Looks who answers at a URL. Rejects with the error of the system if nobody does. */
export function findStandIn(url: URL): Promise<Found> {
  const { promise, resolve, reject } = Promise.withResolvers<Found>();
  const headers = { connection: 'Upgrade', upgrade: protocol };
  const asked = openRequest(new URL(storePath, url), { headers, agent: false, timeout: standInLimits.answerMsMax });
  asked.on('timeout', () => asked.destroy(new Error('no answer')));
  asked.on('error', reject);
  asked.on('response', (response) => {
    response.resume();
    asked.destroy();
    resolve({ type: 'other' });
  });
  asked.on('upgrade', (_response, socket, head) => {
    socket.setTimeout(0);
    socket.setNoDelay(true);
    if (head.length > 0) socket.unshift(head);
    resolve({ type: 'standIn', connection: socket });
  });
  asked.end();
  return promise;
}
