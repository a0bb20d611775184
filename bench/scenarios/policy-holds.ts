import { create, dialect, json, jsonBody, until } from '../api-objects.ts';
import type { Product } from '../product.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import type { TurnProbe } from '../turn-probe.ts';
import { Turns } from '../turns.ts';

const group = `${dialect.group('admissionregistration')}/v1`;
const maps = '/api/v1/namespaces/default/configmaps';
const everything = [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }];

/** The longest turn of the event loop beside policies and webhooks with as many expressions as fit. */
export const policyHolds: Scenario = {
  name: 'policy-holds',
  async run(context) {
    const turns = new Turns(context, 'large policies');
    for (const hostile of hostileConfigurations) {
      await using product = await context.start();
      await follow(hostile, { product, probe: await product.turnProbe(), turns, context });
    }
    return turns.rows();
  },
};

interface Measuring {
  readonly product: Product;
  readonly probe: TurnProbe;
  readonly turns: Turns;
  readonly context: BenchContext;
}

interface Hostile {
  readonly what: string;
  /** Made before anything is measured. */
  readonly before?: (product: Product) => Promise<void>;
  readonly resource: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly binding?: Readonly<Record<string, unknown>>;
}

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const policies = 'validatingadmissionpolicies';
const failing = { failurePolicy: 'Fail', matchConstraints: { resourceRules: everything } };
const rule = (index: number): Readonly<Record<string, unknown>> => ({
  expression: `!has(object.data) || !('key-${index}' in object.data) || object.data['key-${index}'].size() < 100`,
});
/** Near the most that an expression may cost. */
const longRule = (index: number): Readonly<Record<string, unknown>> => {
  const numbers = JSON.stringify(many(250, (number) => number + index));
  return { expression: `${numbers}.all(a, ${numbers}.all(b, a + b >= object.metadata.name.size() - 100))` };
};
const params = { apiVersion: 'v1', kind: 'ConfigMap' };

const hostileConfigurations: readonly Hostile[] = [
  {
    what: '1,500 rules',
    resource: policies,
    fields: { spec: { ...failing, validations: many(1_500, rule) } },
  },
  {
    what: '1,500 variables',
    resource: policies,
    fields: {
      spec: {
        ...failing,
        variables: many(1_500, (index) => ({
          name: `v${index}`,
          expression: index === 0 ? 'object.metadata.name.size()' : `variables.v${index - 1} + 1`,
        })),
        validations: [{ expression: 'variables.v1499 > 0' }],
      },
    },
  },
  {
    what: 'five rules that take long',
    resource: policies,
    fields: { spec: { ...failing, validations: many(5, longRule) } },
  },
  {
    what: '20 rules of 95,000 characters',
    resource: policies,
    fields: {
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [...everything, { ...everything[0], resources: ['pods', 'secrets', 'nodes'] }],
        },
        validations: many(20, (index) => ({
          expression: many(3_500, (each) => `object.kind != '${index * each}'`)
            .join(' || ')
            .slice(0, 95_000)
            .replace(/ \|\| [^|]*$/, ''),
        })),
      },
    },
  },
  {
    what: 'five rules and 600 params',
    before: async ({ api }) => {
      for (const index of many(600, (each) => each)) {
        await create(api, maps, {
          metadata: { name: `param-${index}`, labels: { param: 'yes' } },
          data: { most: '100' },
        });
      }
    },
    resource: policies,
    fields: {
      spec: {
        ...failing,
        paramKind: params,
        validations: many(5, () => ({ expression: 'object.metadata.name.size() < int(params.data.most)' })),
      },
    },
    binding: {
      paramRef: { selector: { matchLabels: { param: 'yes' } }, namespace: 'default', parameterNotFoundAction: 'Deny' },
    },
  },
  {
    what: '1,000 webhooks with conditions',
    resource: 'validatingwebhookconfigurations',
    fields: {
      webhooks: many(1_000, (index) => ({
        ...{ name: `w${index}.example.com`, rules: everything, sideEffects: 'None', admissionReviewVersions: ['v1'] },
        clientConfig: { url: 'https://127.0.0.1:1/never' },
        matchConditions: [{ name: 'never', expression: `object.metadata.name == 'asked-${index}'` }],
      })),
    },
  },
];

/** Waits until the types of the policy have been checked. */
const observed = (api: Product['api']): Promise<boolean> =>
  until('a status of the policy', async () => {
    const { body } = await api.expect(200, `/apis/${group}/${policies}/hostile`);
    const { status } = JSON.parse(body.toString()) as { status?: { observedGeneration?: number } };
    return status?.observedGeneration === 1 || undefined;
  });

async function follow(hostile: Hostile, { product, probe, turns, context }: Measuring): Promise<void> {
  const { api } = product;
  const { what, before, resource, fields, binding } = hostile;
  turns.begin(what);
  await before?.(product);
  context.progress(`${what}: measured`);
  await turns.of('POST, and check of types', probe, async () => {
    await create(api, `/apis/${group}/${resource}`, { metadata: { name: 'hostile' }, ...fields });
    if (resource === policies) await observed(api);
  });
  if (resource === policies) {
    const spec = { policyName: 'hostile', validationActions: ['Deny'], ...binding };
    await create(api, `/apis/${group}/validatingadmissionpolicybindings`, { metadata: { name: 'hostile' }, spec });
  }
  const write = (name: string) => () => create(api, maps, { metadata: { name }, data: { a: '1' } });
  await turns.of('first create of an object', probe, write('first'));
  await turns.of('second create of an object', probe, write('second'));
  await turns.of('merge patch of it', probe, () =>
    api.expect(200, `/apis/${group}/${resource}/hostile`, {
      ...{ method: 'PATCH', headers: { ...json, 'content-type': 'application/merge-patch+json' } },
      body: jsonBody({ metadata: { labels: { changed: 'yes' } } }),
    }),
  );
  await turns.of('create after the patch', probe, write('third'));
}
