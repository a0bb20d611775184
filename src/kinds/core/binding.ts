import { defineKind } from '../define-kind.ts';
import { podBinding } from './pod/pod-binding.ts';

/** POST `bindings`: the legacy equivalent of the `pods/binding` subresource. */
export const binding = defineKind({
  kind: podBinding.body.kind,
  schema: podBinding.body.schema,
  nameFormat: 'pathSegment',
  unconditionalUpdate: false,
  acts: { on: 'pods', action: podBinding },
});
