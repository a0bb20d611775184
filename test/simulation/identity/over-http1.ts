import type { Dice } from '../dice.ts';
import type { Field, Shown } from './oracle.ts';
import { randomFields, review, target } from './requests.ts';

/** A request as text of HTTP/1.1. */
interface TextRequest {
  readonly text: Buffer;
  /** What a strict reader finds (RFC 9112 sections 2 to 5); undefined where it is no request. */
  readonly fields: readonly Field[] | undefined;
  /** Its bytes may say something else than was meant: it may be refused for more than its identity. */
  readonly changed: boolean;
}

export function randomText(dice: Dice, shown: Shown): TextRequest {
  const line = `POST ${target} HTTP/1.1`;
  const own = ['host: localhost', 'content-type: application/json', `content-length: ${review.length}`];
  const meant = randomFields(dice, shown);
  const lines = meant.map(([name, value]) => `${randomCase(dice, name)}:${dice.pick(['', ' ', ' ', '\t'])}${value}`);
  let head = `${[...own, ...lines].join('\r\n')}\r\n\r\n`;
  const changed = dice.chance(0.1);
  if (changed) head = withChanges(dice, head);
  const fields = readHead(head);
  const asMeant = fields?.length === own.length + meant.length && head.indexOf('\r\n\r\n') === head.length - 4;
  return {
    text: Buffer.from(`${line}\r\n${head}${review}`, 'latin1'),
    fields,
    changed: changed || (fields !== undefined && !asMeant),
  };
}

const randomCase = (dice: Dice, name: string): string =>
  dice.chance(0.7) ? name : name.replaceAll(/[a-z]/g, (letter) => (dice.chance(0.5) ? letter.toUpperCase() : letter));

/** Behind the lines that say where the body ends. */
function withChanges(dice: Dice, head: string): string {
  const from = head.indexOf('content-length');
  const begin = head.indexOf('\r\n', from) + 2;
  const bytes = Buffer.from(head, 'latin1');
  for (let changes = 1 + dice.below(3); changes > 0 && begin < bytes.length; changes -= 1) {
    bytes[begin + dice.below(bytes.length - begin)] = dice.below(256);
  }
  return bytes.toString('latin1');
}

const fieldLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/** Field lines up to the first empty one. */
function readHead(head: string): readonly Field[] | undefined {
  const end = head.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const fields: Field[] = [];
  for (const line of head.slice(0, end).split('\r\n')) {
    const [, name, value] = fieldLine.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    fields.push([name, value]);
  }
  return fields;
}
