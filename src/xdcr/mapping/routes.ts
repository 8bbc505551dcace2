// Which collections of the target take the documents of which collection of the source, by the mapping of the replication.
import { createHash } from 'node:crypto';
import { DocumentFilter } from '../filter/document-filter.ts';
import {
  type CollectionMapping,
  defaultCollection,
  isWholeMigration,
  type MappingRules,
  systemScope,
} from './mapping.contract.ts';

/** The target does not have the collection, or not yet. */
export const noCollection = -1;

/** A pair of a source collection and the target collection that takes its documents. */
export interface Route {
  /** Made of both collections and the rule, so that it is equal in every process. */
  readonly id: string;
  readonly targetId: number;
  /** Only documents that it matches take the route. */
  readonly filter: DocumentFilter | null;
}

/** The highest ids that collections had. Those that are created later have higher ones, also under the name of one that was dropped. */
export interface NewestCollections {
  readonly source: number;
  readonly target: number;
}

export class CollectionRoutes {
  private readonly mapping: CollectionMapping;
  private readonly filters: ReadonlyMap<string, DocumentFilter>;
  private readonly names = new Map<number, string>();
  private readonly targets = new Map<string, number>();
  private readonly found = new Map<number, readonly Route[]>();

  constructor(mapping: CollectionMapping) {
    this.mapping = mapping;
    const expressions = hasExpressions(mapping) ? Object.keys(mapping.rules) : [];
    this.filters = new Map(expressions.map((expression) => [expression, new DocumentFilter(expression)]));
  }

  setSource(manifest: string): void {
    this.found.clear();
    this.names.clear();
    for (const [name, id] of collectionsIn(manifest)) this.names.set(id, name);
  }

  setTarget(manifest: string): void {
    this.found.clear();
    this.targets.clear();
    for (const [name, id] of collectionsIn(manifest)) this.targets.set(name, id);
  }

  /** The highest id of a collection of each side. */
  get newest(): NewestCollections {
    return { source: Math.max(0, ...this.names.keys()), target: Math.max(0, ...this.targets.values()) };
  }

  /** The ids of the routes between collections that the source had already, and that the target has created since. */
  toCreatedTargets(before: NewestCollections): string[] {
    const sources = [...this.names.keys()].filter((sourceId) => sourceId <= before.source);
    const routes = sources.flatMap((sourceId) => this.routesOf(sourceId) ?? []);
    return routes.filter(({ targetId }) => targetId > before.target).map(({ id }) => id);
  }

  /** Empty: the mapping excludes the collection. Undefined: the collection is not known; the source's manifest must be read again. */
  routesOf(sourceId: number): readonly Route[] | undefined {
    const found = this.found.get(sourceId);
    if (found !== undefined) return found;
    const name = this.names.get(sourceId);
    if (name === undefined) return undefined;
    const routes = destinationsOf(this.mapping, name).map((destination) => ({
      id: routeId(sourceId, destination),
      targetId: this.targets.get(destination.target) ?? noCollection,
      filter: destination.expression === null ? null : (this.filters.get(destination.expression) ?? null),
    }));
    this.found.set(sourceId, routes);
    return routes;
  }

  /** Undefined: the mapping does not have the route any more, or its source collection is gone. */
  find(id: string): Route | undefined {
    return this.routesOf(sourceIdOf(id))?.find((route) => route.id === id);
  }

  /** The ids of the routes that a former mapping did not have. */
  newSince(former: CollectionMapping): string[] {
    return [...this.names].flatMap(([sourceId, name]) => {
      const before = destinationsOf(former, name).map((destination) => routeId(sourceId, destination));
      const now = this.routesOf(sourceId) ?? [];
      return now.map(({ id }) => id).filter((id) => !before.includes(id));
    });
  }
}

/** The collection of the source of a route. */
export const sourceIdOf = (routeId: string): number => Number.parseInt(routeId, 16);

interface Destination {
  readonly target: string;
  readonly expression: string | null;
}

/** The id is short, because checkpoints contain it. */
function routeId(sourceId: number, { target, expression }: Destination): string {
  const destination = JSON.stringify([target, expression]);
  return `${sourceId.toString(16)} ${createHash('sha256').update(destination).digest('hex').slice(0, 16)}`;
}

const hasExpressions = (mapping: CollectionMapping): boolean =>
  mapping.mode === 'migration' && !isWholeMigration(mapping);

function destinationsOf(mapping: CollectionMapping, name: string): readonly Destination[] {
  const { mode, rules } = mapping;
  if (name.startsWith(`${systemScope}.`)) return [];
  if (mode === 'implicit') return [{ target: name, expression: null }];
  if (!hasExpressions(mapping)) return destinationByName(rules, name);
  if (name !== defaultCollection) return [];
  return Object.entries(rules).flatMap(([expression, target]) =>
    target === null ? [] : [{ target, expression }],
  );
}

/** The rule of a collection has precedence over that of its scope, also while its target does not exist. */
function destinationByName(rules: MappingRules, name: string): readonly Destination[] {
  const [scope = '', collection = ''] = name.split('.');
  const own = Object.hasOwn(rules, name) ? rules[name] : undefined;
  const ofScope = Object.hasOwn(rules, scope) ? rules[scope] : undefined;
  const target = own === undefined && typeof ofScope === 'string' ? `${ofScope}.${collection}` : own;
  return typeof target === 'string' ? [{ target, expression: null }] : [];
}

interface Manifest {
  readonly scopes: readonly {
    readonly name: string;
    readonly collections: readonly { readonly name: string; readonly uid: string }[];
  }[];
}

function* collectionsIn(text: string): Iterable<readonly [name: string, id: number]> {
  for (const scope of (JSON.parse(text) as Manifest).scopes)
    for (const { name, uid } of scope.collections) yield [`${scope.name}.${name}`, Number.parseInt(uid, 16)];
}
