/**
 * The ceiling of what is written: the same bytes put into a bare SQLite file, durably, 64 rows to a transaction. The
 * file is written by a worker thread, as in the product; this module is the worker's program as well.
 */
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { within } from './within.ts';

interface CommitRound {
  readonly durationMs: number;
  readonly rowBytes: number;
  /** Rows to a transaction. */
  readonly group: number;
}

interface CommitResult {
  readonly rows: number;
  readonly seconds: number;
}

const graceMs = 10_000;
/** The program is one for the main thread and the worker; this tells them apart from other workers. */
const workerName = 'ceiling-sqlite';

export class SqliteCeiling implements AsyncDisposable {
  readonly #worker: Worker;

  /** `file` is made. It must lie on the same disk as the product's. */
  constructor(file: string) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { name: workerName, file } });
  }

  /** Rows per second. */
  async commit(round: CommitRound): Promise<number> {
    const answered = once(this.#worker, 'message');
    this.#worker.postMessage(round);
    const [result] = await within(answered, round.durationMs + graceMs, 'committing to a bare file');
    const { rows, seconds }: CommitResult = result;
    return rows / seconds;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

function serve(file: string): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec('CREATE TABLE log (revision INTEGER PRIMARY KEY, key BLOB NOT NULL, value BLOB NOT NULL)');
  const insert = database.prepare('INSERT INTO log (key, value) VALUES (?, ?)');
  parentPort?.on('message', ({ durationMs, rowBytes, group }: CommitRound) => {
    const value = Buffer.alloc(rowBytes, 'x');
    const startedAt = performance.now();
    let rows = 0;
    while (performance.now() - startedAt < durationMs) {
      database.exec('BEGIN');
      for (let row = 0; row < group; row++) insert.run(Buffer.from(`/core/configmaps/default/object-${rows++}`), value);
      database.exec('COMMIT');
    }
    const result: CommitResult = { rows, seconds: (performance.now() - startedAt) / 1000 };
    parentPort?.postMessage(result);
  });
}

if (!isMainThread && workerData?.name === workerName) serve(workerData.file);
