import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';

type Found = ApiObject | undefined;

/** Looks up classes of one kind for a write. What was acknowledged before the write came counts. */
export interface Classes {
  named(name: string, write: AdmissionAttributes): Found | Promise<Found>;
}

/** Kinds of which one object counts where none is named. */
export interface DefaultedClasses extends Classes {
  byDefault(write: AdmissionAttributes): Found | Promise<Found>;
}

/** Goes on with what was found; in the same turn, if it is known. */
export const withFound = (found: Found | Promise<Found>, next: (found: Found) => void): Promise<void> | void =>
  found instanceof Promise ? found.then(next) : next(found);
