/**
 * Asks `ask` once for each caller, however many of its parts want to know: what one of them learned after the caller came is
 * enough for all. A question that failed is asked anew. Callers are told apart by their signals.
 */
export function oncePerCaller(
  ask: (signal: AbortSignal) => Promise<void> | undefined,
): (signal: AbortSignal) => Promise<void> | undefined {
  const asked = new WeakMap<AbortSignal, Promise<void> | 'answered'>();
  return (signal) => {
    const known = asked.get(signal);
    if (known) return known === 'answered' ? undefined : known;
    const asking = ask(signal);
    const answered = (): void => void asked.set(signal, 'answered');
    if (!asking) {
      answered();
      return undefined;
    }
    asked.set(signal, asking);
    asking.then(answered, () => asked.delete(signal));
    return asking;
  };
}
