import type { Dice } from '../dice.ts';
import type { Field, Shown } from './oracle.ts';

/** Random requests, as the fields that make them: good ones, and such with something wrong. */

const path = '/apis/authentication.orch.io/v1/selfsubjectreviews';
export const target: string = path;
export const review: string = JSON.stringify({ apiVersion: 'authentication.orch.io/v1', kind: 'SelfSubjectReview' });

const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

const users = ['alice', 'bob', 'bob', utf8('jürgen'), 'system:serviceaccount:a:b', 'a, b'];
const groups = ['dev', 'dev', 'ops', 'system:masters', utf8('größe'), 'a, b'];
const proxied = ['paul', 'mary', utf8('zoë')];
const goodTokens = ['secret-of-jane', 'secret-of-rob'];

/** The fields of a request that say who asks, and some that don't. */
export function randomFields(dice: Dice, shown: Shown): readonly Field[] {
  const fields: Field[] = [
    ...credentials(dice, shown),
    ...(dice.chance(0.5) ? impersonation(dice) : []),
    ...Array.from({ length: dice.below(4) }, () => noise(dice)),
  ].map((field) => (dice.chance(0.1) ? spoiled(dice, field) : field));
  return dice.chance(0.5) ? dice.shuffle(fields) : fields;
}

function credentials(dice: Dice, shown: Shown): Field[] {
  const fields: Field[] = [];
  if (dice.chance(shown === 'nothing' ? 0.85 : 0.1)) fields.push(['authorization', authorization(dice)]);
  if (dice.chance(0.01)) fields.push(['authorization', authorization(dice)]);
  if (!dice.chance(shown === 'proxy' ? 0.85 : 0.1)) return fields;
  if (dice.chance(0.95)) fields.push(['x-remote-user', dice.pick(proxied)]);
  for (let count = dice.below(3); count > 0; count -= 1) fields.push(['x-remote-group', dice.pick(groups)]);
  if (dice.chance(0.2)) fields.push(['x-remote-uid', String(dice.below(100))]);
  if (dice.chance(0.2)) fields.push(['x-remote-extra-scopes', dice.pick(['ro', 'rw'])]);
  return fields;
}

function authorization(dice: Dice): string {
  const scheme = dice.chance(0.95)
    ? dice.pick(['Bearer', 'bearer', 'BEARER'])
    : dice.pick(['Basic', 'B', 'Bea\trer', '']);
  const blanks = dice.chance(0.97) ? ' ' : dice.pick(['', '  ', '\t', ' \t']);
  return `${scheme}${blanks}${dice.chance(0.9) ? dice.pick(goodTokens) : dice.pick(['wrong', '', 'secret-of-jan', 'a b'])}`;
}

function impersonation(dice: Dice): Field[] {
  const fields: Field[] = [];
  if (dice.chance(0.95)) fields.push(['impersonate-user', dice.pick(users)]);
  if (dice.chance(0.02)) fields.push(['impersonate-user', dice.pick(users)]);
  const count = dice.chance(0.002) ? 400 : dice.below(4);
  for (let n = 0; n < count; n += 1) fields.push(['impersonate-group', count > 4 ? `g${n}` : dice.pick(groups)]);
  if (dice.chance(0.2)) fields.push(['impersonate-uid', String(dice.below(100))]);
  if (dice.chance(0.2)) fields.push(['impersonate-extra-scopes', dice.pick(['ro', 'rw'])]);
  if (dice.chance(0.01)) fields.push(['impersonate-role', 'x']);
  return fields;
}

const noise = (dice: Dice): Field => [
  `x-${dice.pick(['one', 'two', 'impersonate-user', 'remote', 'authorization'])}`,
  'y'.repeat(dice.chance(0.02) ? dice.below(3_000) : dice.below(20)),
];

/** One character put in anywhere. */
function inserted(dice: Dice, text: string, character: string): string {
  const at = dice.below(text.length + 1);
  return `${text.slice(0, at)}${character}${text.slice(at)}`;
}

const blanks = (dice: Dice): string => Array.from({ length: dice.below(4) }, () => dice.pick([' ', '\t'])).join('');

function spoiled(dice: Dice, [name, value]: Field): Field {
  const byte = (from: number, to: number): string => String.fromCharCode(from + dice.below(to - from));
  switch (dice.below(10)) {
    case 0:
    case 1:
    case 2:
      return [name, `${blanks(dice)}${value}${blanks(dice)}`];
    case 3:
    case 4:
      return [name, inserted(dice, value, dice.chance(0.9) ? byte(0, 32) : '\x7f')];
    case 5:
      return [name, inserted(dice, value, byte(0x80, 0x100))];
    case 6:
      return [name, dice.pick(['', ' ', '\t', ' \t '])];
    case 7:
      return [inserted(dice, name, dice.pick([' ', '\t', byte(0, 33), byte(0x7f, 0x100), '(', '"', ','])), value];
    case 8:
      return [dice.chance(0.5) ? name.toUpperCase() : name.replace(/[a-z]/, (letter) => letter.toUpperCase()), value];
    default:
      return [name, inserted(dice, value, dice.pick(['\r\n', '\n', '\r', '\0', ' ']))];
  }
}
