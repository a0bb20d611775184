import { limits } from '../base/limits.ts';

/**
 * The `Warning` headers of one response (RFC 7234 section 5.5): code 299, agent `-`, quoted text. Each text appears
 * once. Clients fail beyond a certain number and size of headers, so both are limited; if warnings are left out,
 * every text is truncated, as in kube-apiserver, and the last header says so.
 */
export class Warnings {
  readonly #texts = new Set<string>();
  #isComplete = true;

  add(text: string): void {
    const { warningsMax, warningBytesMax } = limits;
    if (text.length > warningBytesMax) this.#isComplete = false;
    const clean = withoutControls(text.slice(0, warningBytesMax));
    if (clean === '' || this.#texts.has(clean)) return;
    if (this.#texts.size < warningsMax) this.#texts.add(clean);
    else this.#isComplete = false;
  }

  headers(): readonly string[] {
    const whole = [...this.#texts].map(header);
    const length = whole.reduce((sum, each) => sum + each.length, 0);
    return this.#isComplete && length <= limits.warningBytesMax ? whole : this.#cut();
  }

  #cut(): readonly string[] {
    const headers: string[] = [];
    let room = limits.warningBytesMax - notice.length;
    for (const text of this.#texts) {
      const each = header([...text].slice(0, limits.warningCharactersMax).join(''));
      room -= each.length;
      if (room < 0 || headers.length + 1 === limits.warningsMax) break;
      headers.push(each);
    }
    return [...headers, notice];
  }
}

const header = (text: string): string => `299 - ${quoted(text)}`;

const withoutControls = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').trim();

function quoted(text: string): string {
  const escaped = text.replace(/["\\]/g, '\\$&');
  // Node writes header text as Latin-1. This makes the bytes on the wire UTF-8, as client-go expects them.
  return `"${Buffer.from(escaped).toString('latin1')}"`;
}

const notice = header(
  `there are more or longer warnings: an answer carries ${limits.warningsMax}, of ${limits.warningBytesMax} bytes in all`,
);
