import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Dialect } from '../../src/dialect/dialect.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { orch } from '../../src/dialect/orch.ts';
import { AdmissionWebhook, patchOf, ruleFor, webhookFor } from '../support/admission-webhook.ts';
import { KubectlClient } from '../support/kubectl.ts';
import { type KubectlRelease, kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Webhook configurations, policies and bindings from `apply` to `delete`, and what the client prints of refusals and warnings
 * that come from them, word for word.
 */

type Fields = Readonly<Record<string, unknown>>;

interface Manifest extends Fields {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** A kind with an object, and what the client shows of it. */
interface Row {
  readonly resource: string;
  readonly manifest: Manifest;
  /** Head and cells of `get`, without the age. */
  readonly columns: readonly (readonly [head: string, cell: string])[];
  /** Lines of `describe`. */
  readonly described: readonly RegExp[];
  /** A field with a line of what `explain` says of it. */
  readonly explained: readonly [path: string, line: RegExp];
  /** A field that is not there, and how a refusal names it. */
  readonly bogus: readonly [merge: Fields, field: string];
}

/** Objects for a namespace of their own, in which alone they count. The policy has as its parameter a limit on `data.a`. */
function rowsFor(name: string, dialect: Dialect, webhook: AdmissionWebhook): readonly Row[] {
  const group = dialect.group('admissionregistration');
  const manifest = (kind: string, fields: Fields, version = 'v1'): Manifest => ({
    ...{ apiVersion: `${group}/${version}`, kind, metadata: { name } },
    ...fields,
  });
  const namespaceSelector = { matchLabels: { [`${dialect.domain}/metadata.name`]: name } };
  const here = (hook: Fields): Fields => webhookFor(webhook, { namespaceSelector, ...hook });
  const matchConstraints = { namespaceSelector, resourceRules: [ruleFor('CREATE UPDATE', 'configmaps')] };
  const validating = here({ name: 'judge.example.com', rules: [ruleFor('CREATE UPDATE DELETE', 'configmaps')] });
  const failing = here({ name: 'away.example.com', rules: [ruleFor('CREATE', 'secrets')], ...unreachable });
  const mutating = here({
    ...{ name: 'add.example.com', rules: [ruleFor('CREATE', 'configmaps')], failurePolicy: 'Ignore' },
    clientConfig: { ...webhook.clientConfig, url: `https://127.0.0.1:${webhook.fixture.port}${adding}` },
  });
  const limit = "!('a' in object.data) || int(object.data.a) <= int(params.data.max)";
  const labelled = "Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}";
  return [
    {
      resource: 'validatingwebhookconfigurations',
      manifest: manifest('ValidatingWebhookConfiguration', { webhooks: [validating, failing] }),
      columns: [['WEBHOOKS', '2']],
      described: [/^ {2}Failure Policy: +Fail$/m, /^ {2}Match Policy: +Equivalent$/m, /^ {6}CREATE\n {6}UPDATE$/m],
      explained: ['webhooks.failurePolicy', /^FIELD: failurePolicy <string>$/m],
      bogus: [{ webhooks: [{ ...validating, bogus: 1 }] }, 'webhooks[0].bogus'],
    },
    {
      resource: 'mutatingwebhookconfigurations',
      manifest: manifest('MutatingWebhookConfiguration', { webhooks: [mutating] }),
      columns: [['WEBHOOKS', '1']],
      described: [/^ {2}Failure Policy: +Ignore$/m, /^ {2}Reinvocation Policy: +Never$/m],
      explained: ['webhooks', /^ {2}reinvocationPolicy\t<string>$/m],
      bogus: [
        { webhooks: [{ ...mutating, rules: [{ ...ruleFor('*', 'pods'), bogus: 1 }] }] },
        'webhooks[0].rules[0].bogus',
      ],
    },
    {
      resource: policies,
      manifest: manifest('ValidatingAdmissionPolicy', {
        spec: {
          ...{ matchConstraints, paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } },
          validations: [
            { expression: limit, messageExpression: "'a is at most ' + params.data.max" },
            { expression: "!('b' in object.data)", reason: 'Forbidden', message: 'there is no b' },
            { expression: "!('c' in object.data)" },
          ],
        },
      }),
      columns: [
        ['VALIDATIONS', '3'],
        ['PARAMKIND', 'v1/ConfigMap'],
      ],
      described: [/^ {4}Message Expression: +'a is at most ' \+ params\.data\.max$/m, /^ {2}Param Kind:$/m],
      explained: ['spec.validations', /^ {2}expression\t<string> -required-$/m],
      bogus: [
        { spec: { matchConstraints, validations: [{ expression: 'true', bogus: 1 }] } },
        'spec.validations[0].bogus',
      ],
    },
    {
      resource: 'validatingadmissionpolicybindings',
      manifest: manifest('ValidatingAdmissionPolicyBinding', {
        spec: {
          ...{ policyName: name, validationActions: ['Deny'] },
          paramRef: { name: 'limits', namespace: name, parameterNotFoundAction: 'Allow' },
        },
      }),
      columns: [
        ['POLICYNAME', name],
        ['PARAMREF', `${name}/limits`],
      ],
      described: [/^ {4}Parameter Not Found Action: +Allow$/m, /^ {2}Validation Actions:\n {4}Deny$/m],
      explained: ['spec', /^ {2}validationActions\t<\[\]string>$/m],
      bogus: [{ spec: { policyName: name, validationActions: ['Deny'], bogus: 1 } }, 'spec.bogus'],
    },
    {
      resource: 'mutatingadmissionpolicies',
      manifest: manifest(
        'MutatingAdmissionPolicy',
        {
          spec: {
            ...{ matchConstraints, reinvocationPolicy: 'Never' },
            mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: labelled } }],
          },
        },
        'v1alpha1',
      ),
      columns: [
        ['MUTATIONS', '1'],
        ['PARAMKIND', '<unset>'],
      ],
      described: [/^ {4}Patch Type: +ApplyConfiguration$/m, /^ {2}Reinvocation Policy: +Never$/m],
      explained: ['spec.mutations', /^ {2}patchType\t<string> -required-$/m],
      bogus: [{ spec: { mutations: [{ patchType: 'JSONPatch', bogus: 1 }] } }, 'spec.mutations[0].bogus'],
    },
    {
      resource: 'mutatingadmissionpolicybindings',
      manifest: manifest('MutatingAdmissionPolicyBinding', { spec: { policyName: name } }, 'v1alpha1'),
      columns: [
        ['POLICYNAME', name],
        ['PARAMREF', '<unset>'],
      ],
      described: [new RegExp(`^ {2}Policy Name: +${name}$`, 'm')],
      explained: ['spec.policyName', /^FIELD: policyName <string>$/m],
      bogus: [{ spec: { policyName: name, bogus: 1 } }, 'spec.bogus'],
    },
  ];
}

