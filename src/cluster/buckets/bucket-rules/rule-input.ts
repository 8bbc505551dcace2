// The input of every rule of a bucket parameter, and its reporting of problems.
import type { Form } from '#contract/route.ts';
import type {
  BucketType,
  ClusterAutoCompaction,
  Edition,
  StoredBucket,
  Vocabulary,
} from '../../config/cluster-state.ts';
import type { Problems } from '../../forms/problems.ts';

export interface RuleInput {
  readonly form: Form;
  /** The edited bucket; null at creation. */
  readonly present: StoredBucket | null;
  readonly type: BucketType;
  readonly vocabulary: Vocabulary;
  readonly edition: Edition;
  /** The cluster's settings. */
  readonly compaction: ClusterAutoCompaction;
  readonly problems: Problems;
}

/** Reads one of the allowed words; `otherwise` if the parameter was not sent or has another value, which is a problem. */
export function choice<T extends string, A>(
  input: RuleInput,
  name: string,
  allowed: readonly T[],
  otherwise: A,
  text: string,
): T | A {
  const sent = input.form[name];
  if (sent === undefined) return otherwise;
  const found = allowed.find((word) => word === sent);
  if (found === undefined) input.problems.add(name, text);
  return found ?? otherwise;
}

export const typeNames: Record<Vocabulary, Record<BucketType, string>> = {
  neutral: { native: 'native', ephemeral: 'ephemeral', cache: 'cache' },
  branded: { native: 'membase', ephemeral: 'ephemeral', cache: 'memcached' },
};
