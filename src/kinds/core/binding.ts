import { defineKind } from '../define-kind.ts';
import { podBinding } from './pod/pod-binding.ts';

/** POST `bindings`: the way to bind a pod from before it had a subresource for that. */
export const binding = defineKind({
  kind: podBinding.body.kind,
  schema: podBinding.body.schema,
  nameFormat: 'pathSegment',
  unconditionalUpdate: false,
  acts: { on: 'pods', action: podBinding },
});
