import { always, bytes, documentedEnum, type Infer, int32, list, mergeList, opt, ptr, type StructSchema, string, struct } from '../../schema/schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { matchCondition } from './match-condition.ts';
import { ruleWithOperations } from './rule.ts';

const serviceReference = struct('api.admissionregistration.v1.ServiceReference', 'A Service.', {
  namespace: always(1, string(), 'Namespace of the Service.'),
  name: always(2, string(), 'Name of the Service.'),
  path: ptr(3, string(), 'Path of the URL.'),
  port: ptr(4, int32(), 'Port of the Service. Default: 443.', { default: 443 }),
});

const clientConfig = struct('api.admissionregistration.v1.WebhookClientConfig', 'How to connect to a webhook: by `url` or by `service`.', {
  url: ptr(3, string(), 'The URL, with scheme https and without user, query and fragment.'),
  service: ptr(1, serviceReference, 'The Service.'),
  caBundle: opt(2, bytes(), 'PEM blocks of the authorities that verify the certificate of the webhook. Default: those of the system.'),
});

/** Fields of webhooks of both kinds that have the same protobuf numbers in both. */
const sharedFields = {
  name: always(1, string(), 'Name of the webhook, with a domain: `images.example.com`.'),
  clientConfig: always(2, clientConfig, 'How to connect to it.', { documented: 'required' }),
  rules: opt(3, list(ruleWithOperations), 'What it judges: requests that one of these matches. Configurations of webhooks are never sent to webhooks.'),
  failurePolicy: ptr(4, documentedEnum('Fail', 'Ignore'), 'What a failed call means: `Fail` refuses the request, `Ignore` lets it pass.', { default: 'Fail' }),
  matchPolicy: ptr(
    9,
    documentedEnum('Equivalent', 'Exact'),
    '`Exact`: the rules match requests as they are sent. `Equivalent`: also those for another version of the same resource, which are converted.',
    {
      default: 'Equivalent',
    },
  ),
  namespaceSelector: ptr(5, labelSelector, 'Selects namespaces, by whose labels requests for their objects and for themselves are sent. Other cluster-scoped objects are always sent.', {
    default: {},
  }),
  sideEffects: ptr(6, documentedEnum('None', 'NoneOnDryRun', 'Some', 'Unknown'), '`None`, or `NoneOnDryRun`: a call for a dry run changes nothing.', { documented: 'required' }),
  timeoutSeconds: ptr(7, int32(), 'Seconds until a call has failed, from 1 to 30.', { default: 10 }),
  admissionReviewVersions: always(8, list(string()), 'Versions of AdmissionReview that it understands; the first one that the server knows is sent.', { documented: 'required' }),
} as const;

const objectSelector = 'Selects objects by their labels: the new or the old one must match. Who may write the objects may evade the webhook.';
const matchConditions = 'Conditions that must all hold for a call, 64 at most. One that is false outweighs one that fails; of those that fail, `failurePolicy` decides.';

export const validatingWebhook = struct('api.admissionregistration.v1.ValidatingWebhook', 'A webhook that allows or refuses requests.', {
  ...sharedFields,
  objectSelector: ptr(10, labelSelector, objectSelector, { default: {} }),
  matchConditions: opt(11, mergeList('name', matchCondition, { duplicatesAllowed: true }), matchConditions),
});

export const mutatingWebhook = struct('api.admissionregistration.v1.MutatingWebhook', 'A webhook that changes objects, or refuses requests.', {
  ...sharedFields,
  objectSelector: ptr(11, labelSelector, objectSelector, { default: {} }),
  reinvocationPolicy: ptr(10, documentedEnum('IfNeeded', 'Never'), '`Never`: it is called once for a request. `IfNeeded`: again, if others have changed the object after its call.', {
    default: 'Never',
  }),
  matchConditions: opt(12, mergeList('name', matchCondition, { duplicatesAllowed: true }), matchConditions),
});

/** Field `webhooks` of both kinds of configurations. */
export const webhooksOf = <const S extends StructSchema>(webhook: S) => opt(2, mergeList('name', webhook, { duplicatesAllowed: true }), 'The webhooks.');

/** A webhook of either kind. */
export type Webhook = Infer<typeof validatingWebhook> & Pick<Infer<typeof mutatingWebhook>, 'reinvocationPolicy'>;
