/** The promise, or an error that says what took too long. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what}: not done within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