const policies = 'validatingadmissionpolicies';

/** Where the mutating webhook is asked. */
const adding = '/add';

/** Nobody listens at the first port. */
const unreachable = { clientConfig: { url: 'https://127.0.0.1:1/judge' }, timeoutSeconds: 1 };

const allowed = { allowed: true };

const configMap = (name: string, data: Fields = { d: '' }): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
/** Not a List: the client would check its fields by itself. */
const documents = (items: readonly object[]): string => items.map((each) => JSON.stringify(each)).join('\n');
const fromInput = ['-f', '-'];

/** How a refusal of a create from a file begins. */
const whenCreating = 'error when creating "STDIN": ';
const deniedBy = 'admission webhook "judge.example.com" denied the request';

interface Refusal {
  readonly what: string;
  readonly args: readonly string[];
  readonly input?: string;
  readonly printed: (name: string) => string;
  readonly status?: Fields;
}

const byPolicy = (name: string): string =>
  `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: `;
const create = ['create', ...fromInput];

const refusals: readonly Refusal[] = [
  {
    what: 'a policy, by a message expression',
    args: create,
    input: configMap('x', { a: '9' }),
    printed: (name) => `The configmaps "x" is invalid: : ${byPolicy(name)}a is at most 5`,
  },
  {
    what: 'a policy, to apply',
    args: ['apply', ...fromInput],
    input: configMap('x', { c: '' }),
    printed: (name) => `The configmaps "x" is invalid: : ${byPolicy(name)}failed expression: !('c' in object.data)`,
  },
  {
    what: 'a policy with a reason',
    args: create,
    input: configMap('x', { b: '' }),
    printed: (name) =>
      `Error from server (Forbidden): ${whenCreating}configmaps "x" is forbidden: ${byPolicy(name)}there is no b`,
  },
  {
    what: 'a policy, to a patch',
    args: ['patch', 'configmap', 'limits', '--type=merge', '-p', '{"data":{"a":"9"}}'],
    printed: (name) => `The configmaps "limits" is invalid: : ${byPolicy(name)}a is at most 5`,
  },
  {
    what: 'a policy, to a command that makes its object',
    args: ['create', 'configmap', 'x', '--from-literal=a=9'],
    printed: (name) =>
      `error: failed to create configmap: configmaps "x" is forbidden: ${byPolicy(name)}a is at most 5`,
  },
  {
    what: 'a policy, to a dry run',
    args: [...create, '--dry-run=server'],
    input: configMap('x', { a: '9' }),
    printed: (name) => `The configmaps "x" is invalid: : ${byPolicy(name)}a is at most 5`,
  },
  {
    what: 'a webhook',
    args: create,
    input: configMap('x'),
    status: { message: 'not today' },
    printed: () => `Error from server: ${whenCreating}${deniedBy}: not today`,
  },
  {
    what: 'a webhook with a reason',
    args: create,
    input: configMap('x'),
    status: { message: 'not today', reason: 'Forbidden', code: 403 },
    printed: () => `Error from server (Forbidden): ${whenCreating}${deniedBy}: not today`,
  },
  {
    what: 'a webhook that says nothing',
    args: create,
    input: configMap('x'),
    status: {},
    printed: () => `Error from server: ${whenCreating}${deniedBy} without explanation`,
  },
  {
    what: 'a webhook, to a label',
    args: ['label', 'configmap', 'limits', 'a=b'],
    status: { message: 'not today' },
    printed: () => `Error from server: ${deniedBy}: not today`,
  },
  {
    what: 'a webhook, to a deletion',
    args: ['delete', 'configmap', 'limits'],
    status: { message: 'not today' },
    printed: () => `Error from server: ${deniedBy}: not today`,
  },
];

