import type { Kind } from '../../kinds/kind.ts';
import { methodNotAllowed } from '../../meta/status-error.ts';

/** Throws MethodNotAllowed if nothing may be created because the kind is being removed. */
export function checkCreation({ kind }: { readonly kind: Kind }): void {
  if (!kind.terminating) return;
  const problem = 'create not allowed while custom resource definition is terminating';
  throw methodNotAllowed(problem, ['GET, HEAD', 'DELETE']);
}
