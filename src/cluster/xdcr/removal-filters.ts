// The settings that apply the filter expression to deletions and expirations: which other settings each requires.
import { readsKeysOnly } from '#xdcr/filter/filter.contract.ts';
import type { ReplicationSettings } from './replication-settings.ts';

/** Settings, each with the switch that it requires. */
const requiredSwitches = [
  ['filterDeletionsWithExpression', 'filterDeletion'],
  ['filterExpirationsWithExpression', 'filterExpiration'],
] as const satisfies readonly (readonly [keyof ReplicationSettings, keyof ReplicationSettings])[];

/** Wrong fields with their texts. Of a removed document only the key is left, so the expression must need nothing else. */
export async function removalFilterProblems(settings: ReplicationSettings): Promise<Record<string, string>> {
  const problems = missingSwitches(settings);
  const { filterExpression } = settings;
  for (const [name] of requiredSwitches) {
    if (!settings[name] || problems[name] !== undefined) continue;
    if (filterExpression === '') problems[name] = 'filterExpression is required for this setting';
    else if (!(await readsKeysOnly(filterExpression)))
      problems[name] = 'filterExpression must read nothing but META().id for this setting';
  }
  return problems;
}

/** Settings without the switch that they require, with their texts: all that can be wrong in defaults, which have no expression. */
export function missingSwitches(settings: ReplicationSettings): Record<string, string> {
  const wrong = requiredSwitches.filter(([name, base]) => settings[name] && !settings[base]);
  return Object.fromEntries(wrong.map(([name, base]) => [name, `${base}=true is required for this setting`]));
}
