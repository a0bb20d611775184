import { choice, duration, file, list, orUndefined } from './flags.ts';

/** Authorization flags (spec section 5.7). */
export const authorizationFlags = {
  'authorization-config': file({
    help: 'an AuthorizationConfiguration, instead of the other flags of authorization; read again when it changes',
  }),
  'authorization-mode': orUndefined(
    list({
      default: ['Node', 'RBAC'],
      help: 'who is asked, in this order: AlwaysAllow, AlwaysDeny, ABAC, RBAC, Node, Webhook',
    }),
  ),
  'authorization-policy-file': file({ help: 'the policies of mode ABAC, a JSON object a line' }),
  'authorization-webhook-cache-authorized-ttl': orUndefined(
    duration({
      default: 300_000,
      defaultText: '5m0s',
      help: 'how long the webhook is not asked again about what it allowed',
    }),
  ),
  'authorization-webhook-cache-unauthorized-ttl': orUndefined(
    duration({
      default: 30_000,
      defaultText: '30s',
      help: 'how long the webhook is not asked again about what it did not allow',
    }),
  ),
  'authorization-webhook-config-file': file({
    help: 'how to reach the service of mode Webhook, in the format of a kubeconfig',
  }),
  'authorization-webhook-version': orUndefined(
    choice({
      of: ['v1beta1', 'v1'],
      default: 'v1beta1',
      help: 'the version of the SubjectAccessReview that it is sent',
    }),
  ),
} as const;
