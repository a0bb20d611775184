import { setTimeout as pause } from 'node:timers/promises';
import { type Row, shortNumber } from './report.ts';
import type { BenchContext } from './scenario.ts';
import { statsOf } from './stats.ts';
import type { TurnProbe } from './turn-probe.ts';

/** The longest turns, by what was done meanwhile. */
export class Turns {
  readonly #context: BenchContext;
  readonly #subject: string;
  readonly #longest = new Map<string, number[]>();
  #about = '';

  /** `subject`: what the rows are about. */
  constructor(context: BenchContext, subject: string) {
    this.#context = context;
    this.#subject = subject;
  }

  /** What the next ones are about, for the progress. */
  begin(about: string): void {
    this.#about = about;
  }

  /** Does some work, and looks at the longest turn until it is over. */
  async of(what: string, probe: TurnProbe, work: () => Promise<unknown>): Promise<void> {
    await pause(settleMs);
    await probe.takeLongest();
    await work();
    await pause(settleMs);
    const longest = await probe.takeLongest();
    this.#context.progress(`${this.#about}, ${what}: ${shortNumber(longest)} ms`);
    const known = this.#longest.get(what) ?? [];
    known.push(longest);
    this.#longest.set(what, known);
  }

  rows(): Row[] {
    return [...this.#longest].map(([what, longest]) => ({
      what: `longest turn, ${this.#subject}: ${what}`,
      unit: 'ms',
      measured: statsOf([Math.max(...longest)]),
      reach: { of: 'measured', atMost: 20 },
      notes: [`each: ${longest.map(shortNumber).join(', ')} ms`],
    }));
  }
}

/** What a write causes afterwards is done by then. */
const settleMs = 150;
