import type { Duplex } from 'node:stream';
import { standInLimits } from '../../../base/stand-in-limits.ts';
import { type Clock, pauseAlive } from '../../../base/time/clock.ts';
import type { Store } from '../../store.ts';
import { findStandIn } from './find-stand-in.ts';
import { openRemoteStore } from './remote-store.ts';

/**
 * The store of the first of these endpoints that is a stand-in for etcd; undefined if there is none, but another program.
 * Waits for a program that is not up yet, since who starts an environment may start both at once.
 */
export async function openStandInStore(endpoints: readonly string[], clock: Clock): Promise<Store | undefined> {
  const urls = endpoints.map((endpoint) => new URL(endpoint)).filter(({ protocol }) => protocol === 'http:');
  const deadline = clock.monotonic() + standInLimits.startMsMax;
  while (urls.length > 0) {
    const { found, silent } = await look(urls);
    if (found) return openRemoteStore(found);
    if (!silent || clock.monotonic() > deadline) return undefined;
    await pauseAlive(clock, standInLimits.lookMs, new AbortController().signal);
  }
  return undefined;
}

/** What connects to a stand-in, if there is one; else whether nobody answered at all. */
async function look(urls: readonly URL[]): Promise<{ found?: () => Promise<Duplex>; silent: boolean }> {
  let silent = true;
  for (const url of urls) {
    try {
      const found = await findStandIn(url);
      if (found.type === 'other') {
        silent = false;
        continue;
      }
      let first: Duplex | undefined = found.connection;
      const connect = async (): Promise<Duplex> => {
        const connection = first ?? (await connectTo(url));
        first = undefined;
        return connection;
      };
      return { found: connect, silent };
    } catch {
      // Nobody there yet.
    }
  }
  return { silent };
}

async function connectTo(url: URL): Promise<Duplex> {
  const found = await findStandIn(url);
  if (found.type === 'standIn') return found.connection;
  throw new Error(`another program answers at ${url.host} now`);
}
