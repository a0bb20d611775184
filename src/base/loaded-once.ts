/**
 * Loads something when it is first needed, and keeps it. A failure is not kept: the next call tries again. Calls that come
 * while it is being loaded share the result.
 */
export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}
