import { hash } from 'node:crypto';
import { seededRandom } from '../../base/random.ts';
import { encodeObject } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { formatTime } from '../../meta/time.ts';
import { type CompletingParts, completeObject, type NewInitialObject } from './complete-object.ts';

/**
 * Initial objects as they are stored, made when the product is built: at a first start they differ only by ids and times,
 * and to make them is a sixth of it. A form is found by what its object is made from, so that one of another program or
 * another configuration is not found, rather than wrong.
 */
export interface InitialForms {
  readonly dialect: string;
  /** Enabled gates with which they were made, in order. */
  readonly features: string;
  /** Stored text with the id and the time of the samples, by the hash of the input. */
  readonly byInput: ReadonlyMap<string, string>;
}

/** What stands for the id and the time of an object in its form. */
const sample = { uid: '00000000-0000-4000-8000-000000000000', ms: Date.UTC(2000, 0, 1) };

/** Makes the forms of these objects as text: a line of gates, then one for each. */
export function writeForms(
  { dialect, features }: Pick<CompletingParts, 'dialect' | 'features'>,
  objects: readonly NewInitialObject[],
): string {
  const clock = { now: () => sample.ms };
  const random = { ...seededRandom(0), uuid: () => sample.uid };
  const lines = objects.map((initial) => {
    // No object of the program has a generated name, or anything else that is left to chance.
    const made = completeObject({ dialect, features, clock, random }, initial);
    return `${inputHash(initial)} ${encodeObject(made).toString()}`;
  });
  return [namesOf(features), ...lines].join('\n');
}

/** The forms for this dialect that the product was built with. Undefined if there are none. */
export async function loadForms({ name }: Dialect): Promise<InitialForms | undefined> {
  const { builtForms } = await import('./built-forms.ts');
  const text = builtForms[name];
  return text === undefined ? undefined : readForms(name, text);
}

export function readForms(dialect: string, text: string): InitialForms {
  const [features = '', ...lines] = text.split('\n');
  const byInput = new Map(lines.map((line) => [line.slice(0, hashLength), line.slice(hashLength + 1)]));
  return { dialect, features, byInput };
}

/** What `completeObject` makes of an object, encoded. Undefined if no form is for it. */
export function encodedByForm(
  forms: InitialForms,
  { dialect, features, clock, random }: CompletingParts,
  initial: NewInitialObject,
): Buffer | undefined {
  if (forms.dialect !== dialect.name || forms.features !== namesOf(features)) return undefined;
  const form = forms.byInput.get(inputHash(initial));
  if (form === undefined) return undefined;
  const now = formatTime(clock.now());
  return Buffer.from(form.replaceAll(formatTime(sample.ms), now).replaceAll(sample.uid, random.uuid()));
}

const namesOf = (features: ReadonlySet<string>): string => [...features].sort().join();

const hashLength = 43;
const inputHash = ({ object, user, manager }: NewInitialObject): string =>
  hash('sha256', JSON.stringify([object, user, manager]), 'base64url');
