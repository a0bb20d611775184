import type { AuditBackend } from './backend.ts';

/** Gives each event to all backends; all must record it. */
export function unionBackend(backends: readonly AuditBackend[]): AuditBackend {
  const [only] = backends;
  if (only && backends.length === 1) return only;
  return {
    process(event) {
      const recorded = backends.map((backend) => backend.process(event));
      if (recorded.every((each) => typeof each === 'boolean')) return recorded.every(Boolean);
      return Promise.all(recorded).then((all) => all.every(Boolean));
    },
    async close() {
      await Promise.all(backends.map((backend) => backend.close()));
    },
  };
}
