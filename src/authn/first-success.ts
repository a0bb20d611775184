import type { Caller } from '../base/caller.ts';
import { StatusError } from '../meta/status-error.ts';

/** What decides could not be asked: no verdict on the credential, which a client must not give up for it. */
export const isUndecided = (error: unknown): error is StatusError => error instanceof StatusError && error.code === 503;

/**
 * Tries sources in order until one returns an answer; an error does not stop the rest. Stays synchronous as long as the
 * sources do, because it runs for every request.
 *
 * @returns the first answer, or undefined if no source has one.
 * @throws the reason of the caller's signal, if it aborted while a source was pending.
 * @throws the error of a source that could not decide (503), if no source has an answer.
 * @throws the result of `failed` on all errors, if no source has an answer and at least one failed.
 */
export function firstSuccess<Source, Answer>(
  sources: readonly Source[],
  ask: (source: Source) => Answer | undefined | Promise<Answer | undefined>,
  failed: (errors: readonly unknown[]) => Error,
  caller?: Caller,
): Answer | undefined | Promise<Answer | undefined> {
  const errors: unknown[] = [];
  const from = (start: number): Answer | undefined | Promise<Answer | undefined> => {
    for (let at = start; at < sources.length; at++) {
      try {
        const answer = ask(sources[at] as Source);
        if (answer instanceof Promise) return answer.catch(keep).then((late) => late ?? next(at + 1));
        if (answer !== undefined) return answer;
      } catch (error) {
        keep(error);
      }
    }
    if (errors.length > 0) throw errors.find(isUndecided) ?? failed(errors);
    return undefined;
  };
  const next = (at: number): Answer | undefined | Promise<Answer | undefined> => {
    caller?.signal.throwIfAborted();
    return from(at);
  };
  const keep = (error: unknown): undefined => {
    errors.push(error);
  };
  return from(0);
}
