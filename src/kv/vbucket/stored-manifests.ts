// The scopes and collections of each vbucket according to its history: the system events of its file, collected at warm-up, and those
// that a copy got from its active. Each scope and collection has one column, since there may be a thousand of them in each of a
// thousand vbuckets.

import { EventKind } from '#wire/dcp.ts';
import { isDrop, isScopeEvent, type SystemEvent } from '../data/system-events.ts';
import { firstState, type ManifestState } from './manifest-state.ts';

interface Column {
  scopeId: number;
  name: string;
  /** By row: `absent`, or the maximum time to live. */
  maxTtls: Int32Array;
}

const absent = -2;

export class StoredManifests {
  private readonly rowCount: number;
  private readonly uids: Float64Array;
  private readonly scopes = new Map<number, Column>();
  private readonly collections = new Map<number, Column>();
  /** The state that was read last: most rows have the same. */
  private last: { row: number; state: ManifestState } | null = null;

  constructor(rowCount: number) {
    this.rowCount = rowCount;
    this.uids = new Float64Array(rowCount);
    for (const [id, name] of firstState.scopes) this.column(this.scopes, id, { scopeId: id, name }).fill(0);
    for (const [id, state] of firstState.collections) this.column(this.collections, id, state).fill(0);
  }

  /** Events of a row come in the order of their keys: the beginning of a collection before its changes. */
  note(row: number, event: SystemEvent): void {
    this.last = null;
    const isScope = isScopeEvent(event.kind);
    const column = isScope
      ? this.column(this.scopes, event.scopeId, event)
      : this.column(this.collections, event.collectionId, event);
    // The row of its creation is removed from the file when a collection is dropped; that of a change may remain.
    const isUnknown = event.kind === EventKind.modifyCollection && column[row] === absent;
    if (!isUnknown) column[row] = isDrop(event.kind) ? absent : event.maxTtl;
    this.uids[row] = Math.max(this.uids[row] as number, event.manifestUid);
  }

  /** Sets the state of a row, to which later events are applied. */
  put(row: number, { uid, scopes, collections }: ManifestState): void {
    this.last = null;
    for (const { maxTtls } of [...this.scopes.values(), ...this.collections.values()]) maxTtls[row] = absent;
    for (const [id, name] of scopes) this.column(this.scopes, id, { scopeId: id, name })[row] = 0;
    for (const [id, state] of collections) this.column(this.collections, id, state)[row] = state.maxTtl;
    this.uids[row] = uid;
  }

  /** The same object for rows that follow each other and have the same state. */
  stateOf(row: number): ManifestState {
    const { last } = this;
    if (last !== null && this.areEqual(last.row, row)) return last.state;
    const state = this.readState(row);
    this.last = { row, state };
    return state;
  }

  private readState(row: number): ManifestState {
    const scopes = this.present(this.scopes, row).map(([id, { name }]) => [id, name] as const);
    const collections = this.present(this.collections, row).map(
      ([id, { scopeId, name, maxTtls }]) => [id, { scopeId, name, maxTtl: maxTtls[row] as number }] as const,
    );
    return { uid: this.uids[row] as number, scopes: new Map(scopes), collections: new Map(collections) };
  }

  private areEqual(row: number, other: number): boolean {
    if (this.uids[row] !== this.uids[other]) return false;
    for (const { maxTtls } of this.scopes.values()) if (maxTtls[row] !== maxTtls[other]) return false;
    for (const { maxTtls } of this.collections.values()) if (maxTtls[row] !== maxTtls[other]) return false;
    return true;
  }

  private present(columns: Map<number, Column>, row: number): [number, Column][] {
    return [...columns].filter(([, { maxTtls }]) => maxTtls[row] !== absent);
  }

  private column(
    columns: Map<number, Column>,
    id: number,
    { scopeId, name }: Pick<Column, 'scopeId' | 'name'>,
  ): Int32Array {
    let column = columns.get(id);
    if (!column) {
      column = { scopeId, name, maxTtls: new Int32Array(this.rowCount).fill(absent) };
      columns.set(id, column);
    }
    return column.maxTtls;
  }
}
