import type { TextBytes } from '../base/text-bytes.ts';

/**
 * Times with microseconds, as text behind a constant one. Most events of a busy server share their second with the one
 * before, whose text is kept.
 */
export class MicroTimes {
  readonly #before: string;
  #second = Number.NaN;
  /** Up to the fraction. */
  #text = '';
  #bytes: Uint8Array = new Uint8Array();

  constructor(before = '') {
    this.#before = before;
  }

  text(ms: number): string {
    const micros = this.#fractionOf(ms);
    return `${this.#text}${String(micros).padStart(6, '0')}Z`;
  }

  /** Adds all but the letter at the end. Returns where in the text the fraction stands. */
  add(ms: number, text: TextBytes): number {
    const micros = this.#fractionOf(ms);
    text.addBytes(this.#bytes);
    const place = text.length;
    text.addSixDigits(micros);
    return place;
  }

  /** Microseconds within the second that is kept; undefined if it is another one. */
  within(ms: number): number | undefined {
    const micros = Math.floor(ms * 1000) - this.#second * 1e6;
    return micros >= 0 && micros < 1e6 ? micros : undefined;
  }

  /** Microseconds within the second, which is now the one that is kept. */
  #fractionOf(ms: number): number {
    const micros = Math.floor(ms * 1000);
    const second = Math.floor(micros / 1e6);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = `${this.#before}${new Date(second * 1000).toISOString().slice(0, 19)}.`;
      this.#bytes = Buffer.from(this.#text);
    }
    return micros - second * 1e6;
  }
}
