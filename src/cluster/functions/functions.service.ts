// Functions that users define by statements, in the configuration. Functions of a deleted scope are removed.
import {
  type FunctionChange,
  type FunctionDefinition,
  type FunctionDefinitions,
  type FunctionOutcome,
  type FunctionScope,
  functionBodyBytesMax,
} from '#query/query.contract.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { WatchedKeys } from '../config/watched-keys.ts';
import { javaScriptProblem } from './functions-in-javascript.ts';
import { type FunctionsState, functionsKey, noFunctions, type StoredFunction } from './functions-state.ts';
import { isSameScope, shownScope, storedScope } from './stored-scope.ts';

const functionsMax = 1_000;
/** Bytes of all functions as JSON: each change writes all of them, and sends them to the query thread. */
export const allFunctionsBytesMax = 4 << 20;
const nameBytesMax = 220;
const parametersMax = 100;
/** Names of a bucket, a scope and a library. */
const libraryPathBytesMax = 500;

export class FunctionsService implements FunctionDefinitions {
  readonly #store: ConfigStore;
  readonly #view: ClusterView;
  readonly #keys: WatchedKeys;
  #state: FunctionsState = noFunctions;
  /** Resolves when the other nodes know the change with this revision. */
  knownOnOtherNodes: (revision: number) => Promise<void> = async () => {};

  constructor({ store, view }: { store: ConfigStore; view: ClusterView }) {
    this.#store = store;
    this.#view = view;
    this.#keys = new WatchedKeys(store, functionsKey, (key, entry) => {
      if (key === functionsKey) this.#state = (entry?.value as FunctionsState | undefined) ?? noFunctions;
    });
  }

  start(): Promise<void> {
    return this.#keys.start();
  }

  stop(): void {
    this.#keys.stop();
  }

  onChange(changed: () => void): { stop(): void } {
    return this.#keys.onChange(changed);
  }

  get revision(): number {
    return this.#keys.revision;
  }

  all(): readonly FunctionDefinition[] {
    return this.#state.functions.flatMap((stored) => {
      const scope = this.#shownScope(stored);
      if (scope === 'gone') return [];
      const { name, parameters, isVariadic, body, library } = stored;
      return [{ scope, name, parameters, isVariadic, body, ...(library !== undefined && { library }) }];
    });
  }

  async change(change: FunctionChange): Promise<FunctionOutcome> {
    const { scope, name } = change.kind === 'create' ? change.definition : change;
    const wanted = storedScope(this.#view, scope);
    if (wanted === 'gone')
      return change.kind === 'drop' ? 'not found' : { refused: 'its scope does not exist' };
    const problem = change.kind === 'create' ? this.#problemOf(change.definition) : null;
    if (problem !== null) return { refused: problem };
    let outcome: FunctionOutcome = 'done';
    const { revision } = await update(this.#store, functionsKey, noFunctions, (before) => {
      const present = before.functions.filter((stored) => this.#shownScope(stored) !== 'gone');
      const isSame = (stored: StoredFunction): boolean =>
        stored.name === name && isSameScope(stored.scope, wanted);
      const others = present.filter((stored) => !isSame(stored));
      const exists = others.length < present.length;
      outcome = outcomeOf(change, exists, others.length);
      if (outcome !== 'done') return before;
      if (change.kind === 'drop') return { ...before, functions: others };
      const all = [...others, storedOf(change.definition, wanted)];
      const bytes = Buffer.byteLength(JSON.stringify(all));
      if (bytes <= allFunctionsBytesMax) return { ...before, functions: all };
      outcome = {
        refused: `all functions have at most ${allFunctionsBytesMax} bytes, and would have ${bytes}`,
      };
      return before;
    });
    if (outcome === 'done') await this.knownOnOtherNodes(revision);
    return outcome;
  }

  #problemOf(definition: FunctionDefinition): string | null {
    const problem = definition.library === undefined ? null : javaScriptProblem(this.#view);
    return problem ?? problemOf(definition);
  }

  #shownScope({ scope }: StoredFunction): FunctionScope | 'gone' {
    return shownScope(this.#view, scope);
  }
}

function outcomeOf(change: FunctionChange, exists: boolean, others: number): FunctionOutcome {
  if (change.kind === 'drop') return exists ? 'done' : 'not found';
  if (exists && !change.replaces) return 'exists';
  return others < functionsMax ? 'done' : { refused: `a cluster has at most ${functionsMax} functions` };
}

function problemOf({ name, body, parameters, library = '' }: FunctionDefinition): string | null {
  if (name === '' || Buffer.byteLength(name) > nameBytesMax) return `a name has 1 to ${nameBytesMax} bytes`;
  if (Buffer.byteLength(body) > functionBodyBytesMax)
    return `a body has at most ${functionBodyBytesMax} bytes`;
  if (Buffer.byteLength(library) > libraryPathBytesMax)
    return `the name of a library has at most ${libraryPathBytesMax} bytes`;
  return parameters.length <= parametersMax ? null : `a function has at most ${parametersMax} parameters`;
}

const storedOf = (
  { name, parameters, isVariadic, body, library }: FunctionDefinition,
  scope: StoredFunction['scope'],
): StoredFunction => ({
  name,
  ...(scope && { scope }),
  parameters: [...parameters],
  isVariadic,
  body,
  ...(library !== undefined && { library }),
});
