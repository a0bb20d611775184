import type { SlabMemory } from '../entries/slab.ts';

/** What a shared slab begins with: its number, by which every thread knows it again. */
const headerBytes = Float64Array.BYTES_PER_ELEMENT;

/** Numbers of slabs that one thread makes. */
const perThread = 2 ** 32;

/**
 * Slabs that all threads of a process can read. A thread writes an object there before it tells others of it, and nobody
 * writes it again. A slab is freed when no thread refers to it any more: the engine counts that across threads.
 */
export class SharedSlabs {
  /** By number. Each message with a slab brings another object for the same memory. */
  readonly #views = new Map<number, WeakRef<Buffer>>();
  readonly #unused = new FinalizationRegistry<number>((number) => {
    if (!this.#views.get(number)?.deref()) this.#views.delete(number);
  });
  #last: number;

  /** `thread`: of all threads of the process that ever were, so that no two slabs have one number. */
  constructor(thread: number) {
    this.#last = thread * perThread;
  }

  readonly allocate: SlabMemory = (bytes) => {
    const memory = new SharedArrayBuffer(headerBytes + bytes);
    this.#last += 1;
    new Float64Array(memory, 0, 1)[0] = this.#last;
    return this.#viewed(this.#last, memory);
  };

  /** A slab, as all objects in it refer to it: one Buffer, so that neighbours are found to be neighbours. */
  view(memory: SharedArrayBuffer): Buffer {
    const [number = 0] = new Float64Array(memory, 0, 1);
    return this.#views.get(number)?.deref() ?? this.#viewed(number, memory);
  }

  #viewed(number: number, memory: SharedArrayBuffer): Buffer {
    const view = Buffer.from(memory, headerBytes);
    this.#views.set(number, new WeakRef(view));
    this.#unused.register(view, number);
    return view;
  }
}

/** The memory of a slab that other threads can read; undefined for other memory. */
export const sharedMemoryOf = ({ buffer }: Buffer): SharedArrayBuffer | undefined =>
  buffer instanceof SharedArrayBuffer ? buffer : undefined;