async function startServer(dialect: Dialect): Promise<OrchProcess> {
  const alpha = `--runtime-config=${dialect.group('admissionregistration')}/v1alpha1=true`;
  const flags = [`--dialect=${dialect.name}`, '--feature-gates=MutatingAdmissionPolicy=true', alpha];
  return OrchProcess.start({ flags });
}

/** What one release of the client does with all kinds, in an order: the objects are made by the first test and removed by the last. */
function suite(
  release: KubectlRelease,
  dialect: Dialect,
  server: () => OrchProcess,
  webhook: () => AdmissionWebhook,
): void {
  const name = `r${release.release.replace('.', '-')}`;
  const group = dialect.group('admissionregistration');
  let client: KubectlClient;
  let rows: readonly Row[];
  before(async () => {
    client = new KubectlClient(release, server(), ['-n', name]);
    rows = rowsFor(name, dialect, webhook());
    await client.prints(['create', 'namespace', name]);
    await client.prints(create, { input: configMap('limits', { max: '5' }) });
  });
  const input = (): string => documents(rows.map(({ manifest }) => manifest));
  const objects = (): readonly string[] => rows.map(({ resource }) => `${resource}.${group}/${name}`);
  const printed = (verb: string): string =>
    rows.map(({ manifest: { kind } }) => `${kind.toLowerCase()}.${group}/${name} ${verb}\n`).join('');

  test('dry run, strictly: nothing is made', async () => {
    const args = ['apply', '--dry-run=server', '--validate=strict', ...fromInput];
    assert.equal(await client.prints(args, { input: input() }), printed('created (server dry run)'));
    assert.equal(await client.prints(['get', ...objects(), '--ignore-not-found']), '');
  });

  test('a field that is not there: refused when strict, else a warning', async () => {
    const wrong = { input: documents(rows.map(({ manifest, bogus: [merge] }) => ({ ...manifest, ...merge }))) };
    const refused = rows.map(({ manifest: { apiVersion, kind }, bogus: [, field] }) => {
      const asOne = `${kind} in version "${apiVersion.split('/').at(-1)}" cannot be handled as a ${kind}`;
      return `Error from server (BadRequest): ${whenCreating}${asOne}: strict decoding error: unknown field "${field}"`;
    });
    assert.equal(await client.refused(['create', '--validate=strict', ...fromInput], wrong), refused.join('\n'));
    const { err } = await client.run(['create', '--validate=warn', '--dry-run=server', ...fromInput], wrong);
    const warnings = rows.map(({ bogus: [, field] }) => `Warning: unknown field "${field}"`);
    assert.deepEqual(new Set(err.split('\n').filter((line) => line.startsWith('Warning: '))), new Set(warnings));
  });

  test('apply: creates, and merges webhooks by name', async () => {
    assert.equal(await client.prints(['apply', ...fromInput], { input: input() }), printed('created'));
    const [{ manifest } = assert.fail()] = rows;
    const [first, ...others] = manifest['webhooks'] as readonly Fields[];
    const changed = { ...manifest, webhooks: [{ ...first, timeoutSeconds: 7 }, ...others] };
    assert.match(await client.prints(['apply', ...fromInput], { input: JSON.stringify(changed) }), / configured\n$/);
    const timeouts = [
      'get',
      `validatingwebhookconfigurations.${group}`,
      name,
      '-o',
      'jsonpath={.webhooks[*].timeoutSeconds}',
    ];
    assert.equal(await client.prints(timeouts), '7 1');
    await client.prints(['apply', ...fromInput], { input: JSON.stringify(manifest) });
  });

  test('apply --server-side is idempotent', async () => {
    const args = ['apply', '--server-side', '--force-conflicts', ...fromInput];
    const versions = ['get', ...objects(), '-o', 'jsonpath={.items[*].metadata.resourceVersion}'];
    assert.equal(await client.prints(args, { input: input() }), printed('serverside-applied'));
    const before = await client.prints(versions);
    await client.prints(args, { input: input() });
    assert.equal(await client.prints(versions), before);
  });

  test('get: columns; -o wide has no more', async () => {
    const tables = rows.map(({ manifest: { kind }, columns }) => [
      ['NAME', ...columns.map(([head]) => head), 'AGE'],
      [`${kind.toLowerCase()}.${group}/${name}`, ...columns.map(([, cell]) => cell)],
    ]);
    for (const wide of [[], ['-o', 'wide']]) {
      const seen = (await client.prints(['get', ...objects(), ...wide])).trim().split('\n\n');
      const cells = seen.map((table) => table.split('\n').map((line) => line.split(/ {2,}/)));
      assert.deepEqual(
        cells.map(([head, line]) => [head, line?.slice(0, -1)]),
        tables,
      );
    }
    const everything = await client.prints(['get', 'api-extensions', '-o', 'name']);
    for (const line of printed('').split(' \n')) assert.ok(everything.includes(line), line);
  });

  test('describe', async () => {
    const texts = (await client.prints(['describe', ...objects()])).split(/^(?=Name: )/m);
    assert.equal(texts.length, rows.length);
    for (const [at, { described }] of rows.entries()) {
      for (const line of described) assert.match(texts[at] ?? '', line);
    }
  });

  test('describe shows expressions that do not fit the types of what they are about', async () => {
    const wrong = `${name}-wrong`;
    const { apiVersion, kind } = rows.find(({ resource }) => resource === policies)?.manifest ?? assert.fail();
    const resourceRules = [ruleFor('CREATE', 'configmaps')];
    const spec = { matchConstraints: { resourceRules }, validations: [{ expression: 'object.data > 1' }] };
    const input = JSON.stringify({ apiVersion, kind, metadata: { name: wrong }, spec });
    await client.prints(create, { input });
    const policy = `${policies}.${group}/${wrong}`;
    await client.prints(['wait', policy, '--for=jsonpath={.status.observedGeneration}=1', '--timeout=20s']);
    const warnings =
      /^Status:\n {2}Observed Generation: +1\n {2}Type Checking:\n {4}Expression Warnings:\n {6}Field Ref: +spec\.validations\[0\]\.expression\n {6}Warning: +\/v1, Kind=ConfigMap: ERROR: <input>:1:13: found no matching overload for '_>_'/m;
    assert.match(await client.prints(['describe', policy]), warnings);
    await client.prints(['delete', policy]);
  });

  test('explain', async () => {
    for (const { resource, explained, manifest } of rows) {
      const [path, line] = explained;
      const text = await client.prints(['explain', `${resource}.${path}`, `--api-version=${manifest.apiVersion}`]);
      assert.match(text, line);
      assert.match(text, new RegExp(`^KIND: +${manifest.kind}$`, 'm'));
    }
  });

  for (const { what, args, input, printed, status } of refusals) {
    test(`a refusal by ${what}`, async () => {
      if (status) webhook().judge = ({ target }) => (target.startsWith(adding) ? allowed : { allowed: false, status });
      assert.equal(await client.refused(args, input === undefined ? {} : { input }), printed(name));
      webhook().reset();
    });
  }

  test('a webhook that does not answer', async () => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } });
    const said = await client.refused(create, { input });
    const failed = `Error from server (InternalError): ${whenCreating}Internal error occurred: failed calling webhook "away.example.com": failed to call webhook: Post "https://127.0.0.1:1/judge?timeout=1s": `;
    assert.ok(said.startsWith(failed), said);
  });

  test('warnings, of a webhook and of a policy that warns', async () => {
    const binding = rows.find(({ manifest }) => manifest.kind === 'ValidatingAdmissionPolicyBinding') ?? assert.fail();
    const warns = { spec: { validationActions: ['Warn'] } };
    await client.prints(['patch', `${binding.resource}.${group}`, name, '--type=merge', '-p', JSON.stringify(warns)]);
    webhook().judge = ({ target }) =>
      target.startsWith(adding) ? allowed : { ...allowed, warnings: ['mind the gap'] };
    const { code, err } = await client.run([...create, '--dry-run=server'], { input: configMap('x', { a: '9' }) });
    webhook().reset();
    assert.equal(code, 0, err);
    assert.deepEqual(err.trim().split('\n').sort(), [
      `Warning: Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': a is at most 5`,
      'Warning: mind the gap',
    ]);
  });

  test('diff shows what a policy and a webhook add', async () => {
    const patch = patchOf({ op: 'add', path: '/data/by', value: 'webhook' });
    webhook().judge = ({ target }) => (target.startsWith(adding) ? patch : allowed);
    const { code, out, err } = await client.run(['diff', ...fromInput], { input: configMap('x', { a: '1' }) });
    webhook().reset();
    assert.equal(code, 1, err);
    assert.match(out, /^\+ {2}by: webhook$/m);
    assert.match(out, /^\+ {4}seen: "yes"$/m);
  });

  test('delete: nothing is judged any more', async () => {
    const gone = rows.map(({ manifest: { kind } }) => `${kind.toLowerCase()}.${group} "${name}" deleted\n`);
    assert.equal(await client.prints(['delete', ...fromInput], { input: input() }), gone.join(''));
    const out = await client.prints(create, { input: configMap('x', { a: '9', b: '', c: '' }) });
    assert.equal(out, 'configmap/x created\n');
    assert.equal(await client.prints(['get', 'configmap', 'x', '-o', 'jsonpath={.metadata.labels}']), '');
  });
}

const newest = kubectlReleases.at(-1);
const skip = newest === undefined && 'kubectl is not installed';

for (const dialect of [kubernetes, orch]) {
  describe(`kubectl and dynamic admission with --dialect=${dialect.name}`, { skip }, () => {
    const held = new AsyncDisposableStack();
    let server: OrchProcess;
    let webhook: AdmissionWebhook;
    before(async () => {
      server = held.use(await startServer(dialect));
      webhook = held.use(await AdmissionWebhook.start());
    });
    after(() => held.disposeAsync());
    // The newest one alone speaks to the dialect that no release knows.
    for (const release of dialect === kubernetes ? kubectlReleases : kubectlReleases.slice(-1)) {
      describe(`release ${release.release}`, () =>
        suite(
          release,
          dialect,
          () => server,
          () => webhook,
        ));
    }
  });
}
