import type { Outcome } from './thread-messages.ts';

type Asynchronous = (input: never) => Promise<unknown>;

/** Answers of the other side that are waited for. */
export class PendingCalls<Calls extends { readonly [Name in keyof Calls]: Asynchronous }> {
  readonly #send: (call: number, name: keyof Calls, input: unknown) => void;
  readonly #waiting = new Map<number, (outcome: Outcome) => void>();
  #last = 0;

  constructor(send: (call: number, name: keyof Calls, input: unknown) => void) {
    this.#send = send;
  }

  call<Name extends keyof Calls>(name: Name, input: Parameters<Calls[Name]>[0]): ReturnType<Calls[Name]> {
    this.#last += 1;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#last, (outcome) =>
      'error' in outcome ? reject(new Error(outcome.error)) : resolve(outcome.value),
    );
    this.#send(this.#last, name, input);
    return promise as ReturnType<Calls[Name]>;
  }

  answered(call: number, outcome: Outcome): void {
    this.#waiting.get(call)?.(outcome);
    this.#waiting.delete(call);
  }

  /** The other side has gone: what is waited for fails. */
  end(error: string): void {
    for (const call of [...this.#waiting.keys()]) this.answered(call, { error });
  }
}

/** Does what the other side asks for. */
export async function outcomeOf(answer: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await answer() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
