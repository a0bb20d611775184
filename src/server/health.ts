/** One check of a health endpoint. */
export interface HealthCheck {
  readonly name: string;
  /** What is wrong, or undefined where all is well. The text goes to the log, not to the client. */
  readonly run: () => string | undefined;
}

export interface HealthAnswer {
  readonly status: 200 | 404 | 500;
  readonly body: string;
}

/**
 * `/livez`, `/readyz` and `/healthz` (spec section 4.2): plain text; machines look at the status only. `verbose` shows
 * every check, `exclude` (repeatable) leaves checks out; a failure always shows every check.
 */
export function answerHealth(
  endpoint: string,
  checks: readonly HealthCheck[],
  query: URLSearchParams,
  failed: (check: string, why: string) => void,
): HealthAnswer {
  const excluded = new Set(query.getAll('exclude').flatMap((names) => names.split(',')));
  const lines: string[] = [];
  let healthy = true;
  for (const check of checks) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
      continue;
    }
    const why = check.run();
    lines.push(why === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`);
    if (why === undefined) continue;
    healthy = false;
    failed(check.name, why);
  }
  for (const name of excluded)
    lines.push(`warn: some health checks cannot be excluded: no matches for ${JSON.stringify(name)}`);
  // Spec section 4.2 gives this word for the last line of every endpoint; published servers put the endpoint's name in it.
  if (!healthy) return { status: 500, body: `${lines.join('\n')}\n${endpoint} check failed\n` };
  return { status: 200, body: query.has('verbose') ? `${lines.join('\n')}\nhealthz check passed\n` : 'ok' };
}

/** `/livez/<name>`: one check on its own. */
export function answerSingleCheck(
  check: HealthCheck | undefined,
  failed: (check: string, why: string) => void,
): HealthAnswer {
  if (!check) return { status: 404, body: 'there is no check of this name\n' };
  const why = check.run();
  if (why === undefined) return { status: 200, body: 'ok' };
  failed(check.name, why);
  return { status: 500, body: 'internal server error: reason withheld\n' };
}
