import { describe } from 'node:test';
import { batchGuarantees } from './batches.ts';
import { changeStreamGuarantees, compactionGuarantees } from './change-stream.ts';
import { listGuarantees, recordGuarantees, serializabilityGuarantees } from './key-values.ts';
import { lifecycleGuarantees } from './lifecycle.ts';
import { modelGuarantees } from './model.ts';
import { sizeGuarantees } from './sizes.ts';
import { type ConformanceSubject, guaranteesOf } from './subject.ts';

/**
 * Registers the suite that every store must pass. It is derived only from the guarantees in `store.ts`: it does not
 * assume that revisions are dense, where they start, or that only the suite's own writes advance them.
 */
export const conformance = (subject: ConformanceSubject): void => {
  const guarantee = guaranteesOf(subject);
  describe(`${subject.name}: records`, () => recordGuarantees(guarantee));
  describe(`${subject.name}: sizes`, () => sizeGuarantees(guarantee, subject.capabilities));
  describe(`${subject.name}: batches`, () => batchGuarantees(guarantee, subject.capabilities));
  describe(`${subject.name}: lists`, () => listGuarantees(guarantee));
  describe(`${subject.name}: strict serializability`, () => serializabilityGuarantees(guarantee));
  describe(`${subject.name}: change streams`, () => changeStreamGuarantees(guarantee));
  describe(`${subject.name}: compaction`, () => compactionGuarantees(guarantee));
  describe(`${subject.name}: lifecycle`, () => lifecycleGuarantees(guarantee, subject.capabilities));
  describe(`${subject.name}: model`, () => modelGuarantees(guarantee));
};
