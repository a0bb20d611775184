import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { dynType, intType, listType, stringType, structType, typeName } from '../../cel/type.ts';
import { ExpressionCompiler, type ExpressionRole } from './expressions.ts';

/** The name of the type of an expression, or why it does not compile. */
function typeOf(source: string, role: ExpressionRole, compiler = new ExpressionCompiler()): string {
  const compiled = allAtOnce(compiler.compile(source, role));
  return compiled.type === 'program' ? typeName(compiled.program.type) : compiled.detail;
}

const undeclared = (name: string, source: string): string =>
  `compilation failed: ERROR: <input>:1:1: undeclared reference to '${name}' (in container '')\n | ${source}\n | ^`;
const undefinedField = (field: string, source: string, column: number): string =>
  `compilation failed: ERROR: <input>:1:${column}: undefined field '${field}'\n | ${source}\n | ${'.'.repeat(column - 1)}^`;

describe('types of expressions', () => {
  const rows: readonly (readonly [source: string, type: string])[] = [
    ['object', 'dyn'],
    ['oldObject.metadata.name', 'dyn'],
    ['request.kind.group', 'string'],
    ['request.resource.resource', 'string'],
    ['request.subResource', 'string'],
    ['request.requestKind.version', 'string'],
    ['request.requestResource.resource', 'string'],
    ['request.requestSubResource', 'string'],
    ['request.name + request.namespace + request.operation', 'string'],
    ['request.userInfo.username', 'string'],
    ['request.userInfo.uid', 'string'],
    ['request.userInfo.groups', 'list(string)'],
    ['request.userInfo.extra', 'map(string, list(string))'],
    ['request.dryRun', 'bool'],
    ['request.options.fieldManager', 'dyn'],
    ['namespaceObject.metadata.labels', 'map(string, string)'],
    ['namespaceObject.metadata.UID', 'string'],
    ['namespaceObject.metadata.finalizers', 'list(string)'],
    ['namespaceObject.spec.finalizers', 'list(string)'],
    ['namespaceObject.status.phase', 'string'],
    ['namespaceObject.status.conditions[0].type', 'string'],
    ['namespaceObject == null', 'bool'],
    ['authorizer', 'kubernetes.authorization.Authorizer'],
    ['authorizer.requestResource', 'kubernetes.authorization.ResourceCheck'],
    ["authorizer.requestResource.name('x')", 'kubernetes.authorization.ResourceCheck'],
    ["authorizer.path('/x')", 'kubernetes.authorization.PathCheck'],
    ["authorizer.path('/x').check('get')", 'kubernetes.authorization.Decision'],
    ["authorizer.group('').resource('x').subresource('y').namespace('n').name('m').check('get').allowed()", 'bool'],
    ["authorizer.group('').resource('x').fieldSelector('a=b').labelSelector('c').check('list').reason()", 'string'],
    ["authorizer.serviceAccount('n', 'm').group('').resource('x').check('get').errored()", 'bool'],
    ["authorizer.requestResource.check('get').error()", 'string'],
    ['request.uid', undefinedField('uid', 'request.uid', 8)],
    ['request.object', undefinedField('object', 'request.object', 8)],
    [
      'namespaceObject.metadata.ownerReferences',
      undefinedField('ownerReferences', 'namespaceObject.metadata.ownerReferences', 25),
    ],
    ['params', undeclared('params', 'params')],
    ['variables', undeclared('variables', 'variables')],
  ];
  for (const [source, type] of rows) it(source, () => assert.equal(typeOf(source, 'variable'), type));
});

describe('what the roles of expressions demand', () => {
  const rows: readonly (readonly [source: string, role: ExpressionRole, outcome: string])[] = [
    ['object == null', 'condition', 'bool'],
    ['object', 'condition', 'must evaluate to bool but got dyn'],
    ['1', 'condition', 'must evaluate to bool but got int'],
    ['request.userInfo', 'condition', 'must evaluate to bool but got kubernetes.UserInfo'],
    ["'text'", 'message', 'string'],
    ['object.x', 'message', 'must evaluate to string but got dyn'],
    ['authorizer', 'message', undeclared('authorizer', 'authorizer')],
    ['authorizer.requestResource', 'message', undeclared('authorizer', 'authorizer.requestResource')],
    ["'text'", 'auditAnnotation', 'string'],
    ['null', 'auditAnnotation', 'null'],
    ['true', 'auditAnnotation', 'must evaluate to one of [string null_type] but got bool'],
    ["string(authorizer.requestResource.check('get').allowed())", 'auditAnnotation', 'string'],
  ];
  for (const [source, role, outcome] of rows)
    it(`${role}: ${source}`, () => assert.equal(typeOf(source, role), outcome));
});

describe('what a policy adds', () => {
  it('params, if it has a paramKind', () => {
    const compiler = new ExpressionCompiler({ hasParams: true });
    assert.equal(typeOf('params.x', 'variable', compiler), 'dyn');
    assert.equal(typeOf("'a' + params.x", 'message', compiler), 'string');
  });

  it('variables: each sees those before it, by their types', () => {
    const compiler = new ExpressionCompiler({ hasVariables: true });
    const added: readonly (readonly [name: string, source: string, type: string])[] = [
      ['count', '1 + 1', 'int'],
      ['list', '[variables.count]', 'list(int)'],
      ['map', "{'a': variables.list}", 'map(string, list(int))'],
      ['user', 'request.userInfo', 'dyn'],
      ['users', '[request.userInfo]', 'list(dyn)'],
      ['optional', 'object.?x', 'dyn'],
      ['nothing', 'null', 'null'],
      ['broken', '1 +', 'dyn'],
    ];
    for (const [name, source] of added) allAtOnce(compiler.addVariable(name, source));
    assert.deepEqual(
      [...compiler.variables.keys()],
      added.map(([name]) => name),
    );
    for (const [name, , type] of added) assert.equal(typeOf(`variables.${name}`, 'variable', compiler), type, name);
    assert.equal(typeOf('variables.other', 'variable', compiler), undefinedField('other', 'variables.other', 10));
    const early = new ExpressionCompiler({ hasVariables: true });
    assert.equal(allAtOnce(early.addVariable('a', 'variables.b')).type, 'error');
    assert.equal(allAtOnce(early.addVariable('b', 'variables.b')).type, 'error');
  });

  it('types of objects: expressions are checked against them', () => {
    const object = structType('Thing', {
      spec: structType('Spec', { replicas: intType, names: listType(stringType) }),
    });
    const compiler = new ExpressionCompiler({ hasParams: true, types: { object, params: dynType } });
    assert.equal(typeOf('object.spec.replicas > oldObject.spec.replicas', 'condition', compiler), 'bool');
    assert.equal(
      typeOf('object.replicas > 1', 'condition', compiler),
      undefinedField('replicas', 'object.replicas > 1', 7),
    );
  });

  it('names of macros hide qualified variables', () => {
    assert.equal(
      typeOf("[{'requestResource': 1}].all(authorizer, authorizer.requestResource == 1)", 'condition'),
      'bool',
    );
  });
});
