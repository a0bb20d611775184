/** Where a member stands until it is deleted. Never 0. */
export type RosterPlace = number;

/** Stands before the first member and after the last. */
const ends: RosterPlace = 0;

/**
 * A set in order of arrival, for what every request enters and leaves. A Map or Set would do, but for V8: each table that
 * one outgrows links to its successor, so that a table which has become old keeps all later ones, and the members that
 * they had, from being collected until the next full collection.
 */
export class Roster<T> implements Iterable<T> {
  readonly #members: (T | undefined)[] = [undefined];
  /** Of each place, the places beside it. Free places are linked by `#after`. */
  readonly #after: RosterPlace[] = [ends];
  readonly #before: RosterPlace[] = [ends];
  #free: RosterPlace = ends;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds a member at the end. The caller sees to it that it is not there already. */
  add(member: T): RosterPlace {
    const place = this.#free === ends ? this.#members.length : this.#free;
    if (this.#free === ends) this.#members.push(member);
    else {
      this.#free = this.#after[place] as RosterPlace;
      this.#members[place] = member;
    }
    const last = this.#before[ends] as RosterPlace;
    this.#after[place] = ends;
    this.#before[place] = last;
    this.#after[last] = place;
    this.#before[ends] = place;
    this.#size += 1;
    return place;
  }

  /** False if the member is at that place no more. */
  delete(place: RosterPlace, member: T): boolean {
    if (place === ends || this.#members[place] !== member) return false;
    const [after, before] = [this.#after[place] as RosterPlace, this.#before[place] as RosterPlace];
    this.#after[before] = after;
    this.#before[after] = before;
    this.#members[place] = undefined;
    this.#after[place] = this.#free;
    this.#free = place;
    this.#size -= 1;
    return true;
  }

  /** The oldest member and its place; undefined if there is none. */
  first(): { readonly member: T; readonly place: RosterPlace } | undefined {
    const place = this.#after[ends] as RosterPlace;
    return place === ends ? undefined : { member: this.#members[place] as T, place };
  }

  /** The members that are there now: later changes do not show. */
  [Symbol.iterator](): Iterator<T> {
    const members: T[] = [];
    for (let at = this.#after[ends] as RosterPlace; at !== ends; at = this.#after[at] as RosterPlace) {
      members.push(this.#members[at] as T);
    }
    return members.values();
  }
}
