import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { within } from './within.ts';

/** Put into NODE_OPTIONS of a process that `collectGarbage` is to reach; opens nothing before. */
export const inspectorOptions = '--inspect-port=127.0.0.1:0';

const waitMs = 10_000;

/** Makes a Node.js process collect its garbage, all of it, and give memory back, through its inspector. */
export async function collectGarbage(child: ChildProcess): Promise<void> {
  const address = within(inspectorAddress(child), waitMs, 'opening the inspector');
  child.kill('SIGUSR1');
  const socket = new WebSocket(await address);
  try {
    await within(once(socket, 'open'), waitMs, 'reaching the inspector');
    // The second pass frees what finalizers of the first one let go of.
    for (const id of [1, 2]) {
      socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }));
      await within(once(socket, 'message'), waitMs, 'collecting garbage');
    }
  } finally {
    socket.close();
  }
}

async function inspectorAddress({ stderr }: ChildProcess): Promise<string> {
  if (!stderr) throw new Error('the process has no error output');
  let text = '';
  for (;;) {
    const [chunk] = await once(stderr, 'data');
    text += String(chunk);
    const address = /Debugger listening on (ws:\S+)/.exec(text)?.[1];
    if (address !== undefined) return address;
  }
}
