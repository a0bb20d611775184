import { type LabelSelector, readLabelSelector } from '../../kinds/meta/label-selector.ts';
import type { Selector } from '../../meta/selectors.ts';

/**
 * Selectors of objects in an informer, which nobody changes. Each is read once: it is asked for with every change of an object
 * that it may select, and a hostile one has 100,000 requirements.
 */

const read = new WeakMap<object, { readonly selector: Selector | undefined }>();

function once(field: object, parse: () => Selector | undefined): Selector | undefined {
  let known = read.get(field);
  if (!known) {
    known = { selector: parse() };
    read.set(field, known);
  }
  return known.selector;
}

/** An empty selector selects everything. Undefined if it is absent or unreadable. */
export const selectorOrAll = (field: LabelSelector | undefined): Selector | undefined =>
  field && once(field, () => readLabelSelector(field));

/** One that is absent, empty or unreadable selects nothing: it would take the objects of others. */
export const selectorIn = (field: LabelSelector | undefined): Selector | undefined => some(selectorOrAll(field));

/** The selector of labels that all have to be there; without any it selects nothing. */
export const selectorOfLabels = (labels: Readonly<Record<string, string>> | undefined): Selector | undefined =>
  some(labels && once(labels, () => readLabelSelector({ matchLabels: labels })));

const some = (selector: Selector | undefined): Selector | undefined =>
  selector && selector.length > 0 ? selector : undefined;
