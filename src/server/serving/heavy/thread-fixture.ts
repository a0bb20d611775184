import { EventEmitter } from 'node:events';
import { MessageChannel, type Worker } from 'node:worker_threads';
import type { FromThread, ToThread } from './messages.ts';
import { type Job, serveJobs } from './serve-jobs.ts';

/** Test worker without a thread: records messages; the test sends the answers. */
export class SilentWorker extends EventEmitter {
  readonly sent: ToThread[] = [];
  terminated = false;

  postMessage(message: ToThread): void {
    this.sent.push(message);
  }

  answer(message: FromThread): void {
    this.emit('message', message);
  }

  unref(): void {}

  async terminate(): Promise<number> {
    this.terminated = true;
    return 0;
  }

  /** Names of the received jobs. */
  get jobs(): readonly string[] {
    return this.sent.flatMap((message) => (message.type === 'job' ? [message.name] : []));
  }

  asWorker(): Worker {
    return this as unknown as Worker;
  }
}

/** Test helper: runs jobs on the same thread behind the messages of a worker. */
export function sameThread(jobs: Readonly<Record<string, Job>>): () => Worker {
  return () => {
    const { port1, port2 } = new MessageChannel();
    serveJobs(port2, jobs);
    return Object.assign(port1, {
      terminate: async () => {
        port1.close();
        return 0;
      },
    }) as unknown as Worker;
  };
}
