// The expressions of which statistics are gathered: those of index keys, each component of FLATTEN_KEYS by itself.
import { formatExpression } from '../text/format.ts';
import type { Expression } from '../tree/expression.ts';
import { identifierOf, notInText } from '../tree/identifier.ts';
import { componentsOf } from './index-keys.ts';
import { rewrite } from './walk.ts';

export interface StatisticsKey {
  /** Identifies the statistics: the text of the expression as `formatExpression` writes it. */
  readonly expression: string;
  /** An expression over the document `alias` with the value, or for an array key the array of its elements. */
  readonly value: string;
  readonly isArray: boolean;
}

/** The name of the document in `StatisticsKey.value`; no field of a document is expected to have it. */
export const documentAlias = '$document';

/** `expression`: of an index key, or of UPDATE STATISTICS. */
export const statisticsKeys = (expression: Expression): StatisticsKey[] =>
  componentsOf(expression).map((part) => {
    const isArray = part.kind === 'all keys';
    return { expression: distributionName(part), value: formatExpression(valueIn(part)), isArray };
  });

export const distributionName = (expression: Expression): string => formatExpression(expression);

/** The expression over the document; array keys within one another become one array of the innermost elements. */
function valueIn(part: Expression): Expression {
  const document = identifierOf(documentAlias);
  const overDocument = rewrite(part, (node) => (node.kind === 'self' ? document : node));
  if (overDocument.kind !== 'all keys') return overDocument;
  let depth = 0;
  const plain = rewrite(overDocument.of, (node) => {
    if (node.kind !== 'all keys') return node;
    depth++;
    return node.of;
  });
  const flat =
    depth > 0 ? call('array_flatten', [plain, { kind: 'constant', value: depth, at: notInText }]) : plain;
  return overDocument.isDistinct ? call('array_distinct', [flat]) : flat;
}

const call = (name: string, values: readonly Expression[]): Expression => ({
  kind: 'call',
  name,
  arguments: values,
  at: notInText,
});
