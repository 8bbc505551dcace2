// The keyspace and the number of replicas in the statement of an index's definition, as `/indexStatus` shows it: names are quoted, WITH is
// last, and its value is JSON.
import type { IndexRecord } from '../format/manifest.ts';

const keyspace = /^CREATE (?:PRIMARY )?INDEX `(?:[^`]|``)*` ON ((?:`(?:[^`]|``)+`\.){0,2}`(?:[^`]|``)+`)/;

/** The scope and the collection of an index. Backups of earlier releases name them in the definition only. Null for a definition of another form. */
export function indexKeyspace({
  scope,
  collection,
  definition,
}: IndexRecord): { scope: string; collection: string } | null {
  if (scope !== undefined && collection !== undefined) return { scope, collection };
  const path = keyspace.exec(definition)?.[1] ?? '';
  const names = [...path.matchAll(/`((?:[^`]|``)+)`/g)].map(([, name = '']) => name.replaceAll('``', '`'));
  if (names.length === 1) return { scope: '_default', collection: '_default' };
  const [, inScope = '', inCollection] = names;
  return inCollection === undefined ? null : { scope: inScope, collection: inCollection };
}

const options = / WITH (\{[^{}]*\})$/;

/** The definition with this number of replicas; null: without a number. */
export function withReplicas(definition: string, replicas: number | null): string {
  const optionsText = options.exec(definition)?.[1] ?? '{}';
  const head = definition.replace(options, '');
  if (!isJson(optionsText)) return definition;
  const { num_replica: _, ...others } = JSON.parse(optionsText) as Record<string, unknown>;
  const newOptions = { ...others, ...(replicas !== null && { num_replica: replicas }) };
  return Object.keys(newOptions).length === 0 ? head : `${head} WITH ${JSON.stringify(newOptions)}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // an archive of another server
  }
}

/** Whether the error of CREATE INDEX says that the cluster has too few nodes with the index service for the replicas. */
export const lacksNodes = (problem: string): boolean => problem.includes('not enough indexer nodes');
