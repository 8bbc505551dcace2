// Whether the rules of a mapping are valid, and which of them contradict each other. The texts are the published ones.
import { filterProblem } from '../filter/filter.contract.ts';
import {
  type CollectionMapping,
  defaultCollection,
  isWholeMigration,
  type MappingRules,
  mappingLimits,
  systemScope,
} from './mapping.contract.ts';

const namePattern = /^[0-9A-Za-z_-][0-9A-Za-z_%-]*$/;
const tooLong = `Length is longer than maximum allowed - maximum length for scope or collection names is ${mappingLimits.nameBytes}`;
const systemProblem = 'System scope is mapped';
const denyProblem = 'Deny rules are not allowed for migration mode';

interface CollectionPath {
  readonly scope: string;
  readonly collection: string;
}

/** Null: the rules are valid for the mode. */
export async function mappingProblem(mapping: CollectionMapping): Promise<string | null> {
  if (mapping.mode !== 'migration') return explicitProblem(mapping.rules);
  return isWholeMigration(mapping)
    ? wholeMigrationProblem(mapping.rules)
    : await migrationProblem(mapping.rules);
}

/** The error that names the sources of the rules that are not among these scopes and collections; null: all are. */
export function missingSources(
  rules: MappingRules,
  scopes: ReadonlyMap<string, ReadonlySet<string>>,
): string | null {
  const missing = Object.entries(rules).filter(([source, target]) => {
    const name = collectionPath(source);
    if (name === null) return !scopes.has(source);
    return target !== null && scopes.get(name.scope)?.has(name.collection) !== true;
  });
  if (missing.length === 0) return null;
  return missing.map(([source]) => `${source} : the specific source namespace does not exist`).join('\n');
}

/** Null: the text is not of the form `scope.collection`. */
function collectionPath(text: string): CollectionPath | null {
  const [scope = '', collection = '', ...rest] = text.split('.');
  const isName = rest.length === 0 && namePattern.test(scope) && namePattern.test(collection);
  return isName ? { scope, collection } : null;
}

function explicitProblem(rules: MappingRules): string | null {
  const entries = Object.entries(rules);
  if (entries.length > mappingLimits.rules) return `There must be at most ${mappingLimits.rules} rules`;
  const targets = new Set<string>();
  for (const [source, target] of entries) {
    const problem = ruleProblem(source, target);
    if (problem !== null) return problem;
    if (target === null) continue;
    if (targets.has(target)) return `${target} is reused as a target namespace`;
    targets.add(target);
  }
  const redundant = entries.find(([source, target]) => isRedundant(rules, source, target));
  return redundant === undefined ? null : `The rule ${shownRule(...redundant)} is redundant`;
}

const shownRule = (source: string, target: string | null): string => `${source}:${target ?? '<nil>'}`;

function ruleProblem(source: string, target: string | null): string | null {
  if (source === '') return 'Rule must not contain empty string(s):key is empty ';
  if (target === '') return 'Rule must not contain empty string(s): value is empty ';
  const from = collectionPath(source);
  if (from === null) return scopeRuleProblem(source, target);
  if (isTooLong(from)) return tooLong;
  if (target === null) return null;
  const to = collectionPath(target);
  if (to === null) return `invalid rule: ${shownRule(source, target)}`;
  if (isTooLong(to)) return tooLong;
  return [from.scope, to.scope].includes(systemScope) ? systemProblem : null;
}

function scopeRuleProblem(source: string, target: string | null): string | null {
  const names = target === null ? [source] : [source, target];
  if (names.some((name) => Buffer.byteLength(name) > mappingLimits.nameBytes)) return tooLong;
  if (names.includes(systemScope)) return systemProblem;
  if (names.every((name) => namePattern.test(name))) return null;
  return source.includes('.')
    ? `invalid rule: ${shownRule(source, target)}`
    : `Invalid scope or collection name for one or both of ${shownRule(source, target)}`;
}

const isTooLong = ({ scope, collection }: CollectionPath): boolean =>
  [scope, collection].some((name) => Buffer.byteLength(name) > mappingLimits.nameBytes);

/** Whether the rule of a collection says what the rule of its scope says already. */
function isRedundant(rules: MappingRules, source: string, target: string | null): boolean {
  const from = collectionPath(source);
  if (from === null || !Object.hasOwn(rules, from.scope)) return false;
  const ofScope = rules[from.scope] as string | null;
  return ofScope === null ? target === null : target === `${ofScope}.${from.collection}`;
}

function wholeMigrationProblem(rules: MappingRules): string | null {
  const target = rules[defaultCollection] as string | null;
  if (target === null) return denyProblem;
  return targetProblem(target);
}

async function migrationProblem(rules: MappingRules): Promise<string | null> {
  const entries = Object.entries(rules);
  if (entries.length > mappingLimits.expressions)
    return `There must be at most ${mappingLimits.expressions} rules in migration mode`;
  for (const [expression, target] of entries) {
    if (target === null) return denyProblem;
    if (expression === defaultCollection)
      return 'One single rule migrating from default collection to a target collection cannot be accompanied by any other rules';
    if (collectionPath(expression)?.scope === systemScope) return systemProblem;
    if (expression.trim() === '') return 'Rule must not contain empty string(s):key is empty ';
    const invalid = await filterProblem(expression);
    if (invalid !== null && namePattern.test(expression) && namePattern.test(target))
      return `${expression} -> ${target} seems like a scope to scope rule, which is not allowed under migration mode`;
    if (invalid !== null) return `${expression} : ${invalid}`;
    const problem = targetProblem(target);
    if (problem !== null) return problem;
  }
  return null;
}

function targetProblem(target: string): string | null {
  const name = collectionPath(target);
  if (name === null) return `${target} : Invalid CollectionNamespace format`;
  if (isTooLong(name)) return `${target} : Length is longer than maximum allowed`;
  return name.scope === systemScope ? systemProblem : null;
}
