// The mapping of the collections of a replication: how forms change it, and how it is shown.
import {
  type CollectionMapping,
  type MappingMode,
  mappingId,
  readRules,
} from '#xdcr/mapping/mapping.contract.ts';
import { mappingProblem, missingSources } from '#xdcr/mapping/rules.contract.ts';
import { booleanOf } from './replication-settings.ts';
import type { StoredReplication } from './xdcr-state.ts';

export const mappingSwitches = [
  'collectionsExplicitMapping',
  'collectionsMigrationMode',
  'collectionsMirroringMode',
] as const;
/** Sent with rules whose sources need not exist yet; not stored. */
const skipSourceCheckField = 'collectionsSkipSrcValidation';
export const mappingNames = [...mappingSwitches, 'colMappingRules', skipSourceCheckField] as const;

/** How many former mappings are kept. A checkpoint under an older one is not used. */
const formerMax = 2;

type Form = Readonly<Record<string, string>>;
type Problems = Record<string, string>;

/** The scopes of the source bucket, each with its collections. */
export type SourceCollections = ReadonlyMap<string, ReadonlySet<string>>;

export interface MappingForm {
  readonly mapping: CollectionMapping;
  /** Wrong fields with their texts. */
  readonly problems: Readonly<Problems>;
}

/** Whether the form is about the mapping. */
export const changesMapping = (form: Form): boolean => mappingNames.some((name) => form[name] !== undefined);

/** The mapping after the form: what the form leaves out stays as it is. */
export async function readMapping(
  form: Form,
  before: CollectionMapping,
  collections: SourceCollections,
): Promise<MappingForm> {
  const problems: Problems = {};
  const mode = readMode(form, before, problems);
  const rules = rulesIn(form, before, problems);
  const skipsCheck = readSwitch(form, skipSourceCheckField, false, problems);
  const mapping = { mode, rules };
  const hasRules = form['colMappingRules'] !== undefined;
  // The implicit mode ignores rules: those that are stored may be for another mode, so they are not checked.
  if (Object.keys(problems).length > 0 || (mode === 'implicit' && !hasRules)) return { mapping, problems };
  const checksSources = !skipsCheck && mode !== 'migration' && (hasRules || mode !== before.mode);
  const problem =
    (await mappingProblem(mapping)) ?? (checksSources ? missingSources(rules, collections) : null);
  return { mapping, problems: problem === null ? {} : { colMappingRules: problem } };
}

/** The published name of the message about modes that exclude each other. */
const conflictField = 'PreUpdateValidate';

function readMode(form: Form, before: CollectionMapping, problems: Problems): MappingMode {
  const isExplicit = readSwitch(form, 'collectionsExplicitMapping', before.mode === 'explicit', problems);
  const isMigration = readSwitch(form, 'collectionsMigrationMode', before.mode === 'migration', problems);
  const isMirroring = readSwitch(form, 'collectionsMirroringMode', false, problems);
  if (isMirroring && isExplicit)
    problems[conflictField] = 'Mirroring and Explicit mapping cannot be both active';
  else if (isMigration && isExplicit)
    problems[conflictField] = 'Migration and Explicit mapping cannot both be active';
  else if (isMirroring && isMigration)
    problems[conflictField] = 'Migration and mirroring cannot both be active';
  else if (isMirroring)
    problems[conflictField] = 'Mirroring mode is currently not supported for this release';
  return isExplicit ? 'explicit' : isMigration ? 'migration' : 'implicit';
}

function readSwitch(form: Form, name: string, before: boolean, problems: Problems): boolean {
  const text = form[name];
  if (text === undefined) return before;
  const value = booleanOf(text);
  if (value === undefined) problems[name] = `unable to parse ${text} into a boolean`;
  return value ?? before;
}

function rulesIn({ colMappingRules }: Form, before: CollectionMapping, problems: Problems) {
  if (colMappingRules === undefined) return before.rules;
  const read = readRules(colMappingRules);
  if ('rules' in read) return read.rules;
  problems['colMappingRules'] = read.problem;
  return before.rules;
}

/** The replication with another mapping. It keeps its last mappings, since it continues from checkpoints that were made under them. */
export function withMapping(replication: StoredReplication, mapping: CollectionMapping): StoredReplication {
  const { mapping: before, formerMappings } = replication;
  const id = mappingId(mapping);
  if (id === mappingId(before)) return { ...replication, mapping };
  const former = [before, ...formerMappings].filter((one) => mappingId(one) !== id);
  return { ...replication, mapping, formerMappings: former.slice(0, formerMax) };
}

export const shownMapping = ({ mode, rules }: CollectionMapping) => ({
  collectionsExplicitMapping: mode === 'explicit',
  collectionsMigrationMode: mode === 'migration',
  collectionsMirroringMode: false,
  colMappingRules: rules,
});
