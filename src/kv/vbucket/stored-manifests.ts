// The scopes and collections of each vbucket according to its history: the system events of its file, collected at warm-up, and those
// that a copy got from its active. Each scope and collection has one column, since there may be a thousand of them in each of a
// thousand vbuckets.

import { EventKind } from '#wire/dcp.ts';
import { isDrop, isScopeEvent, type SystemEvent } from '../data/system-events.ts';
import { initialManifestState, type ManifestState } from './manifest-state.ts';

interface Column {
  scopeId: number;
  name: string;
  /** By vbucket: `absent`, or the maximum time to live. */
  maxTtls: Int32Array;
}

const absent = -2;

export class StoredManifests {
  private readonly vbucketCount: number;
  private readonly uids: Float64Array;
  private readonly scopes = new Map<number, Column>();
  private readonly collections = new Map<number, Column>();
  /** The state that was read last: most vbuckets have the same. */
  private last: { vb: number; state: ManifestState } | null = null;

  constructor(vbucketCount: number) {
    this.vbucketCount = vbucketCount;
    this.uids = new Float64Array(vbucketCount);
    for (const [id, name] of initialManifestState.scopes)
      this.column(this.scopes, id, { scopeId: id, name }).fill(0);
    for (const [id, state] of initialManifestState.collections)
      this.column(this.collections, id, state).fill(0);
  }

  /** Events of a vbucket come in the order of their keys: the beginning of a collection before its changes. */
  note(vb: number, event: SystemEvent): void {
    this.last = null;
    const isScope = isScopeEvent(event.kind);
    const column = isScope
      ? this.column(this.scopes, event.scopeId, event)
      : this.column(this.collections, event.collectionId, event);
    // When a collection is dropped, the row of its creation is removed from the file; that of a change may remain.
    const isUnknown = event.kind === EventKind.modifyCollection && column[vb] === absent;
    if (!isUnknown) column[vb] = isDrop(event.kind) ? absent : event.maxTtl;
    this.uids[vb] = Math.max(this.uids[vb] as number, event.manifestUid);
  }

  /** Sets the state of a vbucket, to which later events are applied. */
  put(vb: number, { uid, scopes, collections }: ManifestState): void {
    this.last = null;
    for (const { maxTtls } of [...this.scopes.values(), ...this.collections.values()]) maxTtls[vb] = absent;
    for (const [id, name] of scopes) this.column(this.scopes, id, { scopeId: id, name })[vb] = 0;
    for (const [id, state] of collections) this.column(this.collections, id, state)[vb] = state.maxTtl;
    this.uids[vb] = uid;
  }

  /** The scope of a collection in a vbucket whose state is newer than the manifest of this uid; undefined: there is none. */
  newerScopeOf(vb: number, collection: number, uid: number): number | undefined {
    if ((this.uids[vb] as number) <= uid) return undefined;
    const column = this.collections.get(collection);
    return column === undefined || column.maxTtls[vb] === absent ? undefined : column.scopeId;
  }

  /** The same object for vbuckets that follow each other and have the same state. */
  stateOf(vb: number): ManifestState {
    const { last } = this;
    if (last !== null && this.areEqual(last.vb, vb)) return last.state;
    const state = this.readState(vb);
    this.last = { vb, state };
    return state;
  }

  private readState(vb: number): ManifestState {
    const scopes = this.present(this.scopes, vb).map(([id, { name }]) => [id, name] as const);
    const collections = this.present(this.collections, vb).map(
      ([id, { scopeId, name, maxTtls }]) => [id, { scopeId, name, maxTtl: maxTtls[vb] as number }] as const,
    );
    return { uid: this.uids[vb] as number, scopes: new Map(scopes), collections: new Map(collections) };
  }

  private areEqual(vb: number, other: number): boolean {
    if (this.uids[vb] !== this.uids[other]) return false;
    for (const { maxTtls } of this.scopes.values()) if (maxTtls[vb] !== maxTtls[other]) return false;
    for (const { maxTtls } of this.collections.values()) if (maxTtls[vb] !== maxTtls[other]) return false;
    return true;
  }

  private present(columns: Map<number, Column>, vb: number): [number, Column][] {
    return [...columns].filter(([, { maxTtls }]) => maxTtls[vb] !== absent);
  }

  private column(
    columns: Map<number, Column>,
    id: number,
    { scopeId, name }: Pick<Column, 'scopeId' | 'name'>,
  ): Int32Array {
    let column = columns.get(id);
    if (!column) {
      column = { scopeId, name, maxTtls: new Int32Array(this.vbucketCount).fill(absent) };
      columns.set(id, column);
    }
    return column.maxTtls;
  }
}
