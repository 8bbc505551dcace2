// Refuses the features that the community edition of published servers lacks.
import { sqlError } from '../errors/sql-error.ts';
import type { Statement } from '../tree/statement.ts';

/** @throws SqlError 3230, 10100, 17097 */
export function refuseEnterpriseFeatures(tree: Statement): void {
  refuseStatement(tree);
  visit(tree);
}

/** Published clients search the message for the name of the feature in this form, and then report that the feature is not available. */
const enterprise = (feature: string): Error => sqlError(3230, `'${feature}'`);

function refuseStatement(tree: Statement): void {
  switch (tree.kind) {
    case 'explain':
    case 'prepare':
      refuseStatement(tree.statement);
      return;
    case 'advise':
      throw enterprise('Advise');
    case 'update statistics':
      throw enterprise('Update Statistics');
    case 'create function':
      if (tree.body.language !== 'inline') throw sqlError(10100, tree.body.language);
      return;
    case 'begin transaction':
      throw sqlError(17097);
    default:
  }
}

/** Throws for window functions and ADVISOR() in any part of the tree. */
function visit(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  const { kind, over, name } = node as Record<string, unknown>;
  if (kind === 'aggregate' && over !== undefined) throw enterprise('Window function');
  if (kind === 'call' && name === 'advisor') throw enterprise('Advisor Function');
  // A constant is a value of the statement, not a node.
  if (kind !== 'constant') for (const child of Object.values(node)) visit(child);
}
