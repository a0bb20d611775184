import { limits } from '../../base/limits.ts';
import type { BindingEntry } from './binding-entry.ts';
import { allowedNames, allowedPaths, type CompiledRole, type ResourceQuestion } from './compiled-role.ts';

/** The role that a binding refers to; undefined if it does not exist. */
type RoleOf = (binding: BindingEntry) => CompiledRole | undefined;

/** A path request. */
interface PathQuestion {
  readonly verb: string;
  readonly path: string;
}

/** The cached result for a resource request, for objects of every name. */
interface ResourceAnswer {
  /** Binding that allows it for all objects. */
  all: BindingEntry | undefined;
  /** Bindings that allow it for one object. */
  readonly byName: Map<string, BindingEntry>;
}

/** The cached result for a verb, for every path. */
interface PathAnswer {
  readonly exact: Map<string, BindingEntry>;
  readonly prefixes: Map<string, BindingEntry>;
  /** The distinct lengths of the prefixes. */
  readonly lengths: readonly number[];
}

/**
 * Limit on the results cached by all grants of an index. Beyond it all of them are dropped and computed again on demand: the
 * number of possible requests is unbounded.
 */
export class AnswerBudget {
  readonly #holders = new Set<Grants>();
  #kept = 0;

  get kept(): number {
    return this.#kept;
  }

  take(holder: Grants, count: number): void {
    this.#holders.add(holder);
    this.#kept += count;
    if (this.#kept > limits.rbacAnswersKept) for (const each of this.#holders) each.forgetAnswers();
  }

  giveBack(holder: Grants, count: number): void {
    this.#holders.delete(holder);
    this.#kept -= count;
  }
}

/**
 * The bindings of one subject in one namespace, or cluster-wide. The first request of a kind examines all of them; its result
 * is cached, for every object name, until a binding or one of the roles changes. A decision thus takes the same time for any
 * number of bindings, whether it is allowed or not.
 *
 *     answers: "get  configmaps" -> all: undefined, byName: { a -> binding 1, b -> binding 7 }
 */
export class Grants {
  readonly #bindings = new Set<BindingEntry>();
  readonly #roleOf: RoleOf;
  readonly #resources = new Map<string, ResourceAnswer>();
  readonly #paths = new Map<string, PathAnswer>();
  #dangling: readonly BindingEntry[] | undefined;
  readonly #budget: AnswerBudget;
  /** The share of the budget in use by these results. */
  #taken = 0;

  constructor(roleOf: RoleOf, budget: AnswerBudget) {
    this.#roleOf = roleOf;
    this.#budget = budget;
  }

  get bindings(): ReadonlySet<BindingEntry> {
    return this.#bindings;
  }

  add(binding: BindingEntry): void {
    this.#bindings.add(binding);
    this.forget();
  }

  delete(binding: BindingEntry): void {
    this.#bindings.delete(binding);
    this.forget();
  }

  /** A role of one of the bindings has changed. */
  forget(): void {
    this.#dangling = undefined;
    this.forgetAnswers();
  }

  /** Drops the cached results; they are computed again on demand. */
  forgetAnswers(): void {
    if (this.#taken === 0) return;
    this.#budget.giveBack(this, this.#taken);
    this.#taken = 0;
    this.#resources.clear();
    this.#paths.clear();
  }

  /** The binding that allows the request; if there are several, the first by name. `key` identifies the request. */
  allowsResource(question: ResourceQuestion, key: string, name: string): BindingEntry | undefined {
    const answer = this.#resources.get(key) ?? this.#newResourceAnswer(question, key);
    return answer.all ?? answer.byName.get(name);
  }

  allowsPath({ verb, path }: PathQuestion): BindingEntry | undefined {
    const answer = this.#paths.get(verb) ?? this.#newPathAnswer(verb);
    const exact = answer.exact.get(path);
    if (exact) return exact;
    for (const length of answer.lengths) {
      const found = length <= path.length ? answer.prefixes.get(path.slice(0, length)) : undefined;
      if (found) return found;
    }
    return undefined;
  }

  /** Bindings whose role does not exist; limited to the first ones. */
  get dangling(): readonly BindingEntry[] {
    this.#dangling ??= Iterator.from(this.#bindings)
      .filter((binding) => !this.#roleOf(binding))
      .take(limits.rbacMissingRolesShown)
      .toArray();
    return this.#dangling;
  }

  #newResourceAnswer(question: ResourceQuestion, key: string): ResourceAnswer {
    const answer = this.#answerResource(question);
    this.#keep(this.#resources, key, answer, 1 + answer.byName.size);
    return answer;
  }

  #newPathAnswer(verb: string): PathAnswer {
    const answer = this.#answerPath(verb);
    this.#keep(this.#paths, verb, answer, 1 + answer.exact.size + answer.prefixes.size);
    return answer;
  }

  #keep<T>(answers: Map<string, T>, key: string, answer: T, weight: number): void {
    // A result that needs much of the budget would evict all others each time it is computed.
    if (key.length > limits.rbacQuestionLengthKept || weight > limits.rbacAnswersKept / 4) return;
    answers.set(key, answer);
    this.#taken += weight;
    this.#budget.take(this, weight);
  }

  #answerResource(question: ResourceQuestion): ResourceAnswer {
    const answer: ResourceAnswer = { all: undefined, byName: new Map() };
    for (const binding of this.#bindings) {
      const role = this.#roleOf(binding);
      if (!role) continue;
      const names = allowedNames(role, question);
      if (names === 'all') answer.all = firstOf(answer.all, binding);
      else for (const name of names) setFirst(answer.byName, name, binding);
    }
    return answer;
  }

  #answerPath(verb: string): PathAnswer {
    const exact = new Map<string, BindingEntry>();
    const prefixes = new Map<string, BindingEntry>();
    for (const binding of this.#bindings) {
      const role = this.#roleOf(binding);
      if (!role) continue;
      for (const { type, text } of allowedPaths(role, verb)) {
        setFirst(type === 'exact' ? exact : prefixes, text, binding);
      }
    }
    const lengths = new Set(Iterator.from(prefixes.keys()).map((prefix) => prefix.length));
    return { exact, prefixes, lengths: [...lengths].sort((a, b) => a - b) };
  }
}

const firstOf = (one: BindingEntry | undefined, other: BindingEntry): BindingEntry =>
  one && one.name <= other.name ? one : other;

function setFirst(map: Map<string, BindingEntry>, key: string, binding: BindingEntry): void {
  map.set(key, firstOf(map.get(key), binding));
}
