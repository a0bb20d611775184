import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import type { UserRules } from '../../request/access.ts';
import { answerTo, jane, refusalOf } from '../answer-fixture.ts';
import { selfSubjectRulesReview } from './self-subject-rules-review.ts';

const nothing: UserRules = { resourceRules: [], pathRules: [], incomplete: false, errors: [] };

async function review(spec: Readonly<Record<string, unknown>> | undefined, rules: UserRules = nothing) {
  const asked: unknown[] = [];
  const sent = { metadata: { labels: { a: 'b' } }, ...(spec && { spec }) };
  const { object } = await answerTo(selfSubjectRulesReview(orch), sent, {
    rulesFor: (...question) => {
      asked.push(question);
      return rules;
    },
  });
  return { object, asked };
}

describe('SelfSubjectRulesReview (spec section 5.7)', () => {
  it('asks for the rules of the caller, and shows nothing of what was sent', async () => {
    const { object, asked } = await review({ namespace: 'team' });
    assert.deepEqual(asked, [[jane, 'team']]);
    assert.deepEqual(object, {
      kind: 'SelfSubjectRulesReview',
      apiVersion: 'authorization.orch.io/v1',
      metadata: { creationTimestamp: null },
      spec: {},
      status: { resourceRules: [], nonResourceRules: [], incomplete: false },
    });
  });

  it('lists rules without what is empty in them', async () => {
    const { object } = await review(
      { namespace: 'team' },
      {
        resourceRules: [
          { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: [] },
          { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: ['x'] },
        ],
        pathRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
        incomplete: true,
        errors: ['one'],
      },
    );
    assert.deepEqual(object['status'], {
      resourceRules: [
        { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: ['x'] },
      ],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
      incomplete: true,
      evaluationError: 'one',
    });
  });

  it('joins several errors', async () => {
    const { object } = await review({ namespace: 'team' }, { ...nothing, errors: ['one', 'two'] });
    assert.equal((object['status'] as { evaluationError: string }).evaluationError, '[one, two]');
  });

  it('needs a namespace', async () => {
    for (const spec of [undefined, {}, { namespace: '' }]) {
      const error = await refusalOf(review(spec));
      assert.deepEqual([error.code, error.message], [400, 'no namespace on request']);
    }
  });
});
