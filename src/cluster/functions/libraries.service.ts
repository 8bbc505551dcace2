// Libraries of functions in JavaScript, in the configuration. Those of deleted scopes are removed.
import {
  type FunctionLibraries,
  type FunctionLibrary,
  type LibraryChange,
  type LibraryOutcome,
  libraryCodeBytesMax,
} from '#query/query.contract.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { WatchedKeys } from '../config/watched-keys.ts';
import { javaScriptProblem } from './functions-in-javascript.ts';
import { type LibraryState, librariesPrefix, libraryKey, partsOfLibraryKey } from './libraries-state.ts';
import { shownScope, storedScope } from './stored-scope.ts';

export const libraryLimits = {
  count: 500,
  nameLength: 100,
  /** Bytes of one library, and of all: every query thread has all libraries in memory. Concurrent requests may exceed the limit of all. */
  codeBytes: libraryCodeBytesMax,
  bytes: 4 << 20,
} as const;

/** Names are parts of paths, in which a slash separates bucket, scope and library. */
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9_-]*$/;

export class LibrariesService implements FunctionLibraries {
  readonly #store: ConfigStore;
  readonly #view: ClusterView;
  readonly #byKey = new Map<string, LibraryState>();
  readonly #keys: WatchedKeys;
  /** Resolves when the other nodes know the change with this revision. */
  knownOnOtherNodes: (revision: number) => Promise<void> = async () => {};

  constructor({ store, view }: { store: ConfigStore; view: ClusterView }) {
    this.#store = store;
    this.#view = view;
    this.#keys = new WatchedKeys(store, librariesPrefix, (key, entry) => {
      if (entry === null) this.#byKey.delete(key);
      else this.#byKey.set(key, entry.value as LibraryState);
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

  all(): readonly FunctionLibrary[] {
    return [...this.#byKey].flatMap(([key, { code }]) => {
      const { scope: stored, name } = partsOfLibraryKey(key);
      const scope = shownScope(this.#view, stored);
      return scope === 'gone' ? [] : [{ scope, name, code }];
    });
  }

  async change(change: LibraryChange): Promise<LibraryOutcome> {
    const { scope, name } = change.kind === 'store' ? change.library : change;
    const stored = storedScope(this.#view, scope);
    if (stored === 'gone')
      return change.kind === 'store' ? { refused: 'scope: it does not exist' } : 'not found';
    const key = libraryKey(stored, name);
    await this.#removeOfDeleted();
    if (change.kind === 'delete') return await this.#delete(key);
    const problem = javaScriptProblem(this.#view) ?? this.#problemOf(key, change.library);
    if (problem !== null) return { refused: problem };
    const { revision } = await update<LibraryState>(this.#store, key, { code: '' }, (before) => ({
      ...before,
      code: change.library.code,
    }));
    await this.knownOnOtherNodes(revision);
    return 'done';
  }

  async #delete(key: string): Promise<LibraryOutcome> {
    for (;;) {
      const entry = await this.#store.get(key);
      if (entry === null) return 'not found';
      if (await this.#store.delete(key, entry.revision)) return 'done';
    }
  }

  #problemOf(key: string, { name, code }: FunctionLibrary): string | null {
    const { count, nameLength, codeBytes, bytes } = libraryLimits;
    if (!namePattern.test(name) || name.length > nameLength)
      return `library: a name has 1 to ${nameLength} letters, digits, - and _, and does not begin with -`;
    const size = Buffer.byteLength(code);
    if (size > codeBytes) return `body: a library has at most ${codeBytes} bytes, and this one has ${size}`;
    let total = size;
    let others = 0;
    for (const [other, present] of this.#byKey) {
      if (other === key) continue;
      total += Buffer.byteLength(present.code);
      others++;
    }
    if (others >= count) return `library: a cluster has at most ${count} libraries`;
    return total > bytes ? `body: all libraries have at most ${bytes} bytes, and would have ${total}` : null;
  }

  async #removeOfDeleted(): Promise<void> {
    for (const key of [...this.#byKey.keys()]) {
      const { scope } = partsOfLibraryKey(key);
      if (shownScope(this.#view, scope) === 'gone') await this.#delete(key);
    }
  }
}
